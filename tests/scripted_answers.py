"""Answers of a coordinator that need no coordinator: refusals of every group API, and offsets."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kgroup.types import TopicPartition
from kgroup.wire.messages import Coordinator as CoordinatorRow
from kgroup.wire.messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kgroup.wire.schema import Message, Request

__all__ = ["join_refused", "left", "offsets_answer", "refused"]


def join_refused(code: int, member_id: str) -> JoinGroupResponse:
    """Return the JoinGroup answer that is only an error."""
    return JoinGroupResponse(
        error_code=code, protocol_name=None, leader="", member_id=member_id, members=()
    )


def refused(code: int) -> Callable[[Request[Any]], Message]:
    """Return the rule that answers any group request with an error code (0: an empty success)."""

    def answer(request: Request[Any]) -> Message:
        match request:
            case FindCoordinatorRequest(coordinator_keys=keys):
                rows = tuple(
                    CoordinatorRow(key=k, node_id=-1, host="", port=-1, error_code=code)
                    for k in keys
                )
                return FindCoordinatorResponse(coordinators=rows)
            case JoinGroupRequest(member_id=member_id):
                return join_refused(code, member_id)
            case SyncGroupRequest():
                return SyncGroupResponse(error_code=code, assignment=b"")
            case HeartbeatRequest():
                return HeartbeatResponse(error_code=code)
            case LeaveGroupRequest():
                return LeaveGroupResponse(error_code=code)
            case OffsetCommitRequest():
                return _commit_answer(request, code)
            case OffsetFetchRequest(groups=groups):
                failed = (
                    OffsetFetchResponseGroup(group_id=g.group_id, topics=(), error_code=code)
                    for g in groups
                )
                return OffsetFetchResponse(groups=tuple(failed))
            case _:
                raise AssertionError(f"{type(request).__name__} is no group request")

    return answer


def left(request: LeaveGroupRequest, codes: Sequence[int]) -> LeaveGroupResponse:
    """Answer LeaveGroup with a code for each member of the batch."""
    rows = (
        MemberResponse(
            member_id=row.member_id, group_instance_id=row.group_instance_id, error_code=code
        )
        for row, code in zip(request.members, codes, strict=True)
    )
    return LeaveGroupResponse(members=tuple(rows))


def _commit_answer(request: OffsetCommitRequest, code: int) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=tuple(
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=tuple(
                    OffsetCommitResponsePartition(
                        partition_index=row.partition_index, error_code=code
                    )
                    for row in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def offsets_answer(
    request: OffsetFetchRequest, known: Mapping[TopicPartition, tuple[int, str | None, int]]
) -> OffsetFetchResponse:
    """Answer OffsetFetch.

    Args:
        request: what is asked.
        known: partition -> offset, metadata, leader epoch; the others read as nothing committed.
    """

    def row(topic: str, number: int) -> OffsetFetchResponsePartitions:
        offset, text, epoch = known.get(TopicPartition(topic, number), (-1, "", -1))
        return OffsetFetchResponsePartitions(
            partition_index=number,
            committed_offset=offset,
            committed_leader_epoch=epoch,
            metadata=text,
        )

    return OffsetFetchResponse(
        groups=tuple(
            OffsetFetchResponseGroup(
                group_id=group.group_id,
                topics=tuple(
                    OffsetFetchResponseTopics(
                        name=topic.name,
                        topic_id=topic.topic_id,
                        partitions=tuple(row(topic.name, n) for n in topic.partition_indexes),
                    )
                    for topic in group.topics or ()
                ),
            )
            for group in request.groups
        )
    )
