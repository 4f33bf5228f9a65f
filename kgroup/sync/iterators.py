"""Reading in a `for` loop: records one by one, batches, memberships.

Decides: when a loop ends: when the consumer is closed, or, for records, when none came in time.
Never: counts the record or the batch that a loop has in hand as done before the next is asked for.
"""

from collections.abc import Callable, Iterator
from os import getpid
from typing import Generic, Self, TypeVar

from kgroup.consumer.calls.membership_stream import MembershipStream
from kgroup.consumer.reads.batch import Batch as NativeBatch
from kgroup.consumer.reads.iterators import BatchIterator as NativeIterator
from kgroup.consumer.reads.record import Record
from kgroup.sync.ahead import Ahead, Told
from kgroup.sync.batch import Batch
from kgroup.sync.host import Host
from kgroup.types import Membership

__all__ = ["BatchIterator", "MembershipIterator", "RecordIterator"]

K = TypeVar("K")
V = TypeVar("V")


class RecordIterator(Iterator[Record[K, V]], Generic[K, V]):
    """`for record in consumer`.

    Args:
        ahead: the stock of records.
        fill: reads more into it; returns whether anything came.
        tell: tells the loop how far this is.
        check: raises in a forked child, which has a copy of the stock.
    """

    __slots__ = ("_ahead", "_check", "_fill", "_process", "_tell")

    def __init__(
        self,
        ahead: Ahead[K, V],
        fill: Callable[[], bool],
        tell: Callable[[list[Told]], None],
        check: Callable[[], None],
    ) -> None:
        self._ahead = ahead
        self._check = check
        self._process = getpid()
        self._fill = fill
        self._tell = tell

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Record[K, V]:
        """Count the record before as done, and wait for the next.

        Raises:
            WakeupError: `wakeup()` was called.
            DeserializationError: a deserialiser refused the record, which stays where it is.
            KGroupError: a fatal error, a listener's, or a partition's whose turn it is.
        """
        if getpid() != self._process:
            self._check()
        told = self._ahead.report()
        if told:
            self._tell(told)
        while (record := self._ahead.next()) is None:
            if not self._fill():
                raise StopIteration
        return record


class BatchIterator(Iterator[Batch[K, V]], Generic[K, V]):
    """`for batch in consumer.batches()`.

    Args:
        native: the iterator on the event loop.
        host: carries calls there.
        first: done on the loop before each read.
    """

    __slots__ = ("_first", "_host", "_native")

    def __init__(
        self, native: NativeIterator[K, V], host: Host, first: Callable[[], Callable[[], None]]
    ) -> None:
        self._native = native
        self._host = host
        self._first = first

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Batch[K, V]:
        """Count the batch before as done, and wait for the next.

        Raises:
            WakeupError: `wakeup()` was called.
            KGroupError: a fatal error, a listener's, or a partition's whose turn it is.
        """
        first = self._first()

        async def read() -> NativeBatch[K, V] | None:
            first()
            return await anext(self._native, None)

        found = self._host.read(read, _return)
        if found is None:
            raise StopIteration
        return Batch(found, self._host)

    def close(self) -> None:
        """Give the batch in hand back as it is; what is not done of it stays so."""
        self._host.call(self._native.aclose)


class MembershipIterator(Iterator[Membership]):
    """`for membership in consumer.membership_changes()`.

    Args:
        native: the stream on the event loop.
        host: carries calls there.
    """

    __slots__ = ("_host", "_native")

    def __init__(self, native: MembershipStream, host: Host) -> None:
        self._native = native
        self._host = host

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Membership:
        """Wait for a membership that differs from the one before; ends when closed."""

        async def look() -> Membership | None:
            return await anext(self._native, None)

        found = self._host.call(look)
        if found is None:
            raise StopIteration
        return found


def _return(batch: NativeBatch[K, V] | None) -> None:
    if batch is not None:
        batch.give_back(batch.first)
