"""From numbers of rows to ranges of offsets that no row has, and what becomes of these.

Decides: which buckets disagree and are looked at again, and which missing offsets are lost: those a
log hands out, and those no log can speak of.
Never: asks Spark or a broker itself; holds a value for each row or each offset.

Offsets are counted in buckets of 32,768. A bucket says how many rows it has and how many offsets
they have: both are the size of the bucket where all is well, and nothing else is asked about it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from enum import Enum
from heapq import merge
from itertools import groupby
from typing import Final, NamedTuple, Protocol

from kgroup.values import dataclass

BUCKET_BITS: Final = 15
"""A bucket has two to the power of this many offsets, the bits of one bitmap of Spark's."""
BUCKET: Final = 1 << BUCKET_BITS

EXAMPLES: Final = 5
"""Ranges that a finding shows."""

_ABSENT: Final = re.compile("0+")


class Span(NamedTuple):
    """Neighbouring offsets.

    Args:
        first: the first one.
        end: the one after the last.
    """

    first: int
    end: int

    @property
    def size(self) -> int:
        """How many offsets it has."""
        return max(self.end - self.first, 0)

    def within(self, other: "Span") -> "Span":
        """Return what it has in common with another; of size 0 when that is nothing."""
        first = max(self.first, other.first)
        return Span(first, max(min(self.end, other.end), first))

    def __str__(self) -> str:
        return f"{self.first}" if self.size == 1 else f"{self.first}-{self.end - 1}"


# -- what is counted -------------------------------------------------------------------------------


class BucketCount(NamedTuple):
    """The rows of one bucket, those within the bounds of its log.

    Args:
        partition: number of the partition.
        bucket: offset divided by the size of a bucket.
        rows: how many there are.
        offsets: how many different offsets they have.
    """

    partition: int
    bucket: int
    rows: int
    offsets: int


class Astray(Enum):
    """Why a row is not within the bounds of a log."""

    BEFORE = "before the log"
    BEHIND = "behind the log"
    NO_PARTITION = "of no partition"
    NO_PLACE = "without a place"


class StrayCount(NamedTuple):
    """Rows that are not within the bounds of a log.

    Args:
        why: why not.
        partition: their partition; None where `why` is about the partition.
        rows: how many there are.
        lowest: lowest offset, or number of a partition where `why` is about it; None without any.
        highest: the highest.
    """

    why: Astray
    partition: int | None
    rows: int
    lowest: int | None
    highest: int | None


@dataclass(frozen=True, slots=True)
class Counts:
    """What the first look at a table brings.

    Args:
        buckets: all that have rows, in any order.
        strays: rows elsewhere.
    """

    buckets: tuple[BucketCount, ...]
    strays: tuple[StrayCount, ...] = ()


class Bitmap(NamedTuple):
    """Which offsets of a bucket have a row.

    Args:
        partition: number of the partition.
        bucket: offset divided by the size of a bucket.
        bits: offset n of the bucket is bit n % 8 of byte n // 8.
    """

    partition: int
    bucket: int
    bits: bytes


