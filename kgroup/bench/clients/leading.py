"""Leaders of a group: what a client's assignor does, from members' bytes to members' bytes.

Decides: that a leader is timed from the subscriptions as they travel to the assignments as they
travel, since that is what a round waits for.
Never: gives a leader less than members of that client send it.
"""

import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple, Protocol

from kgroup.bench.clients.following import strategy

TOPIC: Final = "bench"
GENERATION: Final = 7
"""The generation in which members were given what they hold."""
_LEAST: Final = 3
_MOST: Final = 200
_LONG: Final = 0.4
"""Seconds after which an assignor is not run once more."""

Given = Mapping[str, Sequence[int]]


class Leader(Protocol):
    """A leader of one client."""

    def begin(self, members: Sequence[str], held: Given, partitions: int) -> None:
        """Write what members send.

        Args:
            members: their ids.
            held: what each was given last.
            partitions: of the topic.
        """
        ...

    def lead(self) -> Any:  # noqa: ANN401 - an assignment as that client has it
        """Read it, assign, write the answers."""
        ...

    def given(self, assignment: Any) -> dict[str, list[int]]:  # noqa: ANN401
        """Return an assignment as numbers."""
        ...


def led(leader: Leader, job: Mapping[str, Any]) -> dict[str, Any]:
    """Assign for a new group, and again when its last member has left.

    Args:
        leader: of a client.
        job: says how many members and partitions.
    """
    members = [f"member-{number:04}" for number in range(job["members"])]
    first = _timed(leader, members, {}, job["partitions"])
    again = _timed(leader, members[:-1], first["given"], job["partitions"])
    return {"first": first, "again": again}


def _timed(leader: Leader, members: Sequence[str], held: Given, partitions: int) -> dict[str, Any]:
    times: list[float] = []
    found: dict[str, list[int]] = {}
    while len(times) < _LEAST or (sum(times) < _LONG and len(times) < _MOST):
        leader.begin(members, held, partitions)
        began = time.process_time()
        assignment = leader.lead()
        times.append(time.process_time() - began)
        found = leader.given(assignment)
    return {"times_s": times, "given": {member: found.get(member, []) for member in members}}


class KgroupLeader:
    """kgroup's leader.

    Args:
        level: name of an assignor, or `package.module:Class` of one's own.
    """

    def __init__(self, level: str) -> None:
        from kgroup import assignors  # noqa: PLC0415 - other clients do without it

        self._of = assignors
        self._assignor: Any = assignors.BUILT_IN.get(level) or _own(level)
        self._protocol = assignors.common_protocol((self._assignor,))
        self._joined: list[Any] = []
        self._topics: Any = {}

    def begin(self, members: Sequence[str], held: Given, partitions: int) -> None:
        """Write what members send."""
        racks = self._of.PartitionRacks()
        self._topics = {TOPIC: dict.fromkeys(range(partitions), racks)}
        self._joined = [(member, None, self._sent(held.get(member))) for member in members]

    def lead(self) -> Any:  # noqa: ANN401
        """Read it, assign, write the answers."""
        group = self._of.describe_group(self._joined, self._topics, self._protocol)
        assignment = self._of.divide(self._assignor, group, self._protocol)
        self._of.encode_group_assignment(group, assignment)
        return group, assignment

    def given(self, assignment: Any) -> dict[str, list[int]]:  # noqa: ANN401
        """Return an assignment as numbers."""
        group, found = assignment
        return {
            member.member_id: [tp.partition for tp in found.of(member.member_id)]
            for member in group.members
        }

    def _sent(self, held: Sequence[int] | None) -> bytes:
        """Return what a member sends: an eager one has handed back what it owned."""
        from kgroup.types import RebalanceProtocol, TopicPartition  # noqa: PLC0415
        from kgroup.wire.consumer_protocol import MemberSubscription  # noqa: PLC0415
        from kgroup.wire.consumer_protocol import encode_subscription as encode  # noqa: PLC0415

        if held is None:
            return encode(MemberSubscription(topics=(TOPIC,)))
        owned = self._of.LastAssignment(TopicPartition(TOPIC, number) for number in held)
        user_data = None
        if isinstance(self._assignor, self._of.UserDataAssignor):
            user_data = self._assignor.encode_user_data(owned, GENERATION)
        keeps = self._protocol is RebalanceProtocol.COOPERATIVE
        sent = MemberSubscription(
            topics=(TOPIC,),
            owned=owned if keeps else (),
            generation_id=GENERATION,
            user_data=user_data,
        )
        return encode(sent)


