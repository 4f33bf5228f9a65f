"""How far a group is behind: committed positions beside the ends of the logs, and who owns what.

Decides: which partitions belong to a group: those with a commit and those a member is assigned.
A partition that cannot be answered says why and hides no other.
Never: joins, commits, or waits for a partition without a leader.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kgroup.admin.groups import ask_committed
from kgroup.codes import ApiKey, ErrorCode
from kgroup.net.admin import describe_topics
from kgroup.net.cluster import Cluster, ClusterView
from kgroup.net.group_description import GroupDescription, GroupMember, describe_known_group
from kgroup.net.log_offsets import OffsetSpec, list_offsets
from kgroup.net.verdict import refusal
from kgroup.types import OffsetAndMetadata, TopicPartition

__all__ = ["GroupLag", "PartitionLag", "group_lag"]


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
        BrokerError: there is no such group or topic, the nearest name is told; or refused.
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
