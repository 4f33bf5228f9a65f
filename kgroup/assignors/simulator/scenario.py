"""What is simulated: topics, members and what they hold, and what happens to them in turn.

Decides: what a scenario may say, before anything of it is played.
Never: assigns; moves anything.
KIPs: 345 (instance ids), 881 (racks).
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Final, TypeAlias, assert_never

from kgroup.assignors.member import PartitionRacks
from kgroup.errors import ArgumentError
from kgroup.types import TopicPartition
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """A member joins.

    Args:
        member_id: None for a new one (`new-001`, ...).
        topics: what it subscribes to; None for what all others do.
        group_instance_id: static identity, None for a dynamic member.
        rack: where it runs, None when not known.
        user_data: see `SimulatedMember`.
    """

    member_id: str | None = None
    topics: frozenset[str] | None = None
    group_instance_id: str | None = None
    rack: str | None = None
    user_data: bytes | None = None


@dataclass(frozen=True, slots=True)
class Leave:
    """A member leaves, or its session ends.

    Args:
        member: its member id or group instance id.
    """

    member: str


@dataclass(frozen=True, slots=True)
class Grow:
    """A topic gets more partitions, or comes to be.

    Args:
        topic: its name.
        partitions: how many it has then.
        racks: of the added partitions; see `SimulatedTopic.grown`.
    """

    topic: str
    partitions: int
    racks: tuple[tuple[str | None, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Subscribe:
    """A member subscribes to other topics.

    Args:
        member: its member id or group instance id.
        topics: all it subscribes to from now on.
    """

    member: str
    topics: frozenset[str]


@dataclass(frozen=True, slots=True)
class Restart:
    """Members end and come back under new member ids, one after the other.

    A dynamic member costs the group two rebalances, one when it leaves and one when it joins. A
    static one costs none: the coordinator gives the new process what the old one had.

    Args:
        members: their member ids or group instance ids, in the order of their restarts.
        member_ids: their new ones, in the same order; without any they are made up.
    """

    members: tuple[str, ...]
    member_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """Time passes; a leader whose assignor asked for a rejoin by then does so.

    Args:
        seconds: more than 0.
    """

    seconds: float


Event: TypeAlias = Join | Leave | Grow | Subscribe | Restart | Wait


def in_words(event: Event | None) -> str:
    """Return an event as a few words; None is the beginning."""
    match event:
        case None:
            return "start"
        case Join():
            return f"join {event.member_id}" if event.member_id else "join"
        case Leave():
            return f"leave {event.member}"
        case Grow():
            return f"grow {event.topic} to {event.partitions}"
        case Subscribe():
            return f"subscribe {event.member}"
        case Restart(members=(only,)):
            return f"restart {only}"
        case Restart():
            return f"restart {len(event.members)} members"
        case Wait():
            return f"wait {event.seconds:g} s"
        case _:
            assert_never(event)


MOST_PARTITIONS: Final = 1_000_000
"""Partitions of one topic; more are taken for a slip of the pen."""

Racks: TypeAlias = tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True, slots=True)
class SimulatedTopic:
    """One topic.

    Args:
        partitions: how many, from 0 (it is not there yet) to `MOST_PARTITIONS`.
        racks: for each partition the racks of its replicas, the leader's first, None for a
            broker without a rack; empty when racks are not known.
    """

    partitions: int
    racks: Racks = ()

    def __post_init__(self) -> None:
        if not 0 <= self.partitions <= MOST_PARTITIONS:
            raise ArgumentError("partitions", self.partitions, f"0 to {MOST_PARTITIONS:,}")
        if self.racks and len(self.racks) != self.partitions:
            expected = f"racks of all {self.partitions} partitions, or of none"
            raise ArgumentError("racks", f"{len(self.racks)} lists", expected)

    def grown(self, partitions: int, racks: Racks = ()) -> "SimulatedTopic":
        """Return the topic with more partitions.

        Args:
            partitions: how many in all.
            racks: of those that are added; without any, the racks there are go on in turn.

        Raises:
            ArgumentError: they are not more, or racks do not fit them.
        """
        added = partitions - self.partitions
        if added <= 0:
            raise ArgumentError("partitions", partitions, f"more than {self.partitions}")
        if racks and len(racks) != added:
            raise ArgumentError("racks", f"{len(racks)} lists", f"racks of the {added} added")
        if not racks and self.racks:
            racks = tuple(
                self.racks[n % self.partitions] for n in range(self.partitions, partitions)
            )
        before = self.racks or ((),) * self.partitions
        return SimulatedTopic(partitions, (*before, *racks) if racks else ())

    def metadata(self) -> Mapping[int, PartitionRacks]:
        """Return the topic as an assignor sees it."""
        if not self.racks:
            return dict.fromkeys(range(self.partitions), PartitionRacks())
        known: dict[tuple[str | None, ...], PartitionRacks] = {}
        for racks in self.racks:
            replicas = frozenset(rack for rack in racks if rack is not None)
            known[racks] = PartitionRacks(leader=racks[0] if racks else None, replicas=replicas)
        return {number: known[racks] for number, racks in enumerate(self.racks)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedMember:
    """One member.

    Args:
        member_id: as a coordinator would give it; not empty.
        topics: what it subscribes to; all of them have to be among the scenario's topics.
        group_instance_id: static identity, None for a dynamic member.
        rack: where it runs, None when not known.
        owned: what it holds when the simulation begins.
        user_data: what it sends in each subscription instead of what the assignor would encode;
            None leaves it to the assignor.
        assigned_user_data: what the leader's assignor gave it with its last assignment.
    """

    member_id: str
    topics: frozenset[str]
    group_instance_id: str | None = None
    rack: str | None = None
    owned: tuple[TopicPartition, ...] = ()
    user_data: bytes | None = None
    assigned_user_data: bytes | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """A group and what happens to it.

    Args:
        topics: by name.
        members: at the beginning; may be none.
        events: in order; each is played until the group has settled.
        now: seconds since the epoch on the leader's clock when it begins.
        assignor: which one was in use when the group was seen: user data is for it, and no other
            is sent it; None sends it to every assignor that is played.

    Raises:
        ArgumentError: the description of the group contradicts itself. (Whether the events fit
            it, `play` says, before it plays the first.)
    """

    topics: Mapping[str, SimulatedTopic]
    members: tuple[SimulatedMember, ...] = ()
    events: tuple[Event, ...] = ()
    now: float = field(default=0.0)
    assignor: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "topics", MappingProxyType(dict(self.topics)))
        _check_identities(self.members)
        for at, member in enumerate(self.members):
            check_topics(f"members[{at}].topics", member.topics, self.topics)
        _check_owned(self.members, self.topics)


def check_topics(at: str, topics: Iterable[str], known: Mapping[str, SimulatedTopic]) -> None:
    """Check that a subscription names topics there are.

    Raises:
        ArgumentError: it does not; a topic that is not there yet has 0 partitions.
    """
    for topic in sorted(topics):
        if topic not in known:
            raise ArgumentError(at, topic, f"{_some(known)}; 0 partitions if it is not there yet")


def _check_identities(members: tuple[SimulatedMember, ...]) -> None:
    seen: dict[str, str] = {}
    for at, member in enumerate(members):
        identities = {"member_id": member.member_id, "group_instance_id": member.group_instance_id}
        for name, identity in identities.items():
            where = f"members[{at}].{name}"
            if identity == "":
                raise ArgumentError(where, identity, "a name that is not empty")
            if identity is not None and identity in seen:
                raise ArgumentError(where, identity, f"another name than {seen[identity]} has")
        seen.update({each: f"members[{at}]" for each in identities.values() if each is not None})


def _check_owned(
    members: tuple[SimulatedMember, ...], topics: Mapping[str, SimulatedTopic]
) -> None:
    owner: dict[TopicPartition, int] = {}
    for at, member in enumerate(members):
        for tp in member.owned:
            where = f"members[{at}].owned"
            if tp.topic not in member.topics:
                raise ArgumentError(where, str(tp), "partitions of topics it subscribes to")
            count = topics[tp.topic].partitions
            if not 0 <= tp.partition < count:
                raise ArgumentError(where, str(tp), f"partitions below {count} of {tp.topic}")
            if tp in owner:
                by = f"members[{owner[tp]}]"
                raise ArgumentError(where, str(tp), f"what nobody else owns, as {by} does")
            owner[tp] = at


def _some(names: Iterable[str], most: int = 8) -> str:
    listed = sorted(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return f"one of {', '.join(map(repr, listed[:most]))}{more}" if listed else "nothing: no topics"
