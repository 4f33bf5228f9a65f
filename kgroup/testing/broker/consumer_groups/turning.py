"""A group changes its protocol while it has members (`broker_facts.md` K6).

Decides: what becomes of members, epochs and assignments when the first member of KIP-848 comes into
a classic group, and when the last one has left; and which classic groups cannot turn.
Never: sets timers, answers requests, or asks for another target.
"""

from collections.abc import Iterable

from kgroup.errors import DecodeError
from kgroup.testing.broker.cluster.cluster import Cluster
from kgroup.testing.broker.consumer_groups.assigning import Place
from kgroup.testing.broker.consumer_groups.group import ConsumerGroup
from kgroup.testing.broker.consumer_groups.member import ClassicSide, ConsumerMember
from kgroup.testing.broker.groups.group import Group, Phase
from kgroup.testing.broker.groups.member import Member
from kgroup.testing.broker.mint import bucket_order
from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)

PROTOCOL_TYPE = "consumer"


class CannotTurnError(Exception):
    """A classic group that lets no member of KIP-848 in; the text is the coordinator's."""


def upgraded(group: Group, cluster: Cluster) -> ConsumerGroup:
    """Return a classic group as one of KIP-848: each member has what it had, in its generation.

    Args:
        group: with members.
        cluster: ids of topics.

    Raises:
        CannotTurnError: the coordinator could not divide for it.
    """
    start = f"Cannot upgrade classic group {group.group_id} to consumer group because "
    if group.protocol_type != PROTOCOL_TYPE:
        raise CannotTurnError(f"{start}the group does not use the consumer embedded protocol.")
    generation = group.generation_id
    turned = ConsumerGroup(group.group_id, epoch=generation, target_epoch=generation)
    try:
        members = [_turned(group, each, cluster) for each in group.members.values()]
    except DecodeError:
        raise CannotTurnError(f"{start}the embedded consumer protocol is malformed.") from None
    except ValueError:
        raise CannotTurnError(
            f"{start}an unsupported custom assignor is in use. Please refer to the documentation "
            "or switch to a default assignor before re-attempting the upgrade."
        ) from None
    for member in members:
        turned.members[member.member_id] = member
        turned.target[member.member_id] = frozenset(member.assigned)
    return turned


def _turned(group: Group, member: Member, cluster: Cluster) -> ConsumerMember:
    given = decode_assignment(member.assignment)
    if given.user_data:
        raise ValueError("the assignor has told its members something of its own")
    asked = decode_subscription(member.metadata(group.protocol_name or member.protocols[0][0]))
    return ConsumerMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        rack_id=asked.rack,
        rebalance_timeout=member.rebalance_timeout,
        topics=frozenset(asked.topics),
        epoch=group.generation_id,
        before=group.generation_id,
        assigned=dict.fromkeys(places_of(given.partitions, cluster), group.generation_id),
        classic=ClassicSide(member.session_timeout, member.protocols),
    )


def places_of(partitions: Iterable[TopicPartition], cluster: Cluster) -> frozenset[Place]:
    """Return partitions as KIP-848 names them, without those of topics that are not there."""
    named = ((cluster.topics.get(tp.topic), tp.partition) for tp in partitions)
    return frozenset((topic.topic_id, number) for topic, number in named if topic is not None)


def assignment_bytes(member: ConsumerMember, cluster: Cluster) -> bytes:
    """Return what a classic member is handed: its part, in the version of its own subscription."""
    assert member.classic is not None
    named = ((cluster.topic_by_id(topic_id), number) for topic_id, number in member.assigned)
    partitions = sorted(TopicPartition(topic.name, number) for topic, number in named if topic)
    version = int.from_bytes(member.classic.protocols[0][1][:2], "big")
    return encode_assignment(MemberAssignment(tuple(partitions)), version)


def downgraded(group: ConsumerGroup, epoch: int, kind: CoordinatorKind, cluster: Cluster) -> Group:
    """Return a group whose members are all classic as a classic one, Stable in its last epoch.

    Args:
        group: with classic members only.
        epoch: of the group, before the last member of KIP-848 left.
        kind: of the coordinator.
        cluster: names of topics.
    """
    classic = Group(group.group_id, kind, Phase.STABLE, generation_id=epoch)
    for member_id in bucket_order(group.members):
        member = group.members[member_id]
        assert member.classic is not None
        turned = Member(
            member_id=member_id,
            instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            session_timeout=member.classic.session_timeout,
            rebalance_timeout=member.rebalance_timeout,
            protocols=member.classic.protocols,
            assignment=assignment_bytes(member, cluster),
            is_new=False,
        )
        classic.add(turned, PROTOCOL_TYPE)
    classic.protocol_name = classic.elected()
    return classic
