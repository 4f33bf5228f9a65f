"""Loops over batches, or over records one by one.

Decides: that asking for the next batch or record counts the one before as done, and that a loop
ends when the consumer is closed, or has read up to the end that a seek gave it. A fatal error is
raised.
Never: is an async generator: those keep a handout when a loop is left, and corrupt cancel scopes.
One checkpoint per batch, none per record: a checkpoint costs more than a record.
"""

import math
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from kgroup.consumer.buffer.chunk import Chunk, Segment
from kgroup.consumer.buffer.delivery import Delivery
from kgroup.consumer.buffer.owned import Owned
from kgroup.consumer.reads.batch import Batch
from kgroup.consumer.reads.leaving import note_read
from kgroup.consumer.reads.reading import Reading
from kgroup.consumer.reads.record import RECORD, Formats, Record
from kgroup.errors import ClosedError, DeserializationError
from kgroup.offsets.ledger import Handout

if TYPE_CHECKING:
    import pyarrow as pa

K = TypeVar("K")
V = TypeVar("V")


class BatchIterator(Generic[K, V]):
    """`async for batch in consumer.batches()`.

    Args:
        reading: waits for records.
        formats: deserialisers.
        limit: most records of one batch, None for no bound.
    """

    __slots__ = ("_current", "_formats", "_limit", "_reading")

    def __init__(self, reading: Reading, formats: Formats[K, V], limit: int | None) -> None:
        self._reading = reading
        self._formats = formats
        self._limit = limit
        self._current: Batch[K, V] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Batch[K, V]:
        """Count the batch before as done, and wait for the next.

        Raises:
            KGroupError: a fatal error, a listener's, or a partition's whose turn it is.
        """
        await self._reading.check_caller()
        self._finish()
        delivery = self._reading.delivery
        self._reading.next_read(None)
        try:
            owned = await self._reading.ready(None, math.inf)
        except ClosedError:
            raise StopAsyncIteration from None
        if owned is None:
            raise StopAsyncIteration
        taken = delivery.take(owned, self._limit)
        taken.handout.read = note_read()
        self._current = Batch(taken, self._formats, delivery, delivery.abandon)
        return self._current

    async def aclose(self) -> None:
        """Give back the batch in hand. Its records that are not done stay not done."""
        current, self._current = self._current, None
        if current is not None:
            current.release()

    def _finish(self) -> None:
        current, self._current = self._current, None
        self._reading.delivery.sweep()
        if current is not None and current.in_hand:
            current.done()


class ArrowIterator(Generic[K, V]):
    """`async for table in consumer.arrow_batches()`.

    Args:
        batches: the batches; each is done when the next is asked for.
    """

    __slots__ = ("_batches",)

    def __init__(self, batches: BatchIterator[K, V]) -> None:
        self._batches = batches

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> "pa.RecordBatch":
        """Count the records before as done, and wait for the next.

        Raises:
            KGroupError: as `Consumer.batches`.
        """
        return (await anext(self._batches)).to_arrow()

    async def aclose(self) -> None:
        """Give back the records in hand. They stay not done."""
        await self._batches.aclose()


class RecordIterator(Generic[K, V]):
    """`async for record in consumer`.

    Args:
        reading: waits for records.
        formats: deserialisers.
        limit: records of one partition before others get their turn, None for as many as there
            are in what one fetch brought.
    """

    __slots__ = (
        "_chunk",
        "_delivery",
        "_formats",
        "_handout",
        "_left",
        "_limit",
        "_owned",
        "_raw",
        "_reading",
        "_take",
        "_until",
    )

    def __init__(self, reading: Reading, formats: Formats[K, V], limit: int | None) -> None:
        self._reading = reading
        self._delivery: Delivery = reading.delivery
        self._formats = formats
        self._raw = formats.are_raw
        self._limit = math.inf if limit is None else limit
        self._take = self._delivery.take_one
        if reading.done_at_delivery:
            self._take = self._delivery.take_done
        self._left: float = 0
        self._owned: Owned | None = None
        self._chunk: Chunk | None = None
        self._until: int | None = None
        self._handout: Handout | None = None

    def __aiter__(self) -> Self:
        return self

    def __del__(self) -> None:
        if self._handout is not None and self._handout.in_hand:
            self._delivery.abandon(self._handout)

    async def __anext__(self) -> Record[K, V]:
        """Count the record before as done, and wait for the next.

        Raises:
            DeserializationError: a deserialiser refused the record, which stays where it is.
            KGroupError: a fatal error, a listener's, or a partition's whose turn it is.
        """
        passes = self._delivery.gate.passes
        while True:
            owned, segment = self._owned, None
            if owned is not None and self._left > 0 and passes(owned):
                segment = self._again(owned)
            if owned is None or segment is None:
                owned = await self._next_run()
                segment = owned.chunks[0].head()
                assert segment is not None
            self._reading.note_poll()
            peeked = segment.peek(RECORD, owned.claim)
            record: Record[K, V] | None = peeked if self._raw else self._made(peeked)
            self._handout = self._take(owned, self._handout)
            self._left -= 1
            if record is not None:
                return record

    async def _next_run(self) -> Owned:
        await self._reading.check_caller()
        self._finish()
        self._reading.next_read(None)
        try:
            owned = await self._reading.ready(None, math.inf)
        except ClosedError:
            raise StopAsyncIteration from None
        if owned is None:
            raise StopAsyncIteration
        self._owned, self._left = owned, self._limit
        self._chunk = owned.chunks[0]
        self._until = self._chunk.bound
        return owned

    def _again(self, owned: Owned) -> Segment | None:
        """Return where the run goes on: the same claim, within what was admitted of one fetch.

        After a seek it is another fetch. Another reader may have been admitted to more, or have
        taken it.
        """
        chunk = self._chunk
        if chunk is None or not owned.chunks or owned.chunks[0] is not chunk:
            return None
        segment = chunk.head()
        return segment if self._until is None or chunk.at < self._until else None

    async def aclose(self) -> None:
        """Give back the record in hand; it does not count as done."""
        handout, self._handout = self._handout, None
        self._owned = self._chunk = None
        if handout is not None:
            self._delivery.drop(handout)

    def _made(self, record: Record[Any, Any]) -> Record[K, V] | None:
        """Return what the deserialisers make of a record; None when it is skipped."""
        try:
            return self._formats.made(record)
        except DeserializationError as error:
            if not self._formats.skips:
                self._finish()  # the next was asked for
                raise
            self._delivery.skipped.note(error)
            return None

    def _finish(self) -> None:
        handout, self._handout = self._handout, None
        self._owned = self._chunk = None
        if handout is not None and handout.in_hand:
            self._delivery.done(handout)