def _own(level: str) -> Any:  # noqa: ANN401 - somebody's class, or an instance of it
    module, colon, name = level.partition(":")
    if not colon:
        raise ImportError(f"kgroup has no assignor {level}; one of yours is package.module:Class")
    found = getattr(import_module(module), name)
    return found() if isinstance(found, type) else found


class _Topics(NamedTuple):
    """Metadata of one topic, as far as assignors of other clients ask."""

    partitions: int

    def topics(self) -> set[str]:
        """Return the names of all topics."""
        return {TOPIC}

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Return the numbers of its partitions."""
        return {*range(self.partitions)} if topic == TOPIC else None


class AiokafkaLeader:
    """aiokafka's leader, whose assignors are classes that remember for a member.

    Args:
        level: name of an assignor.
    """

    def __init__(self, level: str) -> None:
        self._protocol: Any = import_module("aiokafka.coordinator.protocol")
        self._assignor: Any = _named("aiokafka", level)
        self._joined: list[tuple[str, bytes]] = []
        self._topics = _Topics(0)

    def begin(self, members: Sequence[str], held: Given, partitions: int) -> None:
        """Write what members send."""
        self._topics = _Topics(partitions)
        self._joined = []
        for member in members:
            self._remember(held.get(member))
            self._joined.append((member, self._assignor.metadata([TOPIC]).encode()))

    def _remember(self, held: Sequence[int] | None) -> None:
        if not hasattr(self._assignor, "on_generation_assignment"):
            return
        self._assignor.member_assignment = None
        self._assignor.generation = self._assignor.DEFAULT_GENERATION_ID
        if held is not None:
            kind = self._protocol.ConsumerProtocolMemberAssignment
            self._assignor.on_assignment(kind(0, [(TOPIC, [*held])], b""))
            self._assignor.on_generation_assignment(GENERATION)

    def lead(self) -> Any:  # noqa: ANN401
        """Read it, assign, write the answers."""
        decode = self._protocol.ConsumerProtocolMemberMetadata.decode
        members = {member: decode(data) for member, data in self._joined}
        assignment = self._assignor.assign(self._topics, members)
        for each in assignment.values():
            each.encode()
        return assignment

    def given(self, assignment: Any) -> dict[str, list[int]]:  # noqa: ANN401
        """Return an assignment as numbers."""
        return _numbers(assignment, "assignment")


class _Joined(NamedTuple):
    """A row of JoinGroup's answer, as kafka-python hands it to its assignors."""

    member_id: str
    metadata: Any
    group_instance_id: str | None = None


class KafkaPythonLeader:
    """kafka-python's leader; each member has an assignor that remembers.

    Args:
        level: name of an assignor.
    """

    def __init__(self, level: str) -> None:
        self._protocol: Any = import_module("kafka.protocol.consumer.metadata")
        self._kind: Any = _named("kafka", level)
        self._joined: list[tuple[str, bytes]] = []
        self._topics = _Topics(0)

    def begin(self, members: Sequence[str], held: Given, partitions: int) -> None:
        """Write what members send."""
        self._topics = _Topics(partitions)
        self._joined = []
        for member in members:
            own = self._kind()
            if member in held:
                last = [(TOPIC, [*held[member]])]
                kind = self._protocol.ConsumerProtocolAssignment
                own.on_assignment(kind(0, last, b""), GENERATION)
            self._joined.append((member, own.metadata([TOPIC]).encode()))

    def lead(self) -> Any:  # noqa: ANN401
        """Read it, assign, write the answers."""
        decode = self._protocol.ConsumerProtocolSubscription.decode
        members = [_Joined(member, decode(data)) for member, data in self._joined]
        assignment = self._kind().assign(self._topics, members)
        for each in assignment.values():
            each.encode()
        return assignment

    def given(self, assignment: Any) -> dict[str, list[int]]:  # noqa: ANN401
        """Return an assignment as numbers."""
        return _numbers(assignment, "assigned_partitions")


def _named(module: str, level: str) -> Any:  # noqa: ANN401 - a class of another client
    """Return an assignor of another client by its name.

    Raises:
        ImportError: it has none of that name.
    """
    if level == "sticky":
        place = f"{module}.coordinator.assignors.sticky.sticky_assignor"
        return import_module(place).StickyPartitionAssignor
    return strategy(module, level)


def _numbers(assignment: Mapping[str, Any], field: str) -> dict[str, list[int]]:
    return {
        member: [number for _, numbers in getattr(each, field) for number in numbers]
        for member, each in assignment.items()
    }
