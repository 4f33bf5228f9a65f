"""The group as an assignor sees it.

Decides: which partitions are there to give, which members may have them, in which order both are
listed, so that equal groups give equal assignments on every leader; whether racks matter, for a
topic (range) or the whole group (sticky).
Never: depends on the order in which members or topics came; asks which replicas are in sync: all
of them count, as in Java.
KIPs: 54, 345, 429, 881.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

from kgroup.assignors.assignment import Draft
from kgroup.assignors.member import Member, PartitionRacks, TopicsMetadata, member_order
from kgroup.assignors.numbering import Numbered, PartitionNumbering
from kgroup.errors import AssignmentError
from kgroup.types import TopicPartition
from kgroup.values import dataclass

UNKNOWN = PartitionRacks()


@dataclass(frozen=True, slots=True)
class Audience:
    """Topics that the same members subscribe to.

    Args:
        members: the subscribers, in the order of the group.
        topics: their names, in order.
    """

    members: tuple[Member, ...]
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupSubscription:
    """All members, and all topics that any of them subscribes to.

    Args:
        members: in any order; kept sorted, static members first (see `member_order`).
        topics: metadata of at least the subscribed topics; kept are those that somebody
            subscribes to and that have partitions, sorted by name.
        now: seconds since the epoch by the leader's clock when the round began. Another leader's
            clock may differ, so compare it with times of minutes, not of seconds.
        generation_id: the generation that is being made, None when not known. Claims of it, or
            of a later one, cannot be true.

    Attributes:
        partitions: everything there is to give, in order; a sequence that also knows the place
            of each partition.
        audiences: the topics by their subscribers, in the order of their first topics.

    Raises:
        AssignmentError: two members have one member id.
    """

    members: tuple[Member, ...]
    topics: TopicsMetadata
    now: float = 0.0
    generation_id: int | None = None
    partitions: PartitionNumbering = field(init=False, repr=False, compare=False)
    audiences: tuple[Audience, ...] = field(init=False, repr=False, compare=False)
    _subscribers: Mapping[str, tuple[Member, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        members = tuple(sorted(self.members, key=member_order))
        _refuse_twins(members)
        subscribers = _subscribers(members, self.topics)
        partitions = PartitionNumbering({topic: self.topics[topic] for topic in subscribers})
        fix = object.__setattr__  # a frozen value may be completed only while it is made
        fix(self, "members", members)
        fix(
            self,
            "topics",
            MappingProxyType({name: self.topics[name] for name in partitions.topics}),
        )
        fix(self, "partitions", partitions)
        fix(self, "audiences", _audiences(partitions.topics, subscribers))
        fix(self, "_subscribers", subscribers)

    @property
    def subscribed_topics(self) -> frozenset[str]:
        """Everything anybody subscribes to, with or without metadata."""
        return frozenset().union(*(member.topics for member in self.members))

    @property
    def unreadable(self) -> tuple[Member, ...]:
        """Members whose subscription could not be read; they get nothing."""
        return tuple(member for member in self.members if member.unreadable is not None)

    def partitions_of(self, topic: str) -> Numbered:
        """Return the partitions of a topic by number, empty when there is nothing to give."""
        return self.partitions.select(self.partitions.span(topic))

    def subscribers(self, topic: str) -> tuple[Member, ...]:
        """Return the members that may have the topic's partitions: static ones first, by id."""
        return self._subscribers.get(topic, ())

    def has(self, partition: TopicPartition) -> bool:
        """Whether the partition exists and somebody subscribes to its topic."""
        return partition in self.partitions

    def rack_of(self, partition: TopicPartition) -> str | None:
        """Return the rack of the partition's leader, None when not known."""
        return self._racks(partition).leader

    def racks_of(self, partition: TopicPartition) -> frozenset[str]:
        """Return the racks of all replicas of the partition, empty when not known."""
        return self._racks(partition).replicas

    def replica_racks(self) -> list[frozenset[str]]:
        """Return the racks of all replicas, by a partition's place in `partitions`."""
        return [
            self.topics[topic][number].replicas
            for topic, numbers in zip(self.partitions.topics, self.partitions.numbers, strict=True)
            for number in numbers
        ]

    def draft(self) -> Draft:
        """Return an empty assignment to write on."""
        return Draft(self.members, self.partitions, self.generation_id)

    def _racks(self, partition: TopicPartition) -> PartitionRacks:
        return self.topics.get(partition.topic, {}).get(partition.partition, UNKNOWN)


def _refuse_twins(members: Sequence[Member]) -> None:
    ids = [member.member_id for member in members]
    if len(set(ids)) != len(ids):
        twice = sorted({member_id for member_id in ids if ids.count(member_id) > 1})
        raise AssignmentError(f"the coordinator listed a member id twice: {twice}")


def _subscribers(
    members: Sequence[Member], topics: TopicsMetadata
) -> dict[str, tuple[Member, ...]]:
    """Return topic -> its subscribers; topics with the same subscribers share one tuple.

    Members with equal subscriptions are looked at once, so that a group of thousands with
    hundreds of topics each costs as much as its distinct subscriptions.
    """
    places: dict[frozenset[str], list[int]] = {}
    for place, member in enumerate(members):
        places.setdefault(member.topics, []).append(place)
    alike = list(places.values())
    wanting: dict[str, list[int]] = {}
    for kind, names in enumerate(places):
        for topic in names:
            wanting.setdefault(topic, []).append(kind)
    shared: dict[tuple[int, ...], tuple[Member, ...]] = {}
    found: dict[str, tuple[Member, ...]] = {}
    for topic, kinds in wanting.items():
        if not topics.get(topic):
            continue
        key = tuple(kinds)
        if key not in shared:
            together = sorted(place for kind in kinds for place in alike[kind])
            shared[key] = tuple(members[place] for place in together)
        found[topic] = shared[key]
    return found


def _audiences(
    topics: Iterable[str], subscribers: Mapping[str, tuple[Member, ...]]
) -> tuple[Audience, ...]:
    found: dict[int, tuple[tuple[Member, ...], list[str]]] = {}
    for topic in topics:  # equal subscribers are one tuple, so its identity tells them apart
        members = subscribers[topic]
        found.setdefault(id(members), (members, []))[1].append(topic)
    return tuple(Audience(members, tuple(names)) for members, names in found.values())


def racks_matter(
    member_racks: Collection[str], partition_racks: Collection[frozenset[str]]
) -> bool:
    """Whether an assignment can be better or worse for racks.

    Args:
        member_racks: the racks members said they are in.
        partition_racks: per partition, the racks of its replicas.

    Returns:
        False when no member shares a rack with any replica, or when every partition has
        replicas in all racks there are.
    """
    everywhere: frozenset[str] = frozenset().union(*partition_racks)
    if everywhere.isdisjoint(member_racks):
        return False
    return any(racks != everywhere for racks in partition_racks)


def group_racks_matter(group: GroupSubscription) -> bool:
    """Whether racks matter for the group as a whole."""
    member_racks = {member.rack for member in group.members if member.rack is not None}
    if not member_racks:
        return False
    sets = {racks.replicas for numbers in group.topics.values() for racks in numbers.values()}
    return racks_matter(member_racks, sets)
