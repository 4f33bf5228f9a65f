"""Tables and logs that are small enough to be judged by counting on one's fingers.

Decides: what Spark would answer about such a table, worked out row by row; and what is right.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kgroup.spark.counting import (
    BUCKET,
    Bitmap,
    BucketCount,
    Missing,
    Sight,
    Span,
    Suspect,
    gaps,
    suspects,
    weighed,
)


@dataclass
class World:
    """The rows of one partition, and its log.

    Args:
        bounds: where the log begins and ends.
        rows: offset of each row, those within the bounds.
        hidden: offsets that are handed out to nobody.
        held: the part of the log that can be asked about; None for all of it.
        committed: the group's position.
    """

    bounds: Span
    rows: list[int]
    hidden: set[int] = field(default_factory=set)
    held: Span | None = None
    committed: int | None = None

    def look(self, partition: int, span: Span) -> Iterator[Sight]:
        """Answer for one offset after the other."""
        held = self.bounds if self.held is None else self.held
        for offset in range(span.first, span.end):
            inside = held.first <= offset < held.end
            if not inside or offset not in self.hidden:
                yield Sight(Span(offset, offset + 1), held=inside)

    def suspect(self, partition: int = 0) -> Suspect:
        """Return what the numbers say."""
        return suspects({partition: self.bounds}, self.counts(partition))[partition]

    def counts(self, partition: int = 0) -> list[BucketCount]:
        """Count as Spark does; buckets come in no order."""
        rows = Counter(row // BUCKET for row in self.rows)
        offsets = Counter(row // BUCKET for row in set(self.rows))
        return [BucketCount(partition, b, rows[b], offsets[b]) for b in sorted(rows, reverse=True)]

    def bitmaps(self, partition: int = 0) -> Iterator[Bitmap]:
        """Yield the bitmaps that are asked for."""
        for bucket in self.suspect(partition).short:
            yield bitmap(self.rows, bucket, partition)

    def missing(self, *, with_log: bool = True) -> Missing:
        """Go the way a table goes."""
        ((_, found),) = gaps({0: self.suspect()}, self.bitmaps())
        return weighed(0, found, self if with_log else None, self.committed)

    def right(self) -> Missing:
        """Say what is missing, offset by offset; examples are left out."""
        held = self.bounds if self.held is None else self.held
        there = set(self.rows)
        gone = [each for each in range(*self.bounds) if each not in there]
        unseen = [each for each in gone if each in self.hidden and held.first <= each < held.end]
        lost = sorted(set(gone) - set(unseen))
        return Missing(
            lost=len(lost),
            untold=sum(not held.first <= each < held.end for each in lost),
            invisible=len(unseen),
            committed=sum(each < (self.committed or 0) for each in lost),
            first=lost[0] if lost else None,
            examples=tuple(ranges(lost))[:5],
        )


def ranges(offsets: Iterable[int]) -> Iterator[Span]:
    """Yield rising offsets as ranges."""
    first = last = None
    for offset in offsets:
        if first is not None and last is not None and offset != last + 1:
            yield Span(first, last + 1)
            first = None
        first = offset if first is None else first
        last = offset
    if first is not None and last is not None:
        yield Span(first, last + 1)


def bitmap(rows: Iterable[int], bucket: int, partition: int = 0) -> Bitmap:
    """Return a bitmap as Spark lays it out."""
    bits = bytearray(BUCKET // 8)
    for row in rows:
        if row // BUCKET == bucket:
            bits[row % BUCKET // 8] |= 1 << row % 8
    return Bitmap(partition, bucket, bytes(bits))
