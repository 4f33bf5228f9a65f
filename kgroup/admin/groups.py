"""What is done to a group, and asked about its offsets, by somebody who is no member.

Decides: that of several members, or of several partitions, each has its own outcome.
Never: joins, commits, or carries a generation.
KIPs: 229 (delete groups), 345 (evict members), 447 (stable offsets), 709 (OffsetFetch of groups).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from kgroup.codes import ApiKey
from kgroup.errors import BrokerError, DecodeError
from kgroup.net.cluster import Cluster
from kgroup.net.coordinator import ask_node, read_offset_fetch, with_coordinator
from kgroup.net.verdict import Verdict, refusal, verdict
from kgroup.types import IsolationLevel, OffsetAndMetadata, TopicPartition
from kgroup.wire.messages import (
    DeleteGroupsRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from kgroup.wire.vocabulary import ZERO_UUID

__all__ = [
    "CommittedOffsets",
    "Eviction",
    "ask_committed",
    "committed_offsets",
    "delete_group",
    "evict_members",
]


async def delete_group(cluster: Cluster, group_id: str, *, timeout: float) -> None:
    """Delete a group without members, and its offsets.

    Raises:
        BrokerError: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND, or refused.
        TimeoutError: no answer in time; it may be deleted.
    """
    request = DeleteGroupsRequest(groups_names=(group_id,))

    async def attempt(node_id: int) -> None:
        answer = await ask_node(cluster, node_id, request)
        for row in answer.results:
            if row.error_code:
                raise refusal(request.api_key, row.error_code, (group_id,))

    await with_coordinator(cluster, group_id, attempt, timeout=timeout)


@dataclass(frozen=True, slots=True)
class Eviction:
    """One member that shall go, and what became of it.

    Args:
        member_id: its id, None when it is named by its instance id.
        group_instance_id: its static identity, None when it is named by its member id.
        error: why it was not removed, None when it was; UNKNOWN_MEMBER_ID: it is no member.
    """

    member_id: str | None = None
    group_instance_id: str | None = None
    error: BrokerError | None = None

    def __str__(self) -> str:
        if self.group_instance_id is not None:
            return f"instance {self.group_instance_id!r}"
        return f"member {self.member_id!r}"


async def evict_members(
    cluster: Cluster, group_id: str, leavers: Sequence[Eviction], *, reason: str, timeout: float
) -> tuple[Eviction, ...]:
    """Remove members, so that nobody waits for their sessions to end (KIP-345).

    An attempt whose answer was lost is repeated, so a member may be told to be unknown because
    the first attempt removed it.

    Args:
        cluster: running.
        group_id: name of the group.
        leavers: each named by its instance id or by its member id.
        reason: for the coordinator's log (KIP-800).
        timeout: seconds.

    Returns:
        What became of each, in the same order.

    Raises:
        BrokerError: the group is refused as a whole.
        UnsupportedVersionError: several at once, and the coordinator is older than KIP-345.
        TimeoutError: no answer in time; they may be removed.
    """
    rows = tuple(
        MemberIdentity(
            member_id=one.member_id or "", group_instance_id=one.group_instance_id, reason=reason
        )
        for one in leavers
    )
    request = LeaveGroupRequest(group_id=group_id, members=rows)

    async def attempt(node_id: int) -> tuple[Eviction, ...]:
        answer = await ask_node(cluster, node_id, request)
        if answer.error_code:
            raise refusal(request.api_key, answer.error_code, (group_id,))
        return tuple(_fate(group_id, one, answer) for one in leavers)

    return await with_coordinator(cluster, group_id, attempt, timeout=timeout)


def _fate(group_id: str, one: Eviction, answer: LeaveGroupResponse) -> Eviction:
    if one.group_instance_id is not None:
        rows = [row for row in answer.members if row.group_instance_id == one.group_instance_id]
    else:
        rows = [row for row in answer.members if row.member_id == one.member_id]
    if len(rows) != 1:
        raise DecodeError("LeaveGroup answer", f"{len(rows)} rows for {one}")
    code = rows[0].error_code
    error = refusal(ApiKey.LEAVE_GROUP, code, (group_id, str(one))) if code else None
    return replace(one, error=error)


@dataclass(frozen=True, slots=True)
class CommittedOffsets:
    """What became of each partition asked about; every one is in exactly one of the two.

    Args:
        offsets: what is committed, None where nothing is.
        errors: why it cannot be told.
    """

    offsets: Mapping[TopicPartition, OffsetAndMetadata | None]
    errors: Mapping[TopicPartition, BrokerError]


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
        BrokerError: refused, as a whole or for one partition.
        UnsupportedVersionError: READ_COMMITTED, and the coordinator is older than KIP-447.
        TimeoutError: no answer in time.
    """
    found = await ask_committed(cluster, group_id, partitions, isolation=isolation, timeout=timeout)
    for tp in sorted(found.errors):
        raise found.errors[tp]
    return dict(found.offsets)


async def ask_committed(
    cluster: Cluster,
    group_id: str,
    partitions: Collection[TopicPartition] | None = None,
    *,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    timeout: float,
) -> CommittedOffsets:
    """Return a group's committed positions; a partition that was refused hides no other.

    A refusal that may pass is asked again until the time is up.

    Args, Raises:
        As `committed_offsets`; BrokerError is about the group as a whole.
    """
    group = _offsets_of(cluster, group_id, partitions)
    stable = isolation is IsolationLevel.READ_COMMITTED
    request = OffsetFetchRequest(groups=(group,), require_stable=stable)

    last: CommittedOffsets | None = None

    async def attempt(node_id: int) -> CommittedOffsets:
        nonlocal last
        answer = await ask_node(cluster, node_id, request)
        last = _read(answer, group_id, partitions or ())
        for error in last.errors.values():
            if verdict(ApiKey.OFFSET_FETCH, error.code) is not Verdict.REFUSED:
                raise error
        return last

    try:
        return await with_coordinator(cluster, group_id, attempt, timeout=timeout)
    except TimeoutError:
        if last is None:
            raise
        return last


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


def _read(
    answer: OffsetFetchResponse, group_id: str, asked: Collection[TopicPartition]
) -> CommittedOffsets:
    """Read positions.

    Raises:
        BrokerError: the group is refused.
        DecodeError: the answer is not about the group, or leaves out what was asked (N13).
    """
    told = read_offset_fetch(answer, group_id)
    if told.code:
        raise refusal(ApiKey.OFFSET_FETCH, told.code, (group_id,))
    for tp in asked:
        if tp not in told.partitions:
            raise DecodeError("OffsetFetch answer", f"not exactly one row for {tp}")
    offsets: dict[TopicPartition, OffsetAndMetadata | None] = {}
    errors: dict[TopicPartition, BrokerError] = {}
    for tp, each in told.partitions.items():
        if each.code:
            errors[tp] = refusal(ApiKey.OFFSET_FETCH, each.code, (group_id, str(tp)))
        else:
            offsets[tp] = each.committed
    return CommittedOffsets(offsets, errors)
