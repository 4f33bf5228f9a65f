"""Records that are read ahead for a loop over single records.

Decides: how far the loop is, without asking the event loop for each record. A seek, pause, read or
commit meanwhile gives the rest back, and it is handed out next.
Never: counts a record as done, or as read, that the loop was not given.
"""

import threading
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final, Generic, TypeVar

from kgroup.consumer.reads.batch import Batch
from kgroup.consumer.reads.record import Record
from kgroup.errors import DeserializationError
from kgroup.types import TopicPartition
from kgroup.values import dataclass

K = TypeVar("K")
V = TypeVar("V")

_REPORT_EVERY: Final = 0.1
"""Seconds between two reports of how far a loop is."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a loop is with a batch, as reported to the event loop.

    Args:
        batch: which.
        done: below this everything is done, None for no news.
        back: from this offset on it is given back, None to keep all.
    """

    batch: Batch[Any, Any]
    done: int | None = None
    back: int | None = None


def settle(progress: Iterable[Progress]) -> None:
    """Carry progress out; on the event loop."""
    for each in progress:
        if each.done is not None:
            each.batch.done(each.done)
        if each.back is not None:
            each.batch.give_back(each.back)


class ReadAhead(Generic[K, V]):
    """The records read ahead for all loops over one consumer; for any thread, under a lock.

    The event loop never takes the lock: a deserialiser runs under it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._queue: deque[Batch[K, V]] = deque()
        self._through: list[Batch[K, V]] = []
        self._batch: Batch[K, V] | None = None
        self._rows: Iterator[Record[K, V]] = iter(())
        self._at: int | None = None
        self._seen = 0
        self._reported_at = 0.0
        self.recall: bool = False
        """Whether all must be given back before more is read; any thread sets it."""

    # -- reading ---------------------------------------------------------------------------

    def take(self, batches: Iterable[Batch[K, V]]) -> None:
        """Add batches that were read."""
        with self._lock:
            self._queue.extend(batches)

    def next(self) -> Record[K, V] | None:
        """Return the next record; None when there is none, or all must be given back.

        Raises:
            DeserializationError: the batch ends in front of that record.
        """
        with self._lock:
            while not self.recall and (self._batch is not None or self._queue):
                if self._batch is None:
                    self._open(self._queue.popleft())
                record = self._step()
                if record is not None:
                    return record
                self._close()
            return None

    def _open(self, batch: Batch[K, V]) -> None:
        self._batch, self._rows = batch, iter(batch)
        self._at, self._seen = None, batch.first

    def _close(self) -> None:
        if self._batch is not None:
            self._through.append(self._batch)
        self._batch, self._rows = None, iter(())

    def _step(self) -> Record[K, V] | None:
        before = self._at, self._seen
        try:
            record = next(self._rows, None)
            if record is not None:
                self._at, self._seen = record.offset, record.offset + 1
            return record
        except DeserializationError:
            self._close()
            raise
        except BaseException:
            # Interrupted: the record has not reached the loop, and the rows are past it.
            self._at, self._seen = before
            self.recall = True
            raise

    # -- reporting -------------------------------------------------------------------------

    def report(self) -> list[Progress]:
        """Return how far the loop is as it asks for the next record, and every batch read ahead;
        nothing shortly after the last report."""
        now = time.monotonic()
        with self._lock:
            if now - self._reported_at < _REPORT_EVERY or self._batch is None:
                return []
            self._reported_at = now
            progress = self._all_through()
            progress.append(Progress(self._batch, done=None if self._at is None else self._seen))
            progress += [Progress(batch) for batch in self._queue]
            return progress

    def progress(self) -> list[Progress]:
        """Return what is done: all records before the one that the loop has in hand."""
        with self._lock:
            progress = self._all_through()
            if self._batch is not None and self._at is not None:
                progress.append(Progress(self._batch, done=self._at))
            return progress

    def withdraw(self, tps: Collection[TopicPartition] = ()) -> list[Progress]:
        """Give back the records that no loop was given; `settle` carries it out.

        Args:
            tps: of these partitions only; none for all.
        """
        with self._lock:
            progress, kept = self._all_through(), deque[Batch[K, V]]()
            current = self._batch
            if current is not None and (not tps or current.partition in tps):
                progress.append(Progress(current, self._at, self._seen))
                self._batch, self._rows = None, iter(())
            for batch in self._queue:
                if tps and batch.partition not in tps:
                    kept.append(batch)
                else:
                    progress.append(Progress(batch, back=batch.first))
            self._queue = kept
            if not tps:
                self.recall = False
            return progress

    def _all_through(self) -> list[Progress]:
        progress = [Progress(batch, done=batch.next_offset) for batch in self._through]
        self._through = []
        return progress

    # -- views -----------------------------------------------------------------------------

    def places(self) -> dict[TopicPartition, int]:
        """Return the next offset a loop is given, for partitions that are read ahead."""
        with self._lock:
            found = {batch.partition: batch.first for batch in self._queue}
            if self._batch is not None:
                found[self._batch.partition] = self._seen
            return found

    def left(self, tp: TopicPartition) -> int:
        """Return how many offsets of a partition are read ahead."""
        with self._lock:
            held = [batch for batch in self._queue if batch.partition == tp]
            left = sum(batch.next_offset - batch.first for batch in held)
            if self._batch is not None and self._batch.partition == tp:
                left += self._batch.next_offset - self._seen
            return left
