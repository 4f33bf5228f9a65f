"""What is asked of a group's coordinator by somebody who is no member.

Decides: how the coordinator is found, and that it is found anew when it moved.
Never: joins, commits, or carries a generation.
KIPs: 229 (delete groups), 345 (evict a static member), 447 (stable offsets), 709, 1043.
"""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Final, TypeVar

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import DecodeError
from kgroup.net.cluster import Cluster, Lane
from kgroup.net.coordinator import find_coordinator
from kgroup.net.insist import insist
from kgroup.net.verdict import refusal
from kgroup.types import IsolationLevel, OffsetAndMetadata, TopicPartition
from kgroup.wire.messages import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponsePartitions,
)
from kgroup.wire.schema import Message, Request
from kgroup.wire.vocabulary import ZERO_UUID

__all__ = [
    "GroupDescription",
    "GroupMember",
    "committed_offsets",
    "delete_group",
    "describe_group",
    "evict_static_member",
]

R = TypeVar("R", bound=Message)
T = TypeVar("T")

_DEAD: Final = "Dead"
"""Kafka's word for the state of a group that does not exist."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One member of a group as its coordinator sees it.

    Args:
        member_id: id given by the coordinator.
        group_instance_id: static identity, None for a dynamic member.
        client_id: how its client calls itself.
        client_host: where it comes from.
        subscription: embedded protocol bytes; empty unless the group is Stable.
        assignment: the same.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    subscription: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """One group as its coordinator sees it.

    Args:
        group_id: its name.
        state: Kafka's word: Empty, PreparingRebalance, CompletingRebalance, Stable or Dead.
        protocol_type: "consumer" for groups of consumers, None when nobody has joined.
        protocol_name: the assignor in use, None unless the group is Stable.
        members: in order of their ids.
        coordinator: node id.
    """

    group_id: str
    state: str
    protocol_type: str | None
    protocol_name: str | None
    members: tuple[GroupMember, ...]
    coordinator: int


async def describe_group(cluster: Cluster, group_id: str, *, timeout: float) -> GroupDescription:
    """Return what a coordinator says about a group; a group nobody knows is Dead.

    Raises:
        BrokerError: refused.
        TimeoutError: no answer in time.
    """
    request = DescribeGroupsRequest(groups=(group_id,))

    async def attempt(node_id: int) -> GroupDescription:
        answer = await _ask(cluster, node_id, request)
        rows = [row for row in answer.groups if row.group_id == group_id]
        if len(rows) != 1:
            raise DecodeError("DescribeGroups answer", f"{len(rows)} rows for {group_id!r}")
        row = rows[0]
        if row.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
            return GroupDescription(group_id, _DEAD, None, None, (), node_id)
        if row.error_code:
            raise refusal(request.api_key, row.error_code, (group_id,), row.error_message)
        members = tuple(
            GroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                subscription=member.member_metadata,
                assignment=member.member_assignment,
            )
            for member in sorted(row.members, key=lambda member: member.member_id)
        )
        return GroupDescription(
            group_id, row.group_state, row.protocol_type or None, row.protocol_data or None,
            members, node_id,
        )  # fmt: skip

    return await _with_coordinator(cluster, group_id, attempt, timeout=timeout)


async def delete_group(cluster: Cluster, group_id: str, *, timeout: float) -> None:
    """Delete a group without members, and its offsets.

    Raises:
        BrokerError: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND, or refused.
        TimeoutError: no answer in time; it may be deleted.
    """
    request = DeleteGroupsRequest(groups_names=(group_id,))

    async def attempt(node_id: int) -> None:
        answer = await _ask(cluster, node_id, request)
        for row in answer.results:
            if row.error_code:
                raise refusal(request.api_key, row.error_code, (group_id,))

    await _with_coordinator(cluster, group_id, attempt, timeout=timeout)


async def evict_static_member(
    cluster: Cluster, group_id: str, group_instance_id: str, *, reason: str, timeout: float
) -> None:
    """Remove a static member by its instance id, so that nobody waits for its session to end.

    Args:
        cluster: running.
        group_id: name of the group.
        group_instance_id: whom to remove.
        reason: for the coordinator's log (KIP-800).
        timeout: seconds.

    Raises:
        BrokerError: UNKNOWN_MEMBER_ID when there is none, or refused.
        TimeoutError: no answer in time; it may be removed.
    """
    member = MemberIdentity(member_id="", group_instance_id=group_instance_id, reason=reason)
    request = LeaveGroupRequest(group_id=group_id, members=(member,))

    async def attempt(node_id: int) -> None:
        answer = await _ask(cluster, node_id, request)
        for code in (answer.error_code, *(row.error_code for row in answer.members)):
            if code:
                raise refusal(request.api_key, code, (group_id, group_instance_id))

    await _with_coordinator(cluster, group_id, attempt, timeout=timeout)


async def committed_offsets(
    cluster: Cluster,
    group_id: str,
    partitions: Collection[TopicPartition] | None = None,
    *,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    timeout: float,
) -> dict[TopicPartition, OffsetAndMetadata | None]:
    """Return a group's committed positions.

    Args:
        cluster: running.
        group_id: name of the group.
        partitions: which; None for all that have one.
        isolation: READ_COMMITTED waits while a transaction may still change them (KIP-447).
        timeout: seconds.

    Returns:
        A position per partition asked for, None where nothing is committed.

    Raises:
        BrokerError: refused.
        UnsupportedVersionError: READ_COMMITTED, and the coordinator is older than KIP-447.
        TimeoutError: no answer in time.
    """
    group = _offsets_of(cluster, group_id, partitions)
    stable = isolation is IsolationLevel.READ_COMMITTED
    request = OffsetFetchRequest(groups=(group,), require_stable=stable)

    async def attempt(node_id: int) -> dict[TopicPartition, OffsetAndMetadata | None]:
        answer = await _ask(cluster, node_id, request)
        positions = _read_offset_fetch(answer, group_id)
        return {**dict.fromkeys(partitions or ()), **positions}

    return await _with_coordinator(cluster, group_id, attempt, timeout=timeout)


def _offsets_of(
    cluster: Cluster, group_id: str, partitions: Collection[TopicPartition] | None
) -> OffsetFetchRequestGroup:
    by_topic: dict[str, list[int]] = {}
    for tp in sorted(partitions or ()):
        by_topic.setdefault(tp.topic, []).append(tp.partition)
    rows = tuple(
        OffsetFetchRequestTopics(
            name=name,
            topic_id=cluster.view.topic_id(name) or ZERO_UUID,
            partition_indexes=tuple(numbers),
        )
        for name, numbers in by_topic.items()
    )
    topics = None if partitions is None else rows
    return OffsetFetchRequestGroup(group_id=group_id, topics=topics)


def _read_offset_fetch(
    answer: OffsetFetchResponse, group_id: str
) -> dict[TopicPartition, OffsetAndMetadata | None]:
    """Read positions; a negative offset means that nothing is committed.

    Raises:
        BrokerError: the group, or the first partition that has an error.
    """
    positions: dict[TopicPartition, OffsetAndMetadata | None] = {}
    for group in answer.groups:
        if group.error_code:
            raise refusal(ApiKey.OFFSET_FETCH, group.error_code, (group_id,))
        rows = ((topic.name, row) for topic in group.topics for row in topic.partitions)
        for name, row in rows:
            tp = TopicPartition(name, row.partition_index)
            if row.error_code:
                raise refusal(ApiKey.OFFSET_FETCH, row.error_code, (group_id, str(tp)))
            positions[tp] = _position(row)
    return positions


def _position(row: OffsetFetchResponsePartitions) -> OffsetAndMetadata | None:
    if row.committed_offset < 0:
        return None
    epoch = row.committed_leader_epoch
    return OffsetAndMetadata(
        row.committed_offset, row.metadata or "", epoch if epoch >= 0 else None
    )


async def _with_coordinator(
    cluster: Cluster, group_id: str, attempt: Callable[[int], Awaitable[T]], *, timeout: float
) -> T:
    async def find_and_ask() -> T:
        patience = cluster.settings.request_timeout
        found = await find_coordinator(cluster, group_id, timeout=patience)
        return await attempt(found.node_id)

    return await insist(cluster, find_and_ask, timeout=timeout, what=f"group {group_id!r}")


async def _ask(cluster: Cluster, node_id: int, request: Request[R]) -> R:
    timeout = cluster.settings.request_timeout
    return await cluster.send(node_id, request, lane=Lane.CONTROL, timeout=timeout)
