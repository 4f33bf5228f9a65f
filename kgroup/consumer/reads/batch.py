"""A batch: neighbouring records of one partition, in the application's hands.

Decides: the three ways to look at the records (one by one, values only, columns) and the ways to
say that they are done: asking for the next batch, `done()`, or leaving `async with batch`.
Never: counts a batch as done because it was collected; keeps the answer it came in alive longer
than it lives itself.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from operator import length_hint
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import anyio

from kgroup.consumer.buffer.chunk import Segment
from kgroup.consumer.buffer.delivery import Delivery, TakenRecords
from kgroup.consumer.reads.record import RECORD, Formats, Record, raw
from kgroup.errors import DeserializationError
from kgroup.offsets.ledger import Handout
from kgroup.types import Claim, Generation, TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa

K = TypeVar("K")
V = TypeVar("V")


class Batch(Generic[K, V]):
    """Records of one partition, in order; made by a consumer.

    While a batch is in hand its partition is not given to another member. Exceptions: the
    membership is lost, the application does not read for `max_poll_interval`, or half of that is
    over since the group asked for the partition; a classic cooperative group waits longer.

    Args:
        taken: what was handed out.
        formats: deserialisers.
        delivery: where it goes back.
        orphaned: called when the batch is collected undone, None when `Reading` remembers it.
    """

    __slots__ = ("_delivery", "_first", "_formats", "_orphaned", "_read_to", "_taken")

    def __init__(
        self,
        taken: TakenRecords,
        formats: Formats[K, V],
        delivery: Delivery,
        orphaned: Callable[[Handout], None] | None,
    ) -> None:
        self._taken = taken
        self._formats = formats
        self._delivery = delivery
        self._orphaned = orphaned
        self._first = self._read_to = taken.segments[0].first

    def __repr__(self) -> str:
        return f"<Batch {self.claim} {self.first}..{self.next_offset - 1}, {len(self)} records>"

    def __del__(self) -> None:
        handout = self._taken.handout
        if self._orphaned is not None and handout.in_hand:
            self._orphaned(handout)

    # -- what it is ------------------------------------------------------------------------

    @property
    def partition(self) -> TopicPartition:
        """Where the records are from."""
        return self._taken.claim.tp

    @property
    def claim(self) -> Claim:
        """The period of ownership in which the records were handed out."""
        return self._taken.claim

    @property
    def token(self) -> Generation | None:
        """The member's identity when the records were handed out, None outside a group.

        In a Marshal group its `generation_id` rises with each owner of the partition, and fences
        what a former one still writes; in a classic group it orders nothing.
        """
        return self._taken.token

    @property
    def first(self) -> int:
        """Offset of the first record."""
        return self._first

    @property
    def next_offset(self) -> int:
        """Offset to commit when all records are done.

        It may be higher than the last record's offset plus one: transaction markers and compacted
        records have offsets, too.

        After a `DeserializationError` it is the offset of the record that was refused.
        """
        return self._taken.handout.next_offset

    def __len__(self) -> int:
        return sum(map(len, self._taken.segments))

    # -- the records -----------------------------------------------------------------------

    def __iter__(self) -> Iterator[Record[K, V]]:
        """Yield the records, made one by one; fewer than `len` when some are skipped.

        Raises:
            DeserializationError: at the record that was refused. The batch ends there: whatever
                says that it is done means the records in front. Reading goes on with that record,
                until a seek leaves it out.
        """
        handout = self._taken.handout
        left_at, segment, found = self._first, None, None
        handout.left_at = left_at
        try:
            for segment in self._taken.segments:
                found = segment.records(RECORD, self.claim)
                yield from found if self._formats.are_raw else self._made(found)
            left_at, segment = handout.next_offset, None
        finally:
            # Noted once, and not at each record: also when the loop is left half-way.
            handout.left_at = left_at if segment is None else _in_hand(segment, found)

    def _made(self, records: Iterator[Record[Any, Any]]) -> Iterator[Record[K, V]]:
        make = self._formats.made
        for record in records:
            try:
                made = make(record)
            except DeserializationError as error:
                self._refused(error, error.offset)
                continue
            yield made

    def values(self) -> list[V]:
        """Return all values; several times cheaper than making records.

        Raises:
            DeserializationError: a value was refused. You have none of them then, so the batch
                ends before its first record; iterate to get those in front.
        """
        found: list[bytes | None] = []
        for segment in self._taken.segments:
            found += segment.columns.values(segment.start, segment.stop)
        make = self._formats.value
        if make is raw:
            # `raw` leaves bytes alone, so V is what is there already.
            made: list[V] = found  # type: ignore[assignment]
        else:
            try:
                made = [make(value) for value in found]
            except Exception:  # noqa: BLE001 - it is looked for, and raised, once more
                made = self._values_one_by_one()
        self._given_whole()
        return made

    def _values_one_by_one(self) -> list[V]:
        runs = [segment.records(RECORD, self.claim) for segment in self._taken.segments]
        made, errors = self._formats.values(chain.from_iterable(runs))
        while errors:
            self._refused(errors.pop(0), self._read_to)
        return made

    def _refused(self, error: DeserializationError, stopped_at: int) -> None:
        """Skip a record, or stop the batch and raise."""
        if self._formats.skips:
            self._delivery.skipped.note(error)
            return
        self._read_to = max(self._read_to, stopped_at)
        self._delivery.stop_at(self._taken.handout, self._read_to)
        try:
            raise error
        finally:
            del error  # it holds this frame, and so the batch and its handout

    def columns(self) -> tuple[Segment, ...]:
        """Return the records as columns, without copying anything."""
        self._given_whole()
        return self._taken.segments

    def to_arrow(self) -> "pa.RecordBatch":
        """Return the records as one Arrow RecordBatch; see `kgroup.consumer.reads.arrow`.

        No deserialiser sees them: keys and values are bytes. Needs `kgroup[arrow]`.

        Raises:
            MissingExtraError: pyarrow is not installed.
            ArgumentError: keys or values take more than 2 GiB.
        """
        from kgroup.consumer.reads.arrow import record_batch  # noqa: PLC0415 - pyarrow is an extra

        table = record_batch(self.partition, self._taken.segments)
        self._given_whole()
        return table

    def _given_whole(self) -> None:
        """Note that the application was given every record at once."""
        self._taken.handout.left_at = self.next_offset

    # -- done ------------------------------------------------------------------------------

    def done(self, upto: int | None = None) -> None:
        """Say that the records are done, so that their offsets may be committed.

        Args:
            upto: first offset that is not done yet; None for all of the batch.
        """
        self._delivery.done(self._taken.handout, upto)

    def release(self) -> None:
        """Give the batch back. Records that are not done come again after a seek, or to
        the partition's next owner. Auto-commit commits nothing behind them.
        """
        self._delivery.drop(self._taken.handout)

    def give_back(self, offset: int) -> None:
        """Give back the records from an offset on; they are the next to be handed out again.

        The batch ends there; whatever says that it is done means the records in front. What was
        handed out of the partition after this batch counts for no commit any more, as after a
        seek. Nothing happens to a batch that is done so far, or after a seek.

        Args:
            offset: of the first record that goes back; `first` for all.
        """
        self._delivery.stop_at(self._taken.handout, offset)
        self._delivery.sweep()

    @property
    def in_hand(self) -> bool:
        """Whether the application still holds the batch: it is neither done nor given back."""
        return self._taken.handout.in_hand

    async def __aenter__(self) -> Self:
        self._delivery.hold(self._taken.handout, anyio.get_current_task().id)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._delivery.let_go(self._taken.handout)
        if exc_type is None:
            self.done()
        else:
            self.release()


def _in_hand(segment: Segment, left: object) -> int:
    """Return the offset of the record that was made last.

    Args:
        segment: of which.
        left: what makes its records.
    """
    behind = segment.stop - length_hint(left)
    return segment.columns.offsets[max(behind - 1, segment.start)]
