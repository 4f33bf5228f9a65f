"""One request, two layouts: what a newer version moved, moved back for an older broker.

Decides: callers write every request in its newest layout (batches, topic ids beside names) and
read every answer in it; this module moves the fields for a connection that speaks less. Topic ids
of an answer come back with the names the request had beside them.
Never: changes what is asked. Something an older version cannot say is an error, not a guess.
KIPs: 320 (leader epochs), 345 (LeaveGroup in batches), 516 (topic ids), 699 (FindCoordinator in
batches), 709 (OffsetFetch of several groups), 1082 (member ids of clients).
"""

from collections.abc import Iterable
from typing import Any, Final, TypeVar, cast

from kgroup.codes import ErrorCode
from kgroup.errors import UnsupportedVersionError
from kgroup.wire.messages import (
    ConsumerGroupHeartbeatRequest,
    Coordinator,
    DeleteTopicsRequest,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponseTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kgroup.wire.schema import Message, Request
from kgroup.wire.vocabulary import ZERO_UUID

R = TypeVar("R", bound=Message)

_ONE_COORDINATOR: Final = 3
_ONE_LEAVER: Final = 2
_ONE_GROUP: Final = 7
_DELETED_BY_NAME: Final = 5
_FETCHED_BY_NAME: Final = 12
_COMMITTED_BY_NAME: Final = 9
_PRODUCED_BY_NAME: Final = 12
_FETCHED_BLINDLY: Final = 11
"""Last version of the old layout of each API."""

_IDS_MADE_BY_CLIENTS: Final = 1
"""First version of ConsumerGroupHeartbeat that takes a client's member id (KIP-1082)."""

_EPOCHS_ASKED_BY_ANYBODY: Final = 3
"""First version of OffsetForLeaderEpoch that needs no permission on the whole cluster."""


def ceiling(request: Request[Any]) -> int | None:
    """Return the highest version that can carry a request, None when any can.

    A topic whose id is not known can only be named, which newer versions cannot do.
    """
    match request:
        case FetchRequest(topics=topics, forgotten_topics_data=forgotten):
            ids = {row.topic_id for row in topics} | {row.topic_id for row in forgotten}
            return _FETCHED_BY_NAME if ZERO_UUID in ids else None
        case OffsetCommitRequest(topics=topics):
            unknown = any(row.topic_id == ZERO_UUID for row in topics)
            return _COMMITTED_BY_NAME if unknown else None
        case OffsetFetchRequest(groups=groups):
            unknown = any(
                group.topics is None or any(row.topic_id == ZERO_UUID for row in group.topics)
                for group in groups
            )
            return _COMMITTED_BY_NAME if unknown else None
        case ProduceRequest(topic_data=topics):
            unknown = any(row.topic_id == ZERO_UUID for row in topics)
            return _PRODUCED_BY_NAME if unknown else None
        case _:
            return None


def fit(request: Request[Any], version: int) -> Request[Any]:
    """Return the request in the layout of a version.

    Raises:
        UnsupportedVersionError: the old layout has room for one of what the request has more of.
    """
    match request:
        case FindCoordinatorRequest(coordinator_keys=(*keys,)) if version <= _ONE_COORDINATOR:
            if not keys:
                return request
            return FindCoordinatorRequest(key=_only(request, keys), key_type=request.key_type)
        case LeaveGroupRequest(members=(*members,)) if version <= _ONE_LEAVER and members:
            member = _only(request, members)
            if not member.member_id:
                raise UnsupportedVersionError(
                    request.api_key.name, f"version {version} cannot name a group instance"
                )
            return LeaveGroupRequest(group_id=request.group_id, member_id=member.member_id)
        case OffsetFetchRequest() if version <= _ONE_GROUP and request.groups:
            return _fit_offset_fetch(request)
        case DeleteTopicsRequest() if version <= _DELETED_BY_NAME and request.topics:
            names = tuple(topic.name for topic in request.topics if topic.name is not None)
            return DeleteTopicsRequest(topic_names=names, timeout_ms=request.timeout_ms)
        case FetchRequest() if version <= _FETCHED_BLINDLY:
            return _fit_fetch(request)
        case ConsumerGroupHeartbeatRequest() if version < _IDS_MADE_BY_CLIENTS:
            reason = f"version {version} has the broker make member ids, a member needs its own"
            raise UnsupportedVersionError(request.api_key.name, reason)
        case OffsetForLeaderEpochRequest() if version < _EPOCHS_ASKED_BY_ANYBODY:
            reason = (
                f"version {version} is for brokers, a consumer needs {_EPOCHS_ASKED_BY_ANYBODY}"
            )
            raise UnsupportedVersionError(request.api_key.name, reason)
        case _:
            return request


def _fit_fetch(request: FetchRequest) -> FetchRequest:
    """Leave the epochs of what was read out: such brokers cannot compare them (KIP-320)."""
    return FetchRequest(
        max_wait_ms=request.max_wait_ms,
        min_bytes=request.min_bytes,
        max_bytes=request.max_bytes,
        isolation_level=request.isolation_level,
        session_id=request.session_id,
        session_epoch=request.session_epoch,
        topics=tuple(
            FetchTopic(topic=topic.topic, partitions=tuple(map(_fit_partition, topic.partitions)))
            for topic in request.topics
        ),
        forgotten_topics_data=request.forgotten_topics_data,
        rack_id=request.rack_id,
    )


def _fit_partition(asked: FetchPartition) -> FetchPartition:
    return FetchPartition(
        partition=asked.partition,
        current_leader_epoch=asked.current_leader_epoch,
        fetch_offset=asked.fetch_offset,
        partition_max_bytes=asked.partition_max_bytes,
    )


def _fit_offset_fetch(request: OffsetFetchRequest) -> OffsetFetchRequest:
    group = _only(request, request.groups)
    topics = group.topics
    return OffsetFetchRequest(
        group_id=group.group_id,
        topics=None
        if topics is None
        else tuple(
            OffsetFetchRequestTopic(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in topics
        ),
        require_stable=request.require_stable,
    )


def unify(request: Request[R], version: int, answer: Message) -> R:
    """Return an answer in the newest layout, its topics named.

    Args:
        request: as the caller gave it, in the newest layout.
        version: what it was asked in.
        answer: as it was read in that version.
    """
    return cast("R", _unified(request, version, answer))  # its class is the request's RESPONSE


def _unified(request: Request[Any], version: int, answer: Message) -> Message:
    match request, answer:
        case FindCoordinatorRequest(), FindCoordinatorResponse() if version <= _ONE_COORDINATOR:
            return _unify_find_coordinator(request, answer)
        case LeaveGroupRequest(), LeaveGroupResponse() if version <= _ONE_LEAVER:
            return _unify_leave_group(request, answer)
        case OffsetFetchRequest(), OffsetFetchResponse() if version <= _ONE_GROUP:
            return _unify_offset_fetch(request, answer)
        case OffsetFetchRequest(), OffsetFetchResponse() if version > _COMMITTED_BY_NAME:
            return _name_offset_fetch(request, answer)
        case OffsetCommitRequest(), OffsetCommitResponse() if version > _COMMITTED_BY_NAME:
            return _name_offset_commit(request, answer)
        case ProduceRequest(), ProduceResponse() if version > _PRODUCED_BY_NAME:
            return _name_produce(request, answer)
        case _:
            return answer


def _unify_find_coordinator(
    request: FindCoordinatorRequest, answer: FindCoordinatorResponse
) -> FindCoordinatorResponse:
    if not request.coordinator_keys:
        return answer
    row = Coordinator(
        key=request.coordinator_keys[0],
        node_id=answer.node_id,
        host=answer.host,
        port=answer.port,
        error_code=answer.error_code,
        error_message=answer.error_message,
    )
    return FindCoordinatorResponse(throttle_time_ms=answer.throttle_time_ms, coordinators=(row,))


def _unify_leave_group(
    request: LeaveGroupRequest, answer: LeaveGroupResponse
) -> LeaveGroupResponse:
    """Give the member what is about the member, and keep what is about the group at the top."""
    of_member = answer.error_code in (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID)
    if not request.members or not of_member:
        return answer
    row = MemberResponse(
        member_id=request.members[0].member_id,
        group_instance_id=None,
        error_code=answer.error_code,
    )
    return LeaveGroupResponse(throttle_time_ms=answer.throttle_time_ms, members=(row,))


def _unify_offset_fetch(
    request: OffsetFetchRequest, answer: OffsetFetchResponse
) -> OffsetFetchResponse:
    if not request.groups:
        return answer
    topics = tuple(
        OffsetFetchResponseTopics(
            name=topic.name,
            partitions=tuple(
                OffsetFetchResponsePartitions(
                    partition_index=row.partition_index,
                    committed_offset=row.committed_offset,
                    committed_leader_epoch=row.committed_leader_epoch,
                    metadata=row.metadata,
                    error_code=row.error_code,
                )
                for row in topic.partitions
            ),
        )
        for topic in answer.topics
    )
    group = OffsetFetchResponseGroup(
        group_id=request.groups[0].group_id, topics=topics, error_code=answer.error_code
    )
    return OffsetFetchResponse(throttle_time_ms=answer.throttle_time_ms, groups=(group,))


def _name_offset_fetch(
    request: OffsetFetchRequest, answer: OffsetFetchResponse
) -> OffsetFetchResponse:
    names = {row.topic_id: row.name for group in request.groups for row in group.topics or ()}
    groups = tuple(
        OffsetFetchResponseGroup(
            group_id=group.group_id,
            topics=tuple(
                OffsetFetchResponseTopics(
                    name=names.get(row.topic_id, ""),
                    topic_id=row.topic_id,
                    partitions=row.partitions,
                )
                for row in group.topics
            ),
            error_code=group.error_code,
        )
        for group in answer.groups
    )
    return OffsetFetchResponse(throttle_time_ms=answer.throttle_time_ms, groups=groups)


def _name_offset_commit(
    request: OffsetCommitRequest, answer: OffsetCommitResponse
) -> OffsetCommitResponse:
    names = {row.topic_id: row.name for row in request.topics}
    topics = tuple(
        OffsetCommitResponseTopic(
            name=names.get(row.topic_id, ""), topic_id=row.topic_id, partitions=row.partitions
        )
        for row in answer.topics
    )
    return OffsetCommitResponse(throttle_time_ms=answer.throttle_time_ms, topics=topics)


def _name_produce(request: ProduceRequest, answer: ProduceResponse) -> ProduceResponse:
    names = {row.topic_id: row.name for row in request.topic_data}
    responses = tuple(
        TopicProduceResponse(
            name=names.get(row.topic_id, ""),
            topic_id=row.topic_id,
            partition_responses=row.partition_responses,
        )
        for row in answer.responses
    )
    return ProduceResponse(
        responses=responses,
        throttle_time_ms=answer.throttle_time_ms,
        node_endpoints=answer.node_endpoints,
    )


T = TypeVar("T")


def _only(request: Request[Any], rows: Iterable[T]) -> T:
    first, *others = rows
    if others:
        raise UnsupportedVersionError(
            request.api_key.name, f"the broker takes one at a time, not {len(others) + 1}"
        )
    return first
