"""Single reads: `getone` and `getmany`.

Decides: which records they return, and that those are done at the next read.
Never: returns nothing while records may be handed out; loses records when cancelled.
"""

from collections.abc import Collection
from typing import Generic, TypeVar

import anyio.lowlevel

from kgroup.consumer.buffer.owned import Owned
from kgroup.consumer.reads.batch import Batch
from kgroup.consumer.reads.leaving import note_read
from kgroup.consumer.reads.reading import Reading, Wanted
from kgroup.consumer.reads.record import RECORD, Formats, Record
from kgroup.errors import ArgumentError, ClosedError, DeserializationError
from kgroup.types import TopicPartition

K = TypeVar("K")
V = TypeVar("V")


class Polling(Generic[K, V]):
    """Reads on behalf of `getone` and `getmany`.

    Args:
        reading: waits for records.
        formats: deserialisers.
        limit: most records of one `many` when the caller gives none; None for no bound.
    """

    def __init__(self, reading: Reading, formats: Formats[K, V], limit: int | None) -> None:
        self._reading = reading
        self._formats = formats
        self._limit = limit

    async def one(self, tps: Collection[TopicPartition], timeout: float | None) -> Record[K, V]:
        """Return the next record.

        Raises:
            TimeoutError: nothing came in time.
            DeserializationError: a deserialiser refused the record, which stays where it is.
        """
        wanted = await self._next_read(tps)
        deadline = self._reading.deadline(timeout)
        while (owned := await self._reading.ready(wanted, deadline)) is not None:
            record = self._take(owned)
            if record is not None:
                return record
        if self._reading.delivery.is_over(wanted):
            raise TimeoutError("no record is left in front of the offsets where reading ends")
        raise TimeoutError(f"no record within {timeout:g} s")

    def _take(self, owned: Owned) -> Record[K, V] | None:
        """Take the next record of a claim that is ready; None when it was skipped."""
        delivery = self._reading.delivery
        chunk = owned.chunks[0]
        segment = chunk.head()
        assert segment is not None
        try:
            record = self._formats.made(segment.peek(RECORD, owned.claim))
        except DeserializationError as error:
            if not self._formats.skips:
                raise
            delivery.skipped.note(error)
            delivery.done(delivery.take_one(owned, None))
            self._reading.keep_turn(owned, chunk)
            return None
        if self._reading.done_at_delivery:
            delivery.take_done(owned, None)
        else:
            self._reading.done_at_next_read(delivery.take_one(owned, None), note_read())
        self._reading.keep_turn(owned, chunk)
        return record

    async def many(
        self, tps: Collection[TopicPartition], max_records: int | None, timeout: float
    ) -> dict[TopicPartition, Batch[K, V]]:
        """Return at most one batch of each partition, waiting only while there is nothing."""
        left = self._limit if max_records is None else max_records
        wanted = await self._next_read(tps, max_records)
        delivery = self._reading.delivery
        try:
            ready = await self._reading.all_ready(wanted, self._reading.deadline(timeout))
        except ClosedError:
            return {}
        found: dict[TopicPartition, Batch[K, V]] = {}
        read = note_read()
        for owned in ready:
            if left == 0:
                break
            chunk = owned.chunks[0]
            taken = delivery.take(owned, left)
            self._reading.done_at_next_read(taken.handout, read)
            self._reading.keep_turn(owned, chunk)
            batch = found[owned.tp] = Batch(taken, self._formats, delivery, None)
            left = None if left is None else left - len(batch)
        return found

    async def _next_read(
        self, tps: Collection[TopicPartition], max_records: int | None = None
    ) -> Wanted:
        await self._reading.check_caller()
        wanted = frozenset(tps) or None
        try:
            self._check(wanted, max_records)
        except Exception:
            # A loop that ignores the error would never let other tasks run.
            await anyio.lowlevel.checkpoint()
            raise
        self._reading.next_read(wanted)
        return wanted

    def _check(self, wanted: Wanted, max_records: int | None) -> None:
        if max_records is not None and max_records < 1:
            raise ArgumentError("max_records", max_records, "at least 1, or None")
        delivery = self._reading.delivery
        delivery.gate.check_alive()
        delivery.owned.require(wanted or ())
