"""What tests see of a consumer group at one instant.

Decides: how what members said is shown, and when a group counts as settled.
Never: changes the group.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kgroup.errors import DecodeError
from kgroup.testing.broker.consumer_groups.group import ConsumerGroup, ConsumerPhase
from kgroup.testing.broker.consumer_groups.member import ConsumerMember
from kgroup.testing.broker.core import Core
from kgroup.testing.broker.groups.group import Group, Phase
from kgroup.testing.broker.groups.member import Member, UnreadableMetadataError, topics_of
from kgroup.testing.broker.groups.shard import Shard
from kgroup.types import OffsetAndMetadata, TopicPartition
from kgroup.values import dataclass
from kgroup.wire.consumer_protocol import decode_assignment

_CONSUMER = "consumer"


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member as its coordinator has it.

    Args:
        member_id: its id.
        client_id: name its client gave itself.
        instance_id: group.instance.id, None for a dynamic member.
        partitions: what it was assigned last, sorted; empty too when its assignment cannot be read
            or is not that of a consumer.
        assignment: the bytes of it; none in a group of KIP-848.
        is_parked: whether it waits for the answer to JoinGroup or SyncGroup.
    """

    member_id: str
    client_id: str
    instance_id: str | None
    partitions: tuple[TopicPartition, ...]
    assignment: bytes
    is_parked: bool


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group at one instant.

    Args:
        state: Kafka's word: Empty, PreparingRebalance, CompletingRebalance, Stable, or for KIP-848
            Empty, Assigning, Reconciling, Stable; Dead = there is no such group.
        generation: number of the present round, 0 before the first; the group's epoch (KIP-848).
        leader: member id, None without members and with KIP-848.
        protocol: the assignor chosen, None without one.
        members: in the order in which they joined.
        offsets: partition -> committed offset.
    """

    state: str
    generation: int
    leader: str | None
    protocol: str | None
    members: tuple[MemberView, ...]
    offsets: Mapping[TopicPartition, OffsetAndMetadata]


def seen_group(core: Core, group_id: str) -> GroupView:
    """Return a group as tests see it, whether or not it exists."""
    shard = core.coordinators.shard_of(group_id)
    consumers = shard.consumer_groups.get(group_id)
    if consumers is not None:
        return _seen_consumers(core, consumers, _offsets(shard, group_id))
    group = shard.groups.get(group_id, Group(group_id, phase=Phase.DEAD))
    return GroupView(
        state=group.phase.value,
        generation=group.generation_id,
        leader=group.leader_id,
        protocol=group.protocol_name,
        members=tuple(seen_member(group, member) for member in group.members.values()),
        offsets=_offsets(shard, group_id),
    )


def _offsets(shard: Shard, group_id: str) -> Mapping[TopicPartition, OffsetAndMetadata]:
    offsets = {
        tp: OffsetAndMetadata(each.offset, each.metadata, each.leader_epoch)
        for tp, each in sorted(shard.offsets.of(group_id).items())
    }
    return MappingProxyType(offsets)


def _seen_consumers(
    core: Core, group: ConsumerGroup, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> GroupView:
    members = group.members.values()
    return GroupView(
        state=group.phase.value,
        generation=group.epoch,
        leader=None,
        protocol=group.assignor,
        members=tuple(seen_consumer(core, member) for member in members),
        offsets=offsets,
    )


def seen_consumer(core: Core, member: ConsumerMember) -> MemberView:
    """Return a member of a KIP-848 group as tests see it."""
    named = ((core.cluster.topic_by_id(topic_id), each) for topic_id, each in member.assigned)
    partitions = [TopicPartition(topic.name, each) for topic, each in named if topic is not None]
    return MemberView(
        member_id=member.member_id,
        client_id=member.client_id,
        instance_id=member.instance_id,
        partitions=tuple(sorted(partitions)),
        assignment=b"",
        is_parked=False,
    )


def seen_member(group: Group, member: Member) -> MemberView:
    """Return a member as tests see it."""
    return MemberView(
        member_id=member.member_id,
        client_id=member.client_id,
        instance_id=member.instance_id,
        partitions=_partitions(group, member.assignment),
        assignment=member.assignment,
        is_parked=member.join is not None or member.sync is not None,
    )


def _partitions(group: Group, assignment: bytes) -> tuple[TopicPartition, ...]:
    if group.protocol_type != _CONSUMER or not assignment:
        return ()
    try:
        return tuple(sorted(decode_assignment(assignment).partitions))
    except DecodeError:
        return ()


def settled(core: Core, group_id: str) -> bool:
    """Tell whether no round is going on and everything that is subscribed to is assigned.

    Some partitions may have to wait for another round: those that cooperative members hand over,
    and those of which a client had no metadata yet when it led the one before.
    """
    shard = core.coordinators.shard_of(group_id)
    consumers = shard.consumer_groups.get(group_id)
    if consumers is not None:
        return consumers.phase is ConsumerPhase.STABLE
    group = shard.groups.get(group_id)
    if group is None or group.phase is not Phase.STABLE:
        return False
    members = [seen_member(group, member) for member in group.members.values()]
    if any(member.is_parked for member in members):
        return False
    topics = (core.cluster.topics.get(name) for name in _topics(group))
    wanted = {partition.tp for topic in topics if topic for partition in topic.partitions}
    return wanted <= {tp for member in members for tp in member.partitions}


def _topics(group: Group) -> set[str]:
    """Return what its members subscribe to; nothing of those whose bytes cannot be read."""
    topics: set[str] = set()
    if group.protocol_type != _CONSUMER:
        return topics
    for member in group.members.values():
        try:
            topics |= topics_of(member.metadata(group.protocol_name or "")) or frozenset()
        except UnreadableMetadataError:
            continue
    return topics
