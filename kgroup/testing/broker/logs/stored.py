"""One batch as a log keeps it: its bytes, and the figures that searching needs.

Decides: what a broker changes of a batch before it keeps it: base offset and leader epoch, which
the checksum does not cover, and the timestamps where the topic says so.
Never: reads the records of a batch that no request asked about.

Epochs: Leader epochs of one log: which began where (KIP-101, KIP-279, KIP-320). Decides: where an
epoch ends. Never: fences anybody; the handlers compare epochs of requests.
"""

import struct
from bisect import bisect_right
from collections.abc import Collection
from dataclasses import field
from typing import Final, NamedTuple

from kgroup.values import dataclass
from kgroup.wire.compression import compress
from kgroup.wire.records import (
    BatchHeader,
    BatchView,
    ControlType,
    NewRecord,
    RecordColumns,
    TimestampType,
    iter_batches,
)
from kgroup.wire.records import header as layout
from kgroup.wire.records.encode import encode_record, seal

_MARK_KEY: Final = struct.Struct(">hh")  # version, type
_MARK_VALUE: Final = struct.Struct(">hi")  # version, coordinator epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBatch:
    """A stretch of the log that is read as one.

    Args:
        base_offset: of its first record when it was written.
        last_offset: of its last one then.
        epoch: leader epoch it was written in.
        max_timestamp: milliseconds, None when unknown or absent.
        data: the bytes that a fetch hands out.
        is_readable: whether `data` is one batch of magic 2; False for what a test laid there.
    """

    base_offset: int
    last_offset: int
    epoch: int
    max_timestamp: int | None
    data: bytes
    is_readable: bool = True

    @property
    def view(self) -> BatchView:
        """The batch, read."""
        return BatchView(layout.unpack_header(memoryview(self.data), 0), memoryview(self.data))

    def columns(self) -> RecordColumns | None:
        """Return the records; None when the bytes are not one batch of magic 2."""
        return self.view.columns(check_crc=False) if self.is_readable else None


def stamped(
    batch: BatchView, *, base_offset: int, epoch: int, append_time: int | None, max_timestamp: int
) -> StoredBatch:
    """Make a batch the broker's own.

    Args:
        batch: as a producer sent it, checked.
        base_offset: where it goes.
        epoch: of the leader.
        append_time: milliseconds, set for all records (KIP-32); None = their own stay.
        max_timestamp: the latest of its records; what the producer claims does not count.
    """
    latest = max_timestamp if append_time is None else append_time
    attributes = batch.header.attributes & ~layout.LOG_APPEND_TIME
    if append_time is not None:
        attributes |= layout.LOG_APPEND_TIME
    header = batch.header._replace(base_offset=base_offset, partition_leader_epoch=epoch)
    if (attributes, latest) == (header.attributes, header.max_timestamp):
        data = layout.pack_header(header) + batch.data[layout.HEADER_SIZE :]
    else:
        header = header._replace(attributes=attributes, max_timestamp=latest)
        data = seal(header, bytes(batch.data[layout.HEADER_SIZE :]))
    return StoredBatch(
        base_offset=base_offset,
        last_offset=base_offset + header.last_offset_delta,
        epoch=epoch,
        max_timestamp=None if latest < 0 else latest,
        data=data,
    )


def mark(producer_id: int, producer_epoch: int, *, committed: bool, now_ms: int) -> BatchView:
    """Write the control batch that ends a transaction (KIP-98).

    Args:
        producer_id: of the producer whose transaction it is.
        producer_epoch: with which the producer goes on.
        committed: or aborted.
        now_ms: milliseconds since the epoch.
    """
    key = _MARK_KEY.pack(0, ControlType.COMMIT if committed else ControlType.ABORT)
    record = NewRecord(key, _MARK_VALUE.pack(0, 0))
    header = BatchHeader(
        attributes=layout.TRANSACTIONAL | layout.CONTROL,
        base_timestamp=now_ms,
        max_timestamp=now_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        record_count=1,
    )
    data = memoryview(seal(header, encode_record(record, offset_delta=0, timestamp_delta=0)))
    return BatchView(layout.unpack_header(data, 0), data)


