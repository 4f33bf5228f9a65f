"""Sets of offsets as half-open intervals: what was delivered, in memory bounded by its gaps.

Decides: union, overlap and gaps of offset ranges.
Never: holds single offsets; a partition read in order is one interval however long it is.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

__all__ = ["Interval", "Intervals", "total"]

Interval = tuple[int, int]
"""First offset, and the offset after the last."""


def total(intervals: Iterable[Interval]) -> int:
    """Count the offsets of intervals that do not overlap."""
    return sum(end - first for first, end in intervals)


class Intervals:
    """A set of offsets that only grows."""

    __slots__ = ("_ends", "_firsts")

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._ends: list[int] = []

    def __iter__(self) -> "zip[Interval]":
        return zip(self._firsts, self._ends, strict=True)

    def __len__(self) -> int:
        return len(self._firsts)

    def add(self, first: int, end: int) -> tuple[Interval, ...]:
        """Add the offsets from `first` to before `end`; return those that were in already."""
        if first >= end:
            return ()
        if not self._ends or first > self._ends[-1]:
            self._firsts.append(first)
            self._ends.append(end)
            return ()
        if first == self._ends[-1]:  # a partition read in order
            self._ends[-1] = end
            return ()
        known = self.overlap(first, end)
        low = bisect_left(self._ends, first)
        high = bisect_right(self._firsts, end)
        if low < high:
            first = min(first, self._firsts[low])
            end = max(end, self._ends[high - 1])
        self._firsts[low:high] = [first]
        self._ends[low:high] = [end]
        return known

    def overlap(self, first: int, end: int) -> tuple[Interval, ...]:
        """Return the parts of `first` to before `end` that are in the set."""
        if first >= end:
            return ()
        low = bisect_right(self._ends, first)
        high = bisect_left(self._firsts, end)
        return tuple(
            (max(first, a), min(end, b))
            for a, b in zip(self._firsts[low:high], self._ends[low:high], strict=True)
        )

    def missing(self, first: int, end: int) -> tuple[Interval, ...]:
        """Return the parts of `first` to before `end` that are not in the set."""
        if self._firsts and self._firsts[-1] <= first and end <= self._ends[-1]:
            return ()
        gaps: list[Interval] = []
        for a, b in self.overlap(first, end):
            if first < a:
                gaps.append((first, a))
            first = b
        if first < end:
            gaps.append((first, end))
        return tuple(gaps)
