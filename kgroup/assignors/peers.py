"""Assignors that were written for aiokafka or kafka-python, wrapped to work here.

Decides: what counts as such an assignor (its shape: `assign(cluster, members)`, `metadata` and
`on_assignment`), and how it is called.
Never: imports a peer; lets one call leave anything behind for another, or for another consumer;
trusts a result (`verify` looks at it as at any other).
KIPs: 54, 429.

Both packages keep a member's memory on the assignor, aiokafka even on the class, where all
consumers of a process share it. Here each call works on a throw-away: a subclass made for the
call, or a copy of the instance that was given. What they assign to `cls` or `self` goes with it.
What the memory would have held is passed in anew each time: a member's last assignment and
generation through `on_assignment`, right before `metadata` is asked for the user data.
"""

import copy
import inspect
from collections.abc import Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from kgroup.assignors.api import LastAssignment
from kgroup.assignors.assignment import GroupAssignment
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member
from kgroup.errors import AssignmentError, AssignorError
from kgroup.types import RebalanceProtocol, TopicPartition
from kgroup.values import dataclass

_NO_GENERATION = -1
_VERSION = 3


class TopicRow(NamedTuple):
    """Partitions of one topic; read by attribute and as a pair."""

    topic: str
    partitions: list[int]


@dataclass(frozen=True, slots=True)
class PeerSubscription:
    """A subscription; aiokafka calls the topics `subscription`, kafka-python `topics`.

    Args:
        topics: names, sorted.
        user_data: empty without.
        owned_partitions: what the member says it holds.
        generation_id: -1 when not known, as both peers have it.
        rack_id: None when not known.
        version: of the subscription on the wire.
    """

    topics: list[str]
    user_data: bytes
    owned_partitions: list[TopicRow]
    generation_id: int = _NO_GENERATION
    rack_id: str | None = None
    version: int = _VERSION

    @property
    def subscription(self) -> list[str]:
        """The topics, under aiokafka's name."""
        return self.topics

    @staticmethod
    def of(member: Member) -> "PeerSubscription":
        """Return what a member of the group said."""
        generation_id = member.generation_id
        return PeerSubscription(
            topics=sorted(member.topics),
            user_data=member.user_data or b"",
            owned_partitions=_rows(member.owned),
            generation_id=_NO_GENERATION if generation_id is None else generation_id,
            rack_id=member.rack,
            version=member.version,
        )


@dataclass(frozen=True, slots=True)
class PeerMember:
    """One member, as kafka-python lists them."""

    member_id: str
    group_instance_id: str | None
    metadata: PeerSubscription


@dataclass(frozen=True, slots=True)
class PeerAssignment:
    """A member's last assignment.

    Args:
        assignment: its partitions by topic.
        user_data: empty without.
        version: of the assignment on the wire.
    """

    assignment: list[TopicRow]
    user_data: bytes = b""
    version: int = _VERSION

    @property
    def assigned_partitions(self) -> list[TopicRow]:
        """The partitions by topic, under kafka-python's name."""
        return self.assignment

    def partitions(self) -> list[TopicPartition]:
        """Return the partitions one by one."""
        return [TopicPartition(row.topic, number) for row in self.assignment for number in row[1]]

    @staticmethod
    def of(owned: Sequence[TopicPartition], user_data: bytes | None) -> "PeerAssignment":
        """Return the assignment of these partitions."""
        return PeerAssignment(_rows(owned), user_data or b"")


class PeerCluster:
    """The metadata of the group's topics, with the two calls that assignors make.

    Args:
        group: what it is about.
    """

    def __init__(self, group: GroupSubscription) -> None:
        self._group = group

    def topics(
        self,
        exclude_internal_topics: bool = True,  # noqa: ARG002, FBT001, FBT002 - the peers' signature
    ) -> set[str]:
        """Return the topics that have partitions to give."""
        return set(self._group.topics)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Return the numbers of a topic's partitions, None for one without metadata."""
        numbers = self._group.topics.get(topic)
        return None if numbers is None else set(numbers)

    def __getattr__(self, name: str) -> object:
        raise AttributeError(
            f"the cluster that kgroup hands to another client's assignor has no {name!r}, "
            "only topics() and partitions_for_topic(topic); racks and the rest are known to "
            "assignors that are written for kgroup"
        )