def without(stored: StoredBatch, offsets: Collection[int]) -> StoredBatch:
    """Leave records out as compaction does: the others and the bounds stay (KIP-98).

    Args:
        stored: of magic 2.
        offsets: to leave out; others than the batch's do not matter.
    """
    view = stored.view
    columns = view.columns(check_crc=False)
    kept = [row for row in columns if row[0] not in offsets]
    if len(kept) == len(columns):
        return stored
    body = b"".join(
        encode_record(
            NewRecord(key, value, headers),
            offset_delta=offset - stored.base_offset,
            timestamp_delta=_delta(view, timestamp),
        )
        for offset, timestamp, key, value, headers in kept
    )
    packed = compress(view.codec, body) if kept else b""
    return StoredBatch(
        base_offset=stored.base_offset,
        last_offset=stored.last_offset,
        epoch=stored.epoch,
        max_timestamp=stored.max_timestamp,
        data=seal(view.header._replace(record_count=len(kept)), packed),
    )


def _delta(view: BatchView, timestamp: int) -> int:
    if view.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return 0
    return timestamp - view.header.base_timestamp


def read_batch(data: bytes | memoryview) -> BatchView | None:
    """Read bytes that ought to be one whole batch of magic 2; None when they are not.

    Raises:
        CorruptRecordError: a length that cannot be one.
        UnsupportedCodecError: an unknown magic.
    """
    batches = list(iter_batches(data))
    if len(batches) != 1 or not isinstance(batches[0], BatchView):
        return None
    return batches[0]


# -- epochs ----------------------------------------------------------------------------------------


class EpochStart(NamedTuple):
    """One entry of a broker's leader epoch checkpoint: an epoch, and its first offset."""

    epoch: int
    start: int


@dataclass(slots=True)
class Epochs:
    """The epochs of one log, rising in both figures.

    Args:
        entries: first to latest.
    """

    entries: list[EpochStart] = field(default_factory=list)

    @property
    def latest(self) -> int | None:
        """The latest epoch, None before the first."""
        return self.entries[-1].epoch if self.entries else None

    def begin(self, epoch: int, start: int) -> None:
        """Note that an epoch begins at an offset; one that has begun already changes nothing.

        An epoch in which nothing was written is forgotten as soon as the next begins.
        """
        if self.entries and epoch <= self.entries[-1].epoch:
            return
        self.cut_from(start)
        self.entries.append(EpochStart(epoch, start))

    def end_of(self, epoch: int, log_end: int) -> EpochStart | None:
        """Find the largest epoch that is not above the one asked about, and where it ends.

        Args:
            epoch: asked about.
            log_end: where the latest epoch ends.

        Returns:
            The epoch and its end; None when the epoch lies above all that are known.
        """
        if not self.entries or epoch > self.entries[-1].epoch:
            return None
        if epoch == self.entries[-1].epoch:
            return EpochStart(epoch, log_end)
        above = bisect_right(self.entries, epoch, key=lambda entry: entry.epoch)
        end = self.entries[above].start
        return EpochStart(self.entries[above - 1].epoch if above else epoch, end)

    def at(self, offset: int) -> int | None:
        """Return the epoch in which an offset was or would be written."""
        above = bisect_right(self.entries, offset, key=lambda entry: entry.start)
        return self.entries[above - 1].epoch if above else None

    def cut_from(self, offset: int) -> None:
        """Forget the epochs that begin at or after an offset."""
        self.entries = [entry for entry in self.entries if entry.start < offset]

    def cut_before(self, offset: int) -> None:
        """Let the epoch of an offset begin there, and forget those before it."""
        gone = [entry for entry in self.entries if entry.start <= offset]
        if gone:
            first = EpochStart(gone[-1].epoch, offset)
            self.entries = [first, *self.entries[len(gone) :]]
