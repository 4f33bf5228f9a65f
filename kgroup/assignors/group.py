"""The group as an assignor sees it, and the draft on which it writes its answer.

Decides: which partitions are there to give, who may have them, and in which order both are
listed, so that equal groups give equal assignments on every leader.
Never: depends on the order in which members or topics were described.
KIPs: 54, 345, 429, 881.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from kgroup.assignors.assignment import GroupAssignment, withhold
from kgroup.assignors.claims import settle, stated_claim
from kgroup.assignors.member import Member, PartitionRacks, TopicsMetadata, member_order
from kgroup.errors import AssignmentError
from kgroup.types import RebalanceProtocol, TopicPartition
from kgroup.wire.classic_bytes import utf16_order

__all__ = ["Draft", "GroupSubscription"]

UNKNOWN = PartitionRacks()


@dataclass(frozen=True, slots=True)
class GroupSubscription:
    """All members, and all topics that any of them subscribes to.

    Args:
        members: in any order; kept sorted, static members first (see `member_order`).
        topics: metadata of at least the subscribed topics; kept are those that somebody
            subscribes to and that have partitions, sorted by name.
        now: seconds since the epoch by the leader's clock when the round began. Another leader's
            clock may differ, so compare it with times of minutes, not of seconds.

    Raises:
        AssignmentError: two members have one member id.
    """

    members: tuple[Member, ...]
    topics: TopicsMetadata
    now: float = 0.0
    partitions: tuple[TopicPartition, ...] = field(init=False, repr=False, compare=False)
    _by_topic: Mapping[str, tuple[TopicPartition, ...]] = field(
        init=False, repr=False, compare=False
    )
    _subscribers: Mapping[str, tuple[Member, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        members = tuple(sorted(self.members, key=member_order))
        if len({member.member_id for member in members}) != len(members):
            ids = [member.member_id for member in members]
            twice = sorted({member_id for member_id in ids if ids.count(member_id) > 1})
            raise AssignmentError(f"the coordinator listed a member id twice: {twice}")
        subscribers: dict[str, list[Member]] = {}
        for member in members:
            for topic in member.topics:
                if self.topics.get(topic):
                    subscribers.setdefault(topic, []).append(member)
        names = sorted(subscribers, key=utf16_order)
        topics = {name: self.topics[name] for name in names}
        by_topic = {
            name: tuple(TopicPartition(name, number) for number in sorted(numbers))
            for name, numbers in topics.items()
        }
        fix = object.__setattr__  # a frozen value may be completed only while it is made
        fix(self, "members", members)
        fix(self, "topics", MappingProxyType(topics))
        fix(self, "partitions", tuple(tp for tps in by_topic.values() for tp in tps))
        fix(self, "_by_topic", by_topic)
        fix(self, "_subscribers", {name: tuple(subscribers[name]) for name in names})

    @property
    def subscribed_topics(self) -> frozenset[str]:
        """Everything anybody subscribes to, with or without metadata."""
        return frozenset().union(*(member.topics for member in self.members))

    @property
    def unreadable(self) -> tuple[Member, ...]:
        """Members whose subscription could not be read; they get nothing."""
        return tuple(member for member in self.members if member.unreadable is not None)

    def partitions_of(self, topic: str) -> tuple[TopicPartition, ...]:
        """Return the partitions of a topic by number, empty when there is nothing to give."""
        return self._by_topic.get(topic, ())

    def subscribers(self, topic: str) -> tuple[Member, ...]:
        """Return who may have the topic's partitions: static members first, then by id."""
        return self._subscribers.get(topic, ())

    def has(self, partition: TopicPartition) -> bool:
        """Whether the partition exists and somebody subscribes to its topic."""
        return partition.partition in self.topics.get(partition.topic, ())

    def rack_of(self, partition: TopicPartition) -> str | None:
        """Return the rack of the partition's leader, None when not known."""
        return self._racks(partition).leader

    def racks_of(self, partition: TopicPartition) -> frozenset[str]:
        """Return the racks of all replicas of the partition, empty when not known."""
        return self._racks(partition).replicas

    def draft(self) -> "Draft":
        """Return an empty assignment to write on."""
        return Draft(self)

    def _racks(self, partition: TopicPartition) -> PartitionRacks:
        return self.topics.get(partition.topic, {}).get(partition.partition, UNKNOWN)


class Draft:
    """An assignment being made; refuses at once what cannot be part of it.

    Args:
        group: whom and what it is about.
    """

    def __init__(self, group: GroupSubscription) -> None:
        self._group = group
        self._given: dict[str, list[TopicPartition]] = {m.member_id: [] for m in group.members}
        self._owner: dict[TopicPartition, Member] = {}

    def give(self, partition: TopicPartition, *, to: Member) -> None:
        """Give a partition to a member.

        Raises:
            AssignmentError: it does not exist, has been given, or the member does not subscribe
                to its topic or is not in the group.
        """
        if not self._group.has(partition):
            raise AssignmentError(f"{partition} is not a partition of a subscribed topic")
        if to.member_id not in self._given:
            raise AssignmentError(f"{partition} given to {to.member_id!r}, who is not a member")
        if partition.topic not in to.topics:
            raise AssignmentError(
                f"{partition} given to {to.member_id!r}, which does not subscribe to its topic"
            )
        earlier = self._owner.get(partition)
        if earlier is not None:
            raise AssignmentError(
                f"{partition} given to {to.member_id!r}, but {earlier.member_id!r} has it already"
            )
        self._owner[partition] = to
        self._given[to.member_id].append(partition)

    def load(self, member: Member) -> int:
        """Return how many partitions the member has been given so far."""
        return len(self._given[member.member_id])

    def owner(self, partition: TopicPartition) -> Member | None:
        """Return who has been given the partition, None while nobody has."""
        return self._owner.get(partition)

    def freeze(self, protocol: RebalanceProtocol = RebalanceProtocol.EAGER) -> GroupAssignment:
        """Return the finished assignment.

        Args:
            protocol: with COOPERATIVE, what another member still holds is withheld until that
                member has handed it back; the draft itself has to be complete either way.

        Raises:
            AssignmentError: some partition was given to nobody.
        """
        missing = [tp for tp in self._group.partitions if tp not in self._owner]
        if missing:
            shown = ", ".join(str(tp) for tp in missing[:5])
            raise AssignmentError(f"{len(missing)} partitions were given to nobody: {shown}")
        target = {member_id: tuple(tps) for member_id, tps in self._given.items()}
        match protocol:
            case RebalanceProtocol.EAGER:
                return GroupAssignment(MappingProxyType(target))
            case RebalanceProtocol.COOPERATIVE:
                claims = {m.member_id: stated_claim(m) for m in self._group.members}
                return withhold(target, settle(claims, self._group.topics))
