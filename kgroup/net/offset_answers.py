"""What an OffsetFetch answer says about one group, partition by partition.

Decides: what counts as an answer about a partition: exactly one row, in exactly one part about
the group (N13). A negative offset is "nothing committed": brokers accept such commits.
Never: decides what an error code means; takes silence for "nothing committed".
KIPs: 320 (leader epochs), 709 (several groups in one answer).
"""

from collections import Counter
from dataclasses import dataclass, field

from kgroup.codes import ErrorCode
from kgroup.errors import DecodeError
from kgroup.types import OffsetAndMetadata, TopicPartition
from kgroup.wire.messages import OffsetFetchResponse, OffsetFetchResponsePartitions

__all__ = ["FetchedOffset", "FetchedOffsets", "read_offset_fetch"]


@dataclass(frozen=True, slots=True)
class FetchedOffset:
    """What a coordinator said about one partition.

    Args:
        code: error code, 0 without one.
        committed: the offset; None when nothing is committed, or an error instead.
    """

    code: int
    committed: OffsetAndMetadata | None


@dataclass(frozen=True, slots=True)
class FetchedOffsets:
    """What a coordinator said about a group.

    Args:
        code: error code of the group, 0 without one; then there are no partitions.
        partitions: those it named exactly once.
    """

    code: int
    partitions: dict[TopicPartition, FetchedOffset] = field(default_factory=dict)


def read_offset_fetch(answer: OffsetFetchResponse, group_id: str) -> FetchedOffsets:
    """Read an answer.

    Raises:
        DecodeError: it has not exactly one part about the group.
    """
    groups = [each for each in answer.groups if each.group_id == group_id]
    if len(groups) != 1:
        reason = f"{len(groups)} parts about group {group_id!r}"
        raise DecodeError("OffsetFetch answer", reason)
    if groups[0].error_code:
        return FetchedOffsets(groups[0].error_code)
    rows = [
        (TopicPartition(topic.name, row.partition_index), row)
        for topic in groups[0].topics
        for row in topic.partitions
    ]
    times = Counter(tp for tp, _ in rows)
    return FetchedOffsets(ErrorCode.NONE, {tp: _read(row) for tp, row in rows if times[tp] == 1})


def _read(row: OffsetFetchResponsePartitions) -> FetchedOffset:
    if row.error_code or row.committed_offset < 0:
        return FetchedOffset(row.error_code, None)
    epoch = None if row.committed_leader_epoch < 0 else row.committed_leader_epoch
    return FetchedOffset(
        ErrorCode.NONE, OffsetAndMetadata(row.committed_offset, row.metadata or "", epoch)
    )
