"""The log of one partition, as its leader has it and every replica sees it.

Decides: what is appended, where it goes and how it can be read; how far a consumer may read: to the
high watermark, or to the last stable offset (KIP-98).
Never: knows the leader, or answers a request; a log outlives its leaders.

A partition has one log, whatever its replicas: followers are as far as the leader, unless a test
holds the high watermark back (`hold_back`).
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping

from kgroup.codes import ErrorCode
from kgroup.errors import CorruptRecordError, UnsupportedCodecError
from kgroup.testing.broker.agenda import Bell
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.logs.checks import Refusal, Rules, check
from kgroup.testing.broker.logs.producers import AbortedTransaction, Producers, Remembered
from kgroup.testing.broker.logs.stored import (
    Epochs,
    EpochStart,
    StoredBatch,
    mark,
    read_batch,
    stamped,
    without,
)
from kgroup.values import dataclass
from kgroup.wire.records import BatchView


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendResult:
    """What became of a batch.

    Args:
        code: 0 when it is in the log.
        base_offset: of its first record; None when it was refused.
        last_offset: of its last record; None when it was refused.
        append_time: milliseconds, None when the records keep their own timestamps.
        is_duplicate: it was there before, at these offsets.
        message: why it was refused, None for the code's own words.
        record_errors: index and message of each record at fault.
    """

    code: ErrorCode = ErrorCode.NONE
    base_offset: int | None = None
    last_offset: int | None = None
    append_time: int | None = None
    is_duplicate: bool = False
    message: str | None = None
    record_errors: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A record that a search by time has found.

    Args:
        timestamp: milliseconds.
        offset: of the record.
        epoch: leader epoch it was written in.
    """

    timestamp: int
    offset: int
    epoch: int


