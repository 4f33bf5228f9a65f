"""What one fetch brought of one partition, ready to be handed out.

Decides: which batches of an answer the application sees, and how far the position moves over
offsets without visible records (marks, aborted transactions, compaction).
Never: decompresses before records are taken; merges two answers; hides damage: records before a
damaged batch are handed out, then its error takes its place; moves by a number that was not
checked, or backwards.
KIPs: 74 (an answer with bytes holds a whole batch), 98 (transactions).
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import field
from itertools import islice
from typing import Any

from kgroup.errors import CorruptRecordError, DecodeError
from kgroup.types import Claim
from kgroup.values import dataclass
from kgroup.wire.messages import PartitionData
from kgroup.wire.records import (
    MAX_OUTPUT,
    AbortedTransactions,
    BatchView,
    LogBatch,
    RecordColumns,
    Shape,
    TimestampType,
    iter_batches,
)


@dataclass(slots=True, eq=False)
class Segment:
    """Some neighbouring records of one batch of the log.

    Args:
        columns: all records of the batch.
        start: index of the first one meant.
        stop: index after the last one meant.
        timestamp_type: whether producers or the broker set the timestamps.
        leader_epoch: epoch of the leader that took the batch, None when not known.
    """

    columns: RecordColumns
    start: int
    stop: int
    timestamp_type: TimestampType
    leader_epoch: int | None
    _records: Iterator[Any] | None = None
    _next: Any = None

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def first(self) -> int:
        """Offset of the first record."""
        return self.columns.offsets[self.start]

    @property
    def last(self) -> int:
        """Offset of the last record."""
        return self.columns.offsets[self.stop - 1]

    def below(self, offset: int) -> int:
        """Count the records in front of an offset."""
        return max(self.columns.index_of(offset) - self.start, 0)

    def records(self, shape: Shape, claim: Claim) -> Iterator[Any]:
        """Yield the records as objects.

        Args:
            shape: the class; its constants are topic, partition, `timestamp_type`, `leader_epoch`
                and the claim.
            claim: the period of ownership.
        """
        constants = (*claim.tp, self.timestamp_type, self.leader_epoch, claim)
        return self.columns.records(shape, constants, self.start, self.stop)

    def peek(self, shape: Shape, claim: Claim) -> Any:  # noqa: ANN401 - of the shape's class
        """Return the first record without taking it; see `records`."""
        if self._next is None:
            if self._records is None:
                self._records = self.records(shape, claim)
            self._next = next(self._records)
        return self._next

    def advance(self) -> int:
        """Take the record that `peek` showed; return its offset."""
        offset = self.columns.offsets[self.start]
        self._next = None
        self.start += 1
        return offset

    def split(self, count: int) -> "Segment":
        """Take the first `count` records out."""
        taken = Segment(
            self.columns,
            self.start,
            min(self.start + count, self.stop),
            self.timestamp_type,
            self.leader_epoch,
        )
        self.start = taken.stop
        self._records = self._next = None
        return taken


@dataclass(slots=True, eq=False)
class Chunk:
    """The records of one answer for one partition.

    Args:
        at: next offset to hand out; all records before it are taken, or not visible.
        next_offset: offset after the answer, or of the damage in it, where the next fetch goes on.
        size: bytes it came in, for the prefetch bound.
        leader_epoch: epoch of its last batch, None without one.
        error: the error behind its last batch, None without one.
        max_output: most bytes one batch may inflate to.
        bound: offset below which records may be taken, None for all.
        until: offset at which the chunk ends although more came, None without.
    """

    at: int
    next_offset: int
    size: int
    leader_epoch: int | None = None
    error: DecodeError | None = None
    max_output: int = MAX_OUTPUT
    views: deque[LogBatch] = field(default_factory=deque)
    bound: int | None = None
    until: int | None = None
    _open: Segment | None = None

    def bound_by(self, count: int) -> int:
        """Let no more than the next records be taken; return the offset behind them.

        A bound that was not reached yet stays.

        Args:
            count: most records. Behind those of the first batch only whole batches are taken, which
                need not be opened for it: producers that do not wait write batches of one record.
        """
        if self.bound is None or self.bound <= self.at:
            self.bound = self._behind(count)
        return self.bound

    def _behind(self, count: int) -> int:
        segment = self.head()
        if segment is None:
            return self.next_offset
        left = count - len(segment)
        if left < 0:
            return segment.columns.offsets[segment.start + count - 1] + 1
        end = self.views[0].next_offset
        for view in islice(self.views, 1, None):
            left -= view.count if isinstance(view, BatchView) else view.next_offset - end
            if left < 0:
                return end
            end = view.next_offset
        return self.next_offset

    def head(self) -> Segment | None:
        """Return the records to hand out next, None when there are none left.

        A batch that turns out to be damaged ends the chunk with its error.
        """
        segment = self._open
        if segment is not None and segment.start < segment.stop:
            return segment
        while self._open is None or not len(self._open):
            self._close()
            if not self.views:
                break
            self._open_next()
        return self._open

    def take(self, limit: int | None) -> list[Segment]:
        """Take records out, at most `limit`; none when there are none left."""
        taken: list[Segment] = []
        left = limit
        while (segment := self.head()) is not None and left != 0:
            most = len(segment) if left is None else left
            if self.bound is not None:
                most = min(most, segment.below(self.bound))
            if most == 0:
                break
            part = segment.split(most)
            taken.append(part)
            self.at = part.last + 1
            left = None if left is None else left - len(part)
        return taken

    def advance(self) -> Segment:
        """Take the record that `head().peek()` showed, and return the segment it is from.

        It is below the bound; `at` is now the offset behind it.
        """
        segment = self._open
        assert segment is not None
        self.at = segment.advance() + 1
        assert self.bound is None or self.at <= self.bound
        return segment

    def _close(self) -> None:
        """Move past the last record taken, over offsets without records."""
        if self._open is not None:
            view = self.views.popleft()
            self.at = max(self.at, min(view.next_offset, self.next_offset))
            self._open = None
        if not self.views:
            self.at = max(self.at, self.next_offset)

    def _open_next(self) -> None:
        view = self.views[0]
        try:
            # Decompressed in this thread: the way to another one and back took 0.3 ms and more, by
            # measurement with every codec up to 8 MB, and was never made up for.
            # `read_chunk` has verified the checksum where that is wanted.
            columns = view.columns(check_crc=False, max_output=self.max_output)
        except DecodeError as error:
            self.views.clear()
            self.error, self.next_offset = error, self.at
            return
        kind, epoch = view.timestamp_type, view.leader_epoch
        stop = len(columns) if self.until is None else columns.index_of(self.until)
        self._open = Segment(columns, columns.index_of(self.at), stop, kind, epoch)


def read_chunk(
    data: PartitionData,
    offset: int,
    *,
    committed_only: bool,
    check_crcs: bool,
    max_output: int = MAX_OUTPUT,
    until: int | None = None,
) -> Chunk:
    """Read one partition's part of a Fetch answer.

    Args:
        data: the answer, without an error code.
        offset: the first offset that was asked for; earlier records are no news.
        committed_only: whether aborted transactions are left out.
        check_crcs: whether checksums are verified.
        max_output: most bytes one batch may inflate to.
        until: what lies from this offset on is left out, None to leave out nothing.
    """
    records = _by_itself(data.records or b"")
    chunk = Chunk(at=offset, next_offset=offset, size=len(records), max_output=max_output)
    admits = _visible(data, max_output, committed_only=committed_only)
    view = None
    try:
        for view in iter_batches(records):
            if until is not None and chunk.next_offset >= until:
                break
            if check_crcs:
                view.verify()
            else:
                view.check_figures()
            if view.next_offset <= chunk.next_offset:
                _refuse_backwards(view, chunk.next_offset, offset)
                continue
            if admits(view):
                chunk.views.append(view)
            chunk.next_offset = view.next_offset
            chunk.leader_epoch = view.leader_epoch
        if chunk.size and chunk.next_offset == offset:
            raise _useless(chunk.size, offset, cut_short=view is None)
    except DecodeError as error:
        chunk.error = error
    if until is not None and chunk.next_offset > until:
        chunk.next_offset = chunk.until = max(until, offset)
    return chunk


def _by_itself(records: memoryview | bytes) -> memoryview | bytes:
    """Copy a small part of an answer, so that it does not keep the whole answer in memory.

    1. An answer has a megabyte of one partition and ten bytes of another; 2. only the first is
    read. What is held ready of the other counts as ten bytes, and must cost no more.
    """
    if isinstance(records, memoryview) and 2 * records.nbytes < memoryview(records.obj).nbytes:
        return bytes(records)
    return records


def _useless(size: int, asked: int, *, cut_short: bool) -> CorruptRecordError:
    """Only the last batch of an answer may be cut off: a broker sends the first one whole (N16).

    The first one is the one that holds the offset asked for, or what follows where that is gone:
    what ends in front of it is not where the log says it is (N17).
    """
    reason = f"{size} bytes came, fewer than the first batch says it has"
    if not cut_short:
        reason = f"{size} bytes came, all of batches that end before it"
    return CorruptRecordError(f"the records from offset {asked} on", reason, base_offset=asked)


def _refuse_backwards(view: LogBatch, expected: int, asked: int) -> None:
    """A batch before the offset asked for is normal, one before its neighbour is damage (N17)."""
    if expected > asked:
        raise CorruptRecordError(
            f"the batch at offset {view.base_offset}",
            f"it follows one that ended at {expected - 1}",
            base_offset=view.base_offset,
        )


class _visible:  # noqa: N801 - a function with memory
    """Tells whether an application may see a batch."""

    __slots__ = ("_aborted",)

    def __init__(self, data: PartitionData, max_output: int, *, committed_only: bool) -> None:
        listed = data.aborted_transactions or ()
        self._aborted = (
            AbortedTransactions(
                ((each.producer_id, each.first_offset) for each in listed), max_output=max_output
            )
            if committed_only
            else None
        )

    def __call__(self, view: LogBatch) -> bool:
        return not view.is_control if self._aborted is None else self._aborted.admits(view)