def _rows(partitions: Sequence[TopicPartition]) -> list[TopicRow]:
    return [
        TopicRow(topic, [tp.partition for tp in run])
        for topic, run in groupby(sorted(partitions), key=lambda tp: tp.topic)
    ]


class PeerAssignor(Protocol):
    """The shape of an assignor of aiokafka or kafka-python, given as a class or an instance."""

    @property
    def name(self) -> str:
        """Its name on the wire."""
        ...

    @property
    def assign(self) -> object:
        """Takes the cluster and the members, and divides."""
        ...

    @property
    def metadata(self) -> object:
        """Takes the topics; returns a subscription, of which the user data is used."""
        ...

    @property
    def on_assignment(self) -> object:
        """Takes a member's assignment."""
        ...


def is_peer_assignor(candidate: object) -> bool:
    """Whether a class or an instance has the shape of another client's assignor.

    One of kgroup's may have methods of the same names; its `supported_protocols` show what it is.
    """
    calls = ("assign", "metadata", "on_assignment")
    shaped = all(callable(getattr(candidate, call, None)) for call in calls)
    return shaped and callable(getattr(candidate, "supported_protocols", callable))


def wrap(peer: PeerAssignor | type[PeerAssignor]) -> "WrappedAssignor":
    """Return an assignor of another client as one of kgroup's.

    Its protocols are those that kafka-python's names; aiokafka knows the eager protocol only.

    Args:
        peer: the class or the instance; see `is_peer_assignor`.
    """
    fresh = _fresh(peer)
    supported = {"EAGER"}
    if _lists_members(fresh):
        supported = {each.name for each in fresh.supported_protocols()}
    protocols = tuple(each for each in reversed(RebalanceProtocol) if each.name in supported)
    return WrappedAssignor(peer, fresh.name, protocols)


@dataclass(frozen=True, slots=True, eq=False)
class WrappedAssignor:
    """An assignor of another client, as one of kgroup's; see `wrap`.

    Args:
        peer: the class or the instance.
        name: the peer's name for it.
        supported_protocols: the protocols it may be used with.
    """

    peer: PeerAssignor | type[PeerAssignor]
    name: str
    supported_protocols: tuple[RebalanceProtocol, ...]

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        """Divide the partitions by the peer's own algorithm.

        Raises:
            AssignorError: the result is not one of assignments; or a cooperative one is wrong.
        """
        fresh = _fresh(self.peer)
        members = [
            PeerMember(m.member_id, m.group_instance_id, PeerSubscription.of(m))
            for m in group.members  # static members first: kafka-python loses some otherwise
        ]
        by_id = {member.member_id: member.metadata for member in members}
        result = fresh.assign(PeerCluster(group), members if _lists_members(fresh) else by_id)
        given, user_data = self._read(result)
        if RebalanceProtocol.COOPERATIVE not in self.supported_protocols:
            return GroupAssignment(given, user_data=user_data)
        try:
            return _hold_back(group, given, user_data)
        except AssignmentError as error:
            raise AssignorError(self.name, [str(error)]) from error

    def encode_user_data(self, owned: LastAssignment, generation_id: int | None) -> bytes | None:
        """Return the user data of the peer's `metadata`, after passing it the last assignment.

        Args:
            owned: what the member held last; their topics are what `metadata` is asked with.
            generation_id: None before the first assignment, which does nothing.
        """
        fresh = _fresh(self.peer)
        if generation_id is not None:
            _pass_on(fresh, PeerAssignment.of(owned, owned.user_data), generation_id)
        user_data = fresh.metadata(frozenset(tp.topic for tp in owned)).user_data
        return _as_bytes(user_data) or None

    def __repr__(self) -> str:
        return f"WrappedAssignor({self.peer!r})"

    def _read(
        self, result: object
    ) -> tuple[Mapping[str, Sequence[TopicPartition]], Mapping[str, bytes]]:
        given: dict[str, tuple[TopicPartition, ...]] = {}
        user_data: dict[str, bytes] = {}
        if not isinstance(result, Mapping):
            raise AssignorError(self.name, [f"returned {result!r}, not a dict of assignments"])
        for member_id, assignment in result.items():
            try:
                rows = [(topic, tuple(numbers)) for topic, numbers in assignment.assignment]
            except (AttributeError, TypeError, ValueError) as error:
                offence = f"returned {assignment!r} for {member_id!r}, not an assignment"
                raise AssignorError(self.name, [offence]) from error
            given[member_id] = tuple(TopicPartition(t, n) for t, numbers in rows for n in numbers)
            if data := _as_bytes(getattr(assignment, "user_data", None)):
                user_data[member_id] = data
        return MappingProxyType(given), MappingProxyType(user_data)