class Log:
    """One partition's log.

    Args:
        context: of the cluster.
        configs: of the topic, by Kafka's names; looked at anew at each append.

    Public, to look at: `start` (first offset that may be read), `batches` (what is stored, in
    order), `epochs`, `producers`, `bell` (rung when a waiting fetch may see more), `held_at` (where
    the high watermark is held back, None for nowhere).
    """

    def __init__(self, context: Context, configs: Mapping[str, str] | None = None) -> None:
        self.configs: Mapping[str, str] = {} if configs is None else configs
        self.start: int = 0
        self.batches: list[StoredBatch] = []
        self.epochs: Epochs = Epochs()
        self.producers: Producers = Producers()
        self.bell: Bell = Bell()
        self.held_at: int | None = None
        self._context = context
        self._lasts: list[int] = []  # last offset of each batch, to bisect
        self._end = 0

    # -- ends ------------------------------------------------------------------------------------

    @property
    def end(self) -> int:
        """Offset that the next record gets: the log end offset."""
        return self._end

    @property
    def high_watermark(self) -> int:
        """Where the records end that all replicas in sync have."""
        return self._end if self.held_at is None else max(min(self._end, self.held_at), self.start)

    @property
    def last_stable_offset(self) -> int:
        """Where read_committed ends: before the first transaction that is open."""
        replicated = self.high_watermark
        unstable = self.producers.first_unstable(replicated)
        return replicated if unstable is None else max(min(unstable, replicated), self.start)

    def hold_back(self, offset: int | None) -> None:
        """Keep the high watermark from going beyond an offset, as a slow follower does.

        Args:
            offset: None lets it go to the end again.
        """
        self.held_at = offset
        self.bell.ring()

    def begin_epoch(self, epoch: int) -> None:
        """Note that a leader of this epoch begins to write at the end; rings the bell."""
        self.epochs.begin(epoch, self._end)
        self.bell.ring()

    # -- writing ---------------------------------------------------------------------------------

    def append(self, batch: bytes | memoryview, *, epoch: int, now_ms: int) -> AppendResult:
        """Take a batch of a producer.

        Args:
            batch: one batch of magic 2, as a Produce request carries it.
            epoch: of the leader.
            now_ms: the leader's calendar, milliseconds since the epoch.

        Returns:
            Where it is, or why it is not; a refused one changes nothing.
        """
        try:
            view = read_batch(batch)
        except (CorruptRecordError, UnsupportedCodecError) as error:
            return AppendResult(code=ErrorCode.CORRUPT_MESSAGE, message=str(error))
        if view is None:
            text = "Produce requests with version 3 and above take exactly one batch of magic 2"
            return AppendResult(code=ErrorCode.INVALID_RECORD, message=text)
        rules = Rules.of(self.configs, self._context.settings.max_message_bytes)
        columns = check(view, rules, now_ms)
        if isinstance(columns, Refusal):
            return AppendResult(
                code=columns.code, message=columns.message, record_errors=columns.records
            )
        if view.producer_id is not None:
            known = self.producers.duplicate(view)
            if known is not None:
                return _repeated(known)
            code = self.producers.refusal(view)
            if code:
                return AppendResult(code=code)
        append_time = now_ms if rules.stamps_appends else None
        return self._store(view, epoch, append_time, max(columns.timestamps))

    def append_control(
        self, producer_id: int, producer_epoch: int, *, committed: bool, epoch: int, now_ms: int
    ) -> AppendResult:
        """Append the mark that ends a producer's transaction, whether or not one is open here.

        Args:
            producer_id: of the producer.
            producer_epoch: fences everything older in this log.
            committed: or aborted.
            epoch: of the leader.
            now_ms: the leader's calendar.
        """
        known = self.producers.by_id.get(producer_id)
        if known is not None and producer_epoch < known.epoch:
            return AppendResult(code=ErrorCode.INVALID_PRODUCER_EPOCH)
        batch = mark(producer_id, producer_epoch, committed=committed, now_ms=now_ms)
        return self._store(batch, epoch, None, now_ms)

    def append_raw(self, data: bytes, *, offsets: int, epoch: int) -> int:
        """Lay bytes into the log as they are: an older format, a damaged batch, anything.

        Nothing is checked, stamped or noted of a producer; what is to say the right offsets inside
        has to be written for `end`.

        Args:
            data: what a fetch of these offsets hands out.
            offsets: how many offsets they take, at least 1.
            epoch: of the leader.

        Returns:
            The first of these offsets.
        """
        base = self._end
        self._keep(
            StoredBatch(
                base_offset=base,
                last_offset=base + offsets - 1,
                epoch=epoch,
                max_timestamp=None,
                data=data,
                is_readable=False,
            )
        )
        return base

    def _store(
        self, batch: BatchView, epoch: int, append_time: int | None, max_timestamp: int
    ) -> AppendResult:
        stored = stamped(
            batch,
            base_offset=self._end,
            epoch=epoch,
            append_time=append_time,
            max_timestamp=max_timestamp,
        )
        self.producers.observe(stored.view)
        self._keep(stored)
        return AppendResult(
            base_offset=stored.base_offset,
            last_offset=stored.last_offset,
            append_time=append_time,
        )

    def _keep(self, stored: StoredBatch) -> None:
        self.epochs.begin(stored.epoch, stored.base_offset)
        self.batches.append(stored)
        self._lasts.append(stored.last_offset)
        self._end = stored.last_offset + 1
        self.bell.ring()

    # -- reading ---------------------------------------------------------------------------------

    def read(self, offset: int, max_bytes: int, *, upto: int, at_least_one: bool = True) -> bytes:
        """Return whole batches, from the one that contains an offset on.

        Args:
            offset: from where; in a gap, the next batch is the first.
            max_bytes: most bytes.
            upto: offset before which the last batch has to end.
            at_least_one: return the first batch even if it alone has more bytes.
        """
        taken: list[bytes] = []
        for stored in self.batches_from(offset, upto):
            max_bytes -= len(stored.data)
            if max_bytes < 0 and (taken or not at_least_one):
                break
            taken.append(stored.data)
        return taken[0] if len(taken) == 1 else b"".join(taken)

    def batches_from(self, offset: int, upto: int) -> Iterator[StoredBatch]:
        """Yield batches from the one that contains an offset on, up to the last that ends below
        another offset.
        """
        for index in range(bisect_left(self._lasts, offset), len(self.batches)):
            if self._lasts[index] >= upto:
                return
            yield self.batches[index]

    def aborted_between(self, offset: int, upto: int) -> list[AbortedTransaction]:
        """List aborted transactions that reach into a stretch of offsets.

        Args:
            offset: its first.
            upto: the one after its last.
        """
        return [
            each
            for each in self.producers.aborted
            if each.last_offset >= offset and each.first_offset < upto
        ]

    def offset_for_time(self, milliseconds: int) -> Found | None:
        """Find the first record that is not older than a time; marks count as records."""
        for stored in self.batches_from(self.start, self._end):
            if stored.max_timestamp is not None and stored.max_timestamp >= milliseconds:
                found = _first_since(stored, milliseconds, self.start)
                if found is not None:
                    return found
        return None

    def offset_of_max_timestamp(self) -> Found | None:
        """Find the first record that has the latest timestamp of all (KIP-734)."""
        latest = max(
            (stored.max_timestamp for stored in self.batches if stored.max_timestamp is not None),
            default=None,
        )
        return None if latest is None else self.offset_for_time(latest)

    def end_of_epoch(self, epoch: int) -> EpochStart | None:
        """Find the largest epoch not above the one asked about, and where it ends (KIP-101).

        Returns:
            None when the epoch lies above all that wrote here, or led without writing.
        """
        return self.epochs.end_of(epoch, self._end)

    # -- cutting ---------------------------------------------------------------------------------

    def delete_before(self, offset: int) -> None:
        """Let the log begin at an offset, which may be in the middle of a batch (KIP-107).

        Args:
            offset: one before `start` changes nothing; not beyond `end`.
        """
        if offset <= self.start:
            return
        self.start = min(offset, self._end)
        gone = bisect_left(self._lasts, self.start)
        del self.batches[:gone], self._lasts[:gone]
        self.epochs.cut_before(self.start)
        self.bell.ring()

    def truncate(self, offset: int) -> None:
        """Lose what a new leader does not have: every batch that reaches an offset or lies after.

        Args:
            offset: not before `start`. In the middle of a batch, the batch goes as a whole.
        """
        kept = bisect_left(self._lasts, offset)
        if kept < len(self.batches):
            self._end = max(self.batches[kept].base_offset, self.start)
            del self.batches[kept:], self._lasts[kept:]
        else:
            self._end = min(self._end, max(offset, self.start))
        self.epochs.cut_from(self._end)
        self._recall()
        self.bell.ring()

    def remove(self, offsets: Collection[int], *, keeps_empty: bool = False) -> None:
        """Leave records out as compaction does; their offsets are never given again.

        Args:
            offsets: of the records; those of unreadable bytes do not matter.
            keeps_empty: whether a batch that has lost all its records stays, with none; as one does
                that is its producer's latest.
        """
        left: list[StoredBatch] = []
        for stored in self.batches:
            thinned = without(stored, offsets) if stored.is_readable else stored
            if keeps_empty or not thinned.is_readable or thinned.view.count:
                left.append(thinned)
        self.batches = left
        self._lasts = [stored.last_offset for stored in left]
        self.bell.ring()

    def _recall(self) -> None:
        """Read what is known of producers from the log again."""
        self.producers = Producers()
        for stored in self.batches:
            if stored.is_readable:
                self.producers.observe(stored.view)


def _repeated(known: Remembered) -> AppendResult:
    return AppendResult(
        base_offset=known.base_offset,
        last_offset=known.last_offset,
        append_time=known.timestamp,
        is_duplicate=True,
    )


def _first_since(stored: StoredBatch, milliseconds: int, start: int) -> Found | None:
    columns = stored.columns()
    if columns is None:
        return None
    for offset, timestamp in zip(columns.offsets, columns.timestamps, strict=True):
        if timestamp >= milliseconds and offset >= start:
            return Found(timestamp, offset, stored.epoch)
    return None
