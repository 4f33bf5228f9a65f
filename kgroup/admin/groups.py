"""Groups and their offsets, seen and edited from outside: delete, evict, committed offsets, lag.

Decides: that each of several members, or of several partitions, has its own outcome; that the lag
    of a group covers the partitions with a commit and those that are assigned to a member.
Never: joins, commits, carries a generation, or waits for a partition without a leader.
KIPs: 229 (delete groups), 345 (evict members), 447 (stable offsets), 709 (OffsetFetch of groups).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import BrokerError, DecodeError
from kgroup.net.admin import describe_topics
from kgroup.net.cluster import Cluster, ClusterView
from kgroup.net.coordinator import ask_node, read_offset_fetch, with_coordinator
from kgroup.net.group_description import GroupDescription, GroupMember, describe_known_group
from kgroup.net.log_offsets import OffsetSpec, list_offsets
from kgroup.net.verdict import Verdict, refusal, verdict
from kgroup.types import IsolationLevel, OffsetAndMetadata, TopicPartition
from kgroup.values import dataclass
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
        errors: why it is not known.
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
    fetched = read_offset_fetch(answer, group_id)
    if fetched.code:
        raise refusal(ApiKey.OFFSET_FETCH, fetched.code, (group_id,))
    for tp in asked:
        if tp not in fetched.partitions:
            raise DecodeError("OffsetFetch answer", f"not exactly one row for {tp}")
    offsets: dict[TopicPartition, OffsetAndMetadata | None] = {}
    errors: dict[TopicPartition, BrokerError] = {}
    for tp, each in fetched.partitions.items():
        if each.code:
            errors[tp] = refusal(ApiKey.OFFSET_FETCH, each.code, (group_id, str(tp)))
        else:
            offsets[tp] = each.committed
    return CommittedOffsets(offsets, errors)


# -- lag -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """One partition of a group.

    Args:
        tp: which.
        committed: the group's position, None where nothing is committed.
        end: offset of the next record of the log, None when not known.
        owner: the member it is assigned to, None for nobody.
        error: why something is not known, None when all is.
    """

    tp: TopicPartition
    committed: OffsetAndMetadata | None
    end: int | None
    owner: GroupMember | None
    error: Exception | None = None

    @property
    def lag(self) -> int | None:
        """Offsets between the commit and the end, None when either is not known."""
        if self.committed is None or self.end is None:
            return None
        return max(self.end - self.committed.offset, 0)


@dataclass(frozen=True, slots=True)
class GroupLag:
    """A group and its partitions.

    Args:
        group: what its coordinator says.
        partitions: in order.
    """

    group: GroupDescription
    partitions: tuple[PartitionLag, ...]

    @property
    def total(self) -> int:
        """The lags that are known, together."""
        return sum(row.lag for row in self.partitions if row.lag is not None)

    @property
    def unknown(self) -> int:
        """How many partitions have no known lag."""
        return sum(row.lag is None for row in self.partitions)


async def group_lag(
    cluster: Cluster, group_id: str, *, topics: Collection[str] = (), timeout: float
) -> GroupLag:
    """Return how far a group is behind.

    Args:
        cluster: running.
        group_id: name of the group.
        topics: show all partitions of these and of no others; none for whatever the group has.
        timeout: seconds for each of the questions it takes.

    Raises:
        BrokerError: there is no such group or topic (the error has the nearest name); or refused.
        TimeoutError: no answer in time.
    """
    group = await describe_known_group(cluster, group_id, timeout=timeout)
    committed = await ask_committed(cluster, group_id, timeout=timeout)
    owners = {tp: member for member in group.members or () for tp in member.partitions or ()}
    wanted = owners.keys() | committed.offsets.keys() | committed.errors.keys()
    if topics:
        known = await describe_topics(cluster, topics, timeout=timeout)
        named = {TopicPartition(name, n) for name, topic in known.items() for n in topic.partitions}
        wanted = named | {tp for tp in wanted if tp.topic in known}
    ends, errors = await _ends(cluster, wanted, timeout)
    rows = (
        PartitionLag(
            tp=tp,
            committed=committed.offsets.get(tp),
            end=ends.get(tp),
            owner=owners.get(tp),
            error=committed.errors.get(tp) or errors.get(tp),
        )
        for tp in sorted(wanted)
    )
    return GroupLag(group, tuple(rows))


async def _ends(
    cluster: Cluster, wanted: Collection[TopicPartition], timeout: float
) -> tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, Exception]]:
    """Return the ends of logs that have a leader, and why each of the others has none."""
    if not wanted:
        return {}, {}
    names = frozenset(tp.topic for tp in wanted)
    view = await cluster.look_up(names, timeout=timeout)
    errors: dict[TopicPartition, Exception] = {}
    for tp in wanted:
        code = _trouble(view, tp)
        if code:
            errors[tp] = refusal(ApiKey.METADATA, code, (str(tp),))
    led = [tp for tp in wanted if tp not in errors]
    listed = await list_offsets(cluster, dict.fromkeys(led, OffsetSpec.LATEST), timeout=timeout)
    errors.update(listed.errors)
    return {tp: at.offset for tp, at in listed.offsets.items() if at is not None}, errors


def _trouble(view: ClusterView, tp: TopicPartition) -> int:
    """Return the error that makes a question about a log's end useless, 0 for none."""
    topic = view.topics.get(tp.topic)
    if topic is None or topic.error:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else topic.error
    if tp.partition not in topic.partitions:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE if view.leader(tp) is not None else ErrorCode.LEADER_NOT_AVAILABLE