def _fresh(peer: PeerAssignor | type[PeerAssignor]) -> Any:  # noqa: ANN401 - foreign code, known by its shape only
    """Return the peer for one call: nothing that it assigns to itself outlives the call."""
    if not isinstance(peer, type):
        fresh = copy.copy(peer)
        fresh.__class__ = _throw_away(type(peer))
        return fresh
    made = _throw_away(peer)
    return made() if _lists_members(made) else made  # as each client does with a class


def _throw_away(kind: type) -> type:
    """Return a subclass with nothing of its own, to take what is assigned to the class.

    The empty `__slots__` keep an instance's layout, so that a copy can become one of these.
    """
    space = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__slots__": ()}
    return type(kind)(kind.__name__, (kind,), space)


def _lists_members(peer: object) -> bool:
    """Whether members come as a list, as kafka-python has it, and not by member id.

    Its client asks every assignor for `supported_protocols`; aiokafka has no such thing.
    """
    return callable(getattr(peer, "supported_protocols", None))


def _pass_on(fresh: Any, assignment: PeerAssignment, generation_id: int) -> None:  # noqa: ANN401 - as above
    """Pass on a last assignment, and its generation in whichever way the peer takes it."""
    try:
        inspect.signature(fresh.on_assignment).bind(assignment, generation_id)
    except TypeError:
        fresh.on_assignment(assignment)
        take = getattr(fresh, "on_generation_assignment", None)  # aiokafka's client never calls it
        if callable(take):
            take(generation_id)
    else:
        fresh.on_assignment(assignment, generation_id)


def _as_bytes(user_data: object) -> bytes:
    """Return user data as it goes over the wire; kafka-python's sticky one encodes itself."""
    if user_data is None or isinstance(user_data, bytes | bytearray | memoryview):
        return bytes(user_data or b"")
    encode: Any = user_data.encode  # type: ignore[attr-defined]  # what is left has it, or fails
    return bytes(encode())


def _hold_back(
    group: GroupSubscription,
    given: Mapping[str, Sequence[TopicPartition]],
    user_data: Mapping[str, bytes],
) -> GroupAssignment:
    """Return a cooperative result in which nothing goes to two members, whatever they claim.

    Such a peer leaves out what its owner has to hand back first, without saying so; and having
    no generations (kafka-python), it may give away what a newer claim than it looked at holds.

    Raises:
        AssignmentError: it leaves out what no member claims, or gives what cannot be given.
    """
    members = {member.member_id: member for member in group.members}
    draft = group.draft()
    for member_id, partitions in given.items():
        to = members.get(member_id) or Member(member_id=member_id, topics=frozenset())
        for partition in partitions:
            draft.give(partition, to=to)
    claimed = {partition for member in group.members for partition in member.owned}
    for partition in group.partitions:
        if partition in claimed and draft.owner(partition) is None:
            draft.withhold(partition)
    return draft.freeze(RebalanceProtocol.COOPERATIVE, user_data=user_data)
