"""What the coordinator has decided, as the journal is told it: the ground truth of a run.

Decides: which answers stand for something stored: a commit of a partition answered 0, and the
SyncGroup by which a leader's assignment is accepted.
Never: asks the coordinator anything that would change it.
"""

from collections.abc import Iterator
from typing import Any

from kgroup.errors import DecodeError
from kgroup.journal import CommitStored, Event, RoundMember, RoundStored
from kgroup.testing.broker.groups.group import Group
from kgroup.testing.broker.groups.member import Member
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import decode_assignment, decode_subscription
from kgroup.wire.messages import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kgroup.wire.schema import Request

__all__ = ["stored"]


def stored(request: Request[Any], answer: object, group: Group | None) -> Iterator[Event]:
    """Yield what an answer of the coordinator shows to be stored.

    Args:
        request: what was asked.
        answer: what was answered.
        group: as it is at that moment.
    """
    if isinstance(request, OffsetCommitRequest) and isinstance(answer, OffsetCommitResponse):
        yield from _commits(request, answer)
    elif isinstance(request, SyncGroupRequest) and group is not None:
        accepted = isinstance(answer, SyncGroupResponse) and not answer.error_code
        if accepted and request.assignments:
            yield _round(group)


def _commits(request: OffsetCommitRequest, answer: OffsetCommitResponse) -> Iterator[Event]:
    good = {
        (topic.name, row.partition_index)
        for topic in answer.topics
        for row in topic.partitions
        if not row.error_code
    }
    outside = request.generation_id_or_member_epoch < 0
    for topic in request.topics:
        for row in topic.partitions:
            if (topic.name, row.partition_index) in good:
                yield CommitStored(
                    tp=TopicPartition(topic.name, row.partition_index),
                    offset=row.committed_offset,
                    member_id=None if outside else request.member_id,
                    generation_id=None if outside else request.generation_id_or_member_epoch,
                    leader_epoch=_epoch(row.committed_leader_epoch),
                )


def _epoch(number: int) -> int | None:
    return None if number < 0 else number


def _round(group: Group) -> RoundStored:
    protocol = group.protocol_name or ""
    members = tuple(_member(each, protocol) for each in group.members.values())
    return RoundStored(
        generation_id=group.generation_id, protocol_name=group.protocol_name, members=members
    )


def _member(member: Member, protocol: str) -> RoundMember:
    try:
        given = decode_assignment(member.assignment).partitions if member.assignment else ()
        asked = decode_subscription(member.metadata(protocol))
    except DecodeError:
        return RoundMember(member.member_id, member.instance_id, ())
    return RoundMember(
        member.member_id,
        member.instance_id,
        tuple(given),
        tuple(asked.topics),
        tuple(asked.owned),
        asked.generation_id,
    )
