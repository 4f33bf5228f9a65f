"""What the answer to a fetch says about one partition.

Decides: the fields of an answer with records, without, and with an error; how stored bytes are cut.
Never: judges whether somebody may read.

KIPs: 74 (the first batch is handed out whole, however large), 98 (isolation).
"""

from collections.abc import Iterable

from kgroup.codes import ErrorCode
from kgroup.testing.broker.fetching.terms import Terms
from kgroup.testing.broker.logs.log import Log
from kgroup.testing.broker.logs.stored import StoredBatch
from kgroup.wire.messages import (
    AbortedTransaction,
    FetchEpochEndOffset,
    FetchLeaderIdAndEpoch,
    FetchPartition,
    PartitionData,
)

__all__ = ["records_row", "refused", "stored_bytes", "told", "unknown"]


def refused(
    partition: int, code: ErrorCode, current_leader: FetchLeaderIdAndEpoch | None = None
) -> PartitionData:
    """Make the answer for a partition whose reading failed."""
    return PartitionData(
        partition_index=partition,
        error_code=code,
        high_watermark=-1,
        current_leader=current_leader or FetchLeaderIdAndEpoch(),
        aborted_transactions=None,
        records=b"",
    )


def unknown(partition: int, code: ErrorCode) -> PartitionData:
    """Make the answer for a partition that does not exist; its list is empty, not null."""
    return PartitionData(
        partition_index=partition,
        error_code=code,
        high_watermark=-1,
        aborted_transactions=(),
        records=b"",
    )


def stored_bytes(
    batches: Iterable[StoredBatch], max_bytes: int, *, whole: bool
) -> bytes | memoryview:
    """Return stored bytes as a broker cuts them: by size, through the last batch if need be.

    Args:
        batches: what may be read.
        max_bytes: at least 0.
        whole: whether the first batch is returned even if it alone has more bytes (KIP-74);
            otherwise it is not begun.
    """
    parts: list[bytes | memoryview] = []
    left = max_bytes
    for stored in batches:
        data = stored.data
        if not parts:
            if not whole and len(data) > left:
                return b""
            left = max(left, len(data))
        parts.append(data if len(data) <= left else memoryview(data)[:left])
        left -= len(data)
        if left <= 0:
            break
    return parts[0] if len(parts) == 1 else b"".join(parts)


def told(
    row: FetchPartition,
    log: Log,
    *,
    preferred_read_replica: int = -1,
    diverging_epoch: FetchEpochEndOffset | None = None,
) -> PartitionData:
    """Make an answer without records."""
    return PartitionData(
        partition_index=row.partition,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.start,
        diverging_epoch=diverging_epoch or FetchEpochEndOffset(),
        aborted_transactions=None,
        preferred_read_replica=preferred_read_replica,
        records=b"",
    )


def records_row(
    terms: Terms, log: Log, row: FetchPartition, max_bytes: int, *, whole: bool
) -> PartitionData:
    """Make an answer with what is stored from the offset on, as far as may be read.

    Args:
        terms: of the fetch.
        log: of the partition; the offset lies in it.
        row: what is asked for.
        max_bytes: a negative one is a broker's unknown error, as soon as there is a record.
        whole: see `stored_bytes`.
    """
    limit = terms.limit_in(log)
    offset = row.fetch_offset
    records: bytes | memoryview = b""
    aborted: tuple[AbortedTransaction, ...] | None = () if terms.read_committed else None
    if offset < limit:
        if max_bytes < 0:
            return refused(row.partition, ErrorCode.UNKNOWN_SERVER_ERROR)
        records = stored_bytes(log.batches_from(offset, limit), max_bytes, whole=whole)
        if terms.read_committed:
            aborted = tuple(
                AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset)
                for one in log.aborted_between(offset, log.end)
            )
    return PartitionData(
        partition_index=row.partition,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.start,
        aborted_transactions=aborted,
        records=records,
    )