# -- the second look -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """What the numbers say of one partition, and what is to be looked at.

    Args:
        bounds: where its log begins and ends.
        rows: rows within.
        offsets: different offsets of these.
        empty: offsets of buckets without any row.
        short: buckets that lack offsets and have some, in order.
        doubled: the first bucket with more rows than offsets, None without one.
    """

    bounds: Span
    rows: int = 0
    offsets: int = 0
    empty: tuple[Span, ...] = ()
    short: tuple[int, ...] = ()
    doubled: int | None = None


def part_of(bucket: int, bounds: Span) -> Span:
    """Return the offsets of a bucket that lie within bounds."""
    return Span(bucket << BUCKET_BITS, (bucket + 1) << BUCKET_BITS).within(bounds)


def suspects(bounds: Mapping[int, Span], buckets: Iterable[BucketCount]) -> dict[int, Suspect]:
    """Return each partition's numbers, in order of partition.

    Args:
        bounds: partition -> where its log begins and ends.
        buckets: those with rows.
    """
    found: dict[int, list[BucketCount]] = {}
    for each in buckets:
        found.setdefault(each.partition, []).append(each)
    return {p: _suspect(bounds[p], sorted(found.get(p, ()))) for p in sorted(bounds)}


def _suspect(bounds: Span, buckets: list[BucketCount]) -> Suspect:
    doubled = (each.bucket for each in buckets if each.rows > each.offsets)
    return Suspect(
        bounds=bounds,
        rows=sum(each.rows for each in buckets),
        offsets=sum(each.offsets for each in buckets),
        empty=tuple(_between((each.bucket for each in buckets), bounds)),
        short=tuple(
            each.bucket for each in buckets if each.offsets < part_of(each.bucket, bounds).size
        ),
        doubled=next(doubled, None),
    )


def _between(buckets: Iterable[int], bounds: Span) -> Iterator[Span]:
    """Yield what lies within bounds and in none of the buckets, which come in order."""
    at = bounds.first
    for bucket in buckets:
        whole = part_of(bucket, bounds)
        if whole.first > at:
            yield Span(at, whole.first)
        at = whole.end
    if bounds.end > at:
        yield Span(at, bounds.end)


def holes(bitmap: Bitmap, bounds: Span) -> Iterator[Span]:
    """Yield the offsets of a bucket that have no row, in order."""
    base = bitmap.bucket << BUCKET_BITS
    part = part_of(bitmap.bucket, bounds)
    bits = f"{int.from_bytes(bitmap.bits, 'little'):0{BUCKET}b}"[::-1]
    for found in _ABSENT.finditer(bits, part.first - base, part.end - base):
        yield Span(base + found.start(), base + found.end())


def gaps(
    suspected: Mapping[int, Suspect], bitmaps: Iterable[Bitmap]
) -> Iterator[tuple[int, Iterator[Span]]]:
    """Yield each partition with the offsets that have no row, in order; neighbours are one.

    Args:
        suspected: in order of partition.
        bitmaps: of all buckets that are `short`, in order of partition and bucket. They are taken
            one by one, as the offsets are.
    """
    came = groupby(bitmaps, key=lambda bitmap: bitmap.partition)
    for partition, suspect in suspected.items():
        own: Iterable[Bitmap] = next(came, (partition, ()))[1] if suspect.short else ()
        found = (hole for bitmap in own for hole in holes(bitmap, suspect.bounds))
        yield partition, joined(merge(suspect.empty, found))


def joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield spans, which come in order, with neighbours as one."""
    last: Span | None = None
    for span in spans:
        if last is not None and span.first <= last.end:
            last = Span(last.first, max(last.end, span.end))
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last


# -- what is missing -------------------------------------------------------------------------------


class Sight(NamedTuple):
    """What a log says of some offsets.

    Args:
        span: the offsets.
        held: whether the log hands all of them out; if not, it no longer holds them, or not yet,
            and cannot say.
    """

    span: Span
    held: bool


class Log(Protocol):
    """The log that a table is compared with."""

    def look(self, partition: int, span: Span, /) -> Iterable[Sight]:
        """Yield what the log says, in order; what it does not speak of is handed out to nobody.

        Args:
            partition: number of the partition.
            span: offsets; those of one partition are asked for in order.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """The offsets of one partition that have no row.

    Args:
        lost: how many of them somebody can see, or may have seen.
        untold: how many of the lost the log cannot speak of.
        invisible: how many the log hands out to nobody.
        committed: how many of the lost lie before the group's position.
        first: the first that is lost, None without one.
        examples: the first few that are lost.
    """

    lost: int = 0
    untold: int = 0
    invisible: int = 0
    committed: int = 0
    first: int | None = None
    examples: tuple[Span, ...] = ()


def weighed(
    partition: int, missing: Iterable[Span], log: Log | None, committed: int | None
) -> Missing:
    """Return what becomes of offsets without a row.

    Args:
        partition: number of the partition.
        missing: the offsets, in order.
        log: says which of them are handed out; None when nobody can be asked.
        committed: the group's position, None without one.
    """
    tally = _Tally(committed or 0)
    for span in missing:
        sights = (Sight(span, held=False),) if log is None else log.look(partition, span)
        seen = 0
        for sight in sights:
            tally.lose(sight)
            seen += sight.span.size
        tally.invisible += span.size - seen
    return tally.result()


@dataclass(slots=True)
class _Tally:
    """Numbers that grow.

    Args:
        position: the group's, 0 without one.
    """

    position: int
    lost: int = 0
    untold: int = 0
    invisible: int = 0
    committed: int = 0
    examples: list[Span] = field(default_factory=list)

    def lose(self, sight: Sight) -> None:
        span = sight.span
        self.lost += span.size
        self.untold += 0 if sight.held else span.size
        self.committed += Span(span.first, min(span.end, self.position)).size
        if self.examples and self.examples[-1].end == span.first:
            self.examples[-1] = Span(self.examples[-1].first, span.end)
        elif len(self.examples) <= EXAMPLES:
            # One more than is shown: the last that is shown is whole.
            self.examples.append(span)

    def result(self) -> Missing:
        return Missing(
            lost=self.lost,
            untold=self.untold,
            invisible=self.invisible,
            committed=self.committed,
            first=self.examples[0].first if self.examples else None,
            examples=tuple(self.examples[:EXAMPLES]),
        )
