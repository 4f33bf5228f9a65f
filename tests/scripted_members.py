"""The members of a scripted group, and what they have committed."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from kgroup.testing.scripted import Held
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import (
    MemberSubscription,
    decode_assignment,
    decode_subscription,
    encode_subscription,
)
from kgroup.wire.messages import (
    DescribedGroupMember,
    DescribeGroupsDescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    JoinGroupResponseMember,
    OffsetCommitRequest,
)

__all__ = [
    "Committed",
    "GroupPhase",
    "ScriptedMember",
    "commits_of",
    "describe_answer",
    "members_listed",
]


class GroupPhase(Enum):
    """The states of a group, in Kafka's words."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"


@dataclass(frozen=True, slots=True)
class Committed:
    """One accepted offset of one partition."""

    tp: TopicPartition
    offset: int
    metadata: str | None
    leader_epoch: int
    member_id: str
    generation_id: int


@dataclass(slots=True, eq=False)
class ScriptedMember:
    """One member; the leader is told `told` instead of its subscription, if it is set.

    A real broker does not let through what it cannot read (`broker_facts.md` B14); this one does.
    """

    member_id: str
    instance_id: str | None
    session: float = math.inf
    patience: float = 0.0
    protocols: Mapping[str, bytes] = field(default_factory=dict)
    heard_at: float = 0.0
    join: Held | None = None
    sync: Held | None = None
    assignment: bytes = b""
    phantom: bool = False
    told: bytes | None = None

    @property
    def ready(self) -> bool:
        return self.phantom or self.join is not None


def commits_of(request: OffsetCommitRequest) -> Iterator[Committed]:
    """Return what a commit says, partition by partition."""
    who = request.member_id, request.generation_id_or_member_epoch
    for topic in request.topics:
        for row in topic.partitions:
            tp = TopicPartition(topic.name, row.partition_index)
            place = row.committed_offset, row.committed_metadata, row.committed_leader_epoch
            yield Committed(tp, *place, *who)


def describe_answer(
    request: DescribeGroupsRequest,
    phase: GroupPhase,
    protocol_name: str | None,
    members: Iterable[ScriptedMember],
) -> DescribeGroupsResponse:
    """Answer DescribeGroups: subscriptions and assignments only while the group is Stable."""
    stable = phase is GroupPhase.STABLE and protocol_name is not None
    rows = tuple(
        DescribedGroupMember(
            member_id=each.member_id,
            group_instance_id=each.instance_id,
            client_id="",
            client_host="",
            member_metadata=each.protocols[protocol_name or ""] if stable else b"",
            member_assignment=each.assignment if stable else b"",
        )
        for each in members
    )
    return DescribeGroupsResponse(
        groups=tuple(
            DescribeGroupsDescribedGroup(
                group_id=name,
                group_state=phase.value,
                protocol_type="consumer",
                protocol_data=protocol_name or "",
                members=rows,
            )
            for name in request.groups
        )
    )


def members_listed(
    members: Iterable[ScriptedMember], protocol_name: str, generation_id: int
) -> tuple[JoinGroupResponseMember, ...]:
    """Return the members as the leader of a round is told of them."""

    def metadata(member: ScriptedMember) -> bytes:
        if member.told is not None:
            return member.told
        blob = member.protocols[protocol_name]
        return _phantom_claims(member, blob, generation_id) if member.phantom else blob

    return tuple(
        JoinGroupResponseMember(
            member_id=each.member_id,
            group_instance_id=each.instance_id,
            metadata=metadata(each),
        )
        for each in members
    )


def _phantom_claims(member: ScriptedMember, blob: bytes, generation_id: int) -> bytes:
    """Return the subscription of a phantom: it claims what it was given in the round before."""
    given = member.assignment and decode_assignment(member.assignment).partitions
    return encode_subscription(
        MemberSubscription(
            topics=decode_subscription(blob).topics,
            owned=tuple(given or ()),
            generation_id=generation_id - 1,
        )
    )
