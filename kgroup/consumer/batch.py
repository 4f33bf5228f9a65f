"""A batch: neighbouring records of one partition, on lease to the application.

Decides: the three ways to look at the records (one by one, values only, columns) and the ways to
say that they are done: asking for the next batch, `done()`, or leaving `async with batch`.
Never: counts a batch as done because it was collected; keeps the answer it came in alive longer
than it lives itself.
"""

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Generic, Self, TypeVar

import anyio

from kgroup.consumer.chunk import Segment
from kgroup.consumer.delivery import Delivery, Handful
from kgroup.consumer.record import Formats, Record, raw
from kgroup.offsets.ledger import Lease
from kgroup.types import Claim, Generation, TopicPartition

__all__ = ["Batch"]

K = TypeVar("K")
V = TypeVar("V")


class Batch(Generic[K, V]):
    """Records of one partition, in order; made by a consumer.

    While a batch is in hand its partition is not given to another member, except when the
    membership is lost or the time for it is over (`max_poll_interval`).

    Args:
        handful: what was handed out.
        formats: deserialisers.
        delivery: where it goes back.
        orphaned: called when the batch is collected undone, None when somebody else remembers it.
    """

    __slots__ = ("_delivery", "_first", "_formats", "_handful", "_orphaned")

    def __init__(
        self,
        handful: Handful,
        formats: Formats[K, V],
        delivery: Delivery,
        orphaned: Callable[[Lease], None] | None,
    ) -> None:
        self._handful = handful
        self._formats = formats
        self._delivery = delivery
        self._orphaned = orphaned
        self._first = handful.segments[0].first

    def __repr__(self) -> str:
        return f"<Batch {self.claim} {self.first}..{self.next_offset - 1}, {len(self)} records>"

    def __del__(self) -> None:
        lease = self._handful.lease
        if self._orphaned is not None and lease.in_hand:
            self._orphaned(lease)

    # -- what it is ------------------------------------------------------------------------

    @property
    def partition(self) -> TopicPartition:
        """Where the records are from."""
        return self._handful.claim.tp

    @property
    def claim(self) -> Claim:
        """The period of ownership they were handed out in."""
        return self._handful.claim

    @property
    def token(self) -> Generation | None:
        """The identity they were handed out under, None outside a group; it orders nothing."""
        return self._handful.token

    @property
    def first(self) -> int:
        """Offset of the first record."""
        return self._first

    @property
    def next_offset(self) -> int:
        """Offset to commit when all is done; may lie beyond the last record by marks and holes."""
        return self._handful.lease.next_offset

    def __len__(self) -> int:
        return sum(map(len, self._handful.segments))

    # -- the records -----------------------------------------------------------------------

    def __iter__(self) -> Iterator[Record[K, V]]:
        """Yield the records, made one by one."""
        tp, make = self.partition, self._formats.record
        for segment in self._handful.segments:
            kind, epoch = segment.timestamp_type, segment.leader_epoch
            left = len(segment)
            for row in segment.columns.rows(segment.start):
                if not left:
                    break
                left -= 1
                yield make(tp, row, kind, epoch)

    def values(self) -> list[V]:
        """Return all values; several times cheaper than making records."""
        found: list[bytes | None] = []
        for segment in self._handful.segments:
            found += segment.columns.values(segment.start)[: len(segment)]
        make = self._formats.value
        # `raw` leaves bytes alone, so V is what is there already.
        return found if make is raw else [make(value) for value in found]  # type: ignore[return-value]

    def columns(self) -> tuple[Segment, ...]:
        """Return the records as columns, without copying anything."""
        return self._handful.segments

    # -- done ------------------------------------------------------------------------------

    def done(self, upto: int | None = None) -> None:
        """Say that the records are done, so that their offsets may be committed.

        Args:
            upto: first offset that is not done yet; None for all of the batch.
        """
        self._delivery.done(self._handful.lease, upto)

    def release(self) -> None:
        """Give the batch back as it is: what is not done stays so and will be read again by
        whoever owns the partition next, or after a seek. Nothing behind it is committed by itself.
        """
        self._delivery.drop(self._handful.lease)

    @property
    def in_hand(self) -> bool:
        """Whether it is still on lease: neither done nor given back."""
        return self._handful.lease.in_hand

    async def __aenter__(self) -> Self:
        self._delivery.hold(self._handful.lease, anyio.get_current_task().id)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._delivery.let_go(self._handful.lease)
        if exc_type is None:
            self.done()
        else:
            self.release()
