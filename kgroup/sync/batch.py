"""Batches and `for` loops of the blocking consumer.

Decides: that records are made in the thread that iterates, and everything else happens on the event
loop; that a loop ends when the consumer is closed or, for records, when none came in time.
Never: holds logic of its own (see `kgroup.Batch`); counts the record or batch that a loop has in
hand as done before the loop asks for the next.
"""

from collections.abc import Awaitable, Callable, Iterator
from os import getpid
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from kgroup.consumer.api import MembershipStream
from kgroup.consumer.buffer.chunk import Segment
from kgroup.consumer.reads.batch import Batch as NativeBatch
from kgroup.consumer.reads.iterators import BatchIterator as NativeIterator
from kgroup.consumer.reads.record import Record
from kgroup.sync.ahead import Progress, ReadAhead
from kgroup.sync.host import Host
from kgroup.types import Claim, Generation, Membership, TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa

K = TypeVar("K")
V = TypeVar("V")


class Batch(Generic[K, V]):
    """Records of one partition, in order; made by a consumer. See `kgroup.Batch`.

    Args:
        native: the batch as the event loop knows it.
        host: carries calls there.
    """

    __slots__ = ("_host", "native")

    def __init__(self, native: NativeBatch[K, V], host: Host) -> None:
        self.native: NativeBatch[K, V] = native
        self._host = host

    def __repr__(self) -> str:
        return repr(self.native)

    # -- what it is ------------------------------------------------------------------------

    @property
    def partition(self) -> TopicPartition:
        """Where the records are from."""
        return self.native.partition

    @property
    def claim(self) -> Claim:
        """The period of ownership in which the records were handed out."""
        return self.native.claim

    @property
    def token(self) -> Generation | None:
        """The member's identity when the records were handed out, None outside a group.

        In a Marshal group its `generation_id` rises with each owner of the partition, and fences
        what a former one still writes; in a classic group it orders nothing.
        """
        return self.native.token

    @property
    def first(self) -> int:
        """Offset of the first record."""
        return self.native.first

    @property
    def next_offset(self) -> int:
        """Offset to commit when all is done."""
        return self.native.next_offset

    @property
    def in_hand(self) -> bool:
        """Whether the application still holds the batch: it is neither done nor given back."""
        return self.native.in_hand

    def __len__(self) -> int:
        return len(self.native)

    # -- the records -----------------------------------------------------------------------

    def __iter__(self) -> Iterator[Record[K, V]]:
        """Yield the records, made one by one in the present thread.

        Raises:
            DeserializationError: at the record that was refused; the batch ends there.
        """
        return iter(self.native)

    def values(self) -> list[V]:
        """Return all values; several times cheaper than making records.

        Raises:
            DeserializationError: a value was refused; the batch ends before its first record.
        """
        return self.native.values()

    def columns(self) -> tuple[Segment, ...]:
        """Return the records as columns, without copying anything."""
        return self.native.columns()

    def to_arrow(self) -> "pa.RecordBatch":
        """Return the records as one Arrow RecordBatch; see `kgroup.Batch.to_arrow`.

        Raises:
            MissingExtraError: pyarrow is not installed.
            ArgumentError: keys or values take more than 2 GiB.
        """
        return self.native.to_arrow()

    # -- done ------------------------------------------------------------------------------

    def done(self, upto: int | None = None) -> None:
        """Say that the records are done, so that their offsets may be committed.

        Args:
            upto: first offset that is not done yet; None for all of the batch.
        """
        self._carry(lambda: self.native.done(upto))

    def release(self) -> None:
        """Give the batch back; records that are not done stay so. See `kgroup.Batch`."""
        self._carry(self.native.release)

    def give_back(self, offset: int) -> None:
        """Give back the records from an offset on; they are the next to be handed out again.

        Args:
            offset: of the first record that goes back; `first` for all.
        """
        self._carry(lambda: self.native.give_back(offset))

    def __enter__(self) -> Self:
        self._host.call(self.native.__aenter__)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._host.call(lambda: self.native.__aexit__(exc_type, exc, traceback))

    def _carry(self, act: Callable[[], None]) -> None:
        self._host.call(_awaited(act))


def _awaited(act: Callable[[], None]) -> Callable[[], Awaitable[None]]:
    async def do() -> None:
        act()

    return do


# -- iterators -------------------------------------------------------------------------------------


class RecordIterator(Iterator[Record[K, V]], Generic[K, V]):
    """`for record in consumer`.

    Args:
        ahead: the records read ahead.
        fill: reads more into it; returns whether anything came.
        report: reports to the event loop how far this is.
        check: raises in a forked child, which has a copy of those records.
    """

    __slots__ = ("_ahead", "_check", "_fill", "_process", "_report")

    def __init__(
        self,
        ahead: ReadAhead[K, V],
        fill: Callable[[], bool],
        report: Callable[[list[Progress]], None],
        check: Callable[[], None],
    ) -> None:
        self._ahead = ahead
        self._check = check
        self._process = getpid()
        self._fill = fill
        self._report = report

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
        progress = self._ahead.report()
        if progress:
            self._report(progress)
        while (record := self._ahead.next()) is None:
            if not self._fill():
                raise StopIteration
        return record


class BatchIterator(Iterator[Batch[K, V]], Generic[K, V]):
    """`for batch in consumer.batches()`.

    Args:
        native: the iterator on the event loop.
        host: carries calls there.
        first: makes a function that is called on the event loop before each read.
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
        """Give back the batch in hand. Its records that are not done stay not done."""
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
