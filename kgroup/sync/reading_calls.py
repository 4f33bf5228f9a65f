"""The blocking consumer's calls that hand out records.

Decides: that records and their keys and values are made in the thread that reads, and that what a
read returned to a thread that was interrupted goes back.
Never: lets a loop over single records count more as handed out than it was given.
"""

import math
import time
from collections.abc import Iterable
from functools import partial
from typing import TypeVar

from kgroup.consumer.reads.batch import Batch as NativeBatch
from kgroup.consumer.reads.record import Record
from kgroup.errors import ClosedError
from kgroup.sync.ahead import Told, settle
from kgroup.sync.batch import Batch, BatchIterator, RecordIterator
from kgroup.sync.life import Life
from kgroup.types import TopicPartition

__all__ = ["ReadingCalls"]

K = TypeVar("K")
V = TypeVar("V")


class ReadingCalls(Life[K, V]):
    """Four ways to get records."""

    def batches(self) -> BatchIterator[K, V]:
        """Iterate over batches until closed; each is done when the next is asked for."""
        native = self._view(self._native.batches)
        return BatchIterator(native, self._host, lambda: partial(settle, self._ahead.withdraw()))

    def __iter__(self) -> RecordIterator[K, V]:
        """Iterate over single records until closed; each is done when the next is asked for."""
        return self.records()

    def records(self, *, timeout: float | None = None) -> RecordIterator[K, V]:
        """Iterate over single records, also only while they come.

        Args:
            timeout: seconds without a record after which the loop ends; one may go on with the
                same iterator later. None to end only when closed.
        """
        limit = math.inf if timeout is None else timeout
        self._host.check_process()
        fill = partial(self._fill, limit)
        return RecordIterator(self._ahead, fill, self._tell, self._host.check_process)

    def getone(self, *tps: TopicPartition, timeout: float | None = None) -> Record[K, V]:
        """Return the next record; it is done at the next read, of whatever kind, that is about
        its partition.

        Args:
            tps: partitions to read from, none for all.
            timeout: seconds, None to wait for ever.

        Raises:
            TimeoutError: nothing came in time.
            WakeupError: `wakeup()` was called.
            DeserializationError: a deserialiser refused the record; it stays in front.
            ClosedError, NotOwnedError, KGroupError: see `getmany`.
        """
        began, left = time.monotonic(), math.inf if timeout is None else timeout
        limit = left
        while found := self._read(tps, 1, max(left, 0.0)):
            for batch in found.values():
                for record in batch:
                    return record
            left = limit - (time.monotonic() - began)  # it was passed over
        if time.monotonic() - began < limit:
            raise ClosedError("the consumer is closed")
        raise TimeoutError(f"no record within {timeout:g} s")

    def getmany(
        self, *tps: TopicPartition, max_records: int | None = None, timeout: float = 0.0
    ) -> dict[TopicPartition, Batch[K, V]]:
        """Return what is there, waiting only while there is nothing.

        Args:
            tps: partitions to read from, none for all.
            max_records: most records altogether, None for `max_poll_records`.
            timeout: seconds to wait for a first record.

        Returns:
            At most one batch of each partition, from at most one fetch; empty when nothing came.

        Raises:
            WakeupError: `wakeup()` was called.
            ClosedError: the consumer was closed before the call.
            NotOwnedError: a partition named is not owned.
            IllegalStateError: the present thread is inside a listener.
            KGroupError: a fatal error; what a listener raised, once; the error of a partition,
                each time it is its turn, until a seek or a success ends it.
        """
        found = self._read(tps, max_records, timeout)
        return {tp: Batch(batch, self._host) for tp, batch in found.items()}

    def note_poll(self) -> None:
        """Say that the application is alive and at work on what it was handed (KIP-62)."""
        self._view(self._native.note_poll)

    @property
    def passed_over(self) -> int:
        """How many records were left out because a deserialiser refused them (policy "skip")."""
        return self._native.passed_over

    def _read(
        self, tps: tuple[TopicPartition, ...], max_records: int | None, timeout: float
    ) -> dict[TopicPartition, NativeBatch[K, V]]:
        told = self._ahead.withdraw(tps)

        async def read() -> dict[TopicPartition, NativeBatch[K, V]]:
            settle(told)
            return await self._native.getmany(*tps, max_records=max_records, timeout=timeout)

        return self._host.read(read, _return)

    def _fill(self, timeout: float) -> bool:
        try:
            found = self._read((), None, timeout)
        except ClosedError:
            return False
        self._ahead.take(found.values())
        return bool(found)

    def _tell(self, told: list[Told]) -> None:
        """Tell the event loop how far a loop over records is, and hear whether it must hurry.

        1. A loop has taken 500 records and works on the first; 2. the group asks for the
        partition; 3. what the loop was not given yet goes back, so that nobody waits for it.
        """
        ahead, native = self._ahead, self._native

        def tell() -> None:
            settle(told)
            native.note_poll()
            asked = native.membership.draining
            if any(each.batch.partition in asked for each in told):
                ahead.recall = True

        self._host.soon(tell)


def _return(found: dict[TopicPartition, NativeBatch[K, V]]) -> None:
    batches: Iterable[NativeBatch[K, V]] = found.values()
    for batch in batches:
        batch.give_back(batch.first)
