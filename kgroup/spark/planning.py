"""What one batch reads, and how it is dealt out to tasks.

Decides: how many offsets of each partition a limit leaves, and which spans a task reads.
Never: knows how many cores there are: Spark's scheduler does.
"""

from collections.abc import Mapping
from heapq import heapify, heapreplace
from types import MappingProxyType
from typing import Final, NamedTuple

from kgroup.spark.offsets import Span
from kgroup.types import TopicPartition

ROWS_PER_TASK: Final = 50_000
"""A task costs about as much as reading so many rows: fewer share one."""
NO_FENCES: Final[Mapping[TopicPartition, int]] = MappingProxyType({})


class Range(NamedTuple):
    """A span of one partition.

    Args:
        tp: the partition.
        begin: first offset.
        end: offset behind the last.
        fence: what fences its owner, None without.
    """

    tp: TopicPartition
    begin: int
    end: int
    fence: int | None = None

    @property
    def rows(self) -> int:
        """The most rows it has."""
        return self.end - self.begin


def shared(backlog: Mapping[TopicPartition, Span], limit: int | None) -> dict[TopicPartition, Span]:
    """Share a limit out by backlog, at least one offset to each partition that has any.

    Args:
        backlog: what there is of each partition.
        limit: most offsets altogether, None for no bound.
    """
    left = sum(end - begin for begin, end in backlog.values())
    if limit is None or left <= limit:
        return dict(backlog)
    found: dict[TopicPartition, Span] = {}
    room = limit
    # The smallest first: what it does not need is shared by the others.
    for tp, (begin, end) in sorted(
        backlog.items(), key=lambda item: (item[1][1] - item[1][0], item)
    ):
        waiting = end - begin
        part = min(waiting, max(room * waiting // left, 1), room) if waiting else 0
        found[tp] = (begin, begin + part)
        room, left = room - part, left - waiting
    return found


def tasks(
    spans: Mapping[TopicPartition, Span],
    at_least: int | None,
    fences: Mapping[TopicPartition, int] = NO_FENCES,
) -> list[tuple[Range, ...]]:
    """Deal spans out to tasks: one for each 50,000 rows, no more than there are ranges.

    Args:
        spans: what is read of each partition.
        at_least: `minPartitions`: large spans are split until there are so many tasks.
        fences: what fences the owner of each; none where that is not known.
    """
    ranges = [
        Range(tp, begin, end, fences.get(tp))
        for tp, (begin, end) in sorted(spans.items())
        if begin < end
    ]
    rows = sum(each.rows for each in ranges)
    count = min(len(ranges), -(-rows // ROWS_PER_TASK))
    if at_least is not None and at_least > len(ranges):
        ranges = _split(ranges, rows, at_least)
        count = len(ranges)
    return _dealt(ranges, max(count, at_least or 0))


def _split(ranges: list[Range], rows: int, wanted: int) -> list[Range]:
    found: list[Range] = []
    for each in ranges:
        parts = min(max(round(wanted * each.rows / rows), 1), each.rows)
        cuts = [each.begin + each.rows * n // parts for n in range(parts + 1)]
        found += [each._replace(begin=cuts[n], end=cuts[n + 1]) for n in range(parts)]
    return found


def _dealt(ranges: list[Range], count: int) -> list[tuple[Range, ...]]:
    """Give the largest range to the task that has the fewest rows, and so on."""
    count = min(count, len(ranges))
    if count == 0:
        return []
    hands: list[list[Range]] = [[] for _ in range(count)]
    heap = [(0, number) for number in range(count)]
    heapify(heap)
    for each in sorted(ranges, key=lambda one: (-one.rows, one)):
        held, number = heap[0]
        hands[number].append(each)
        heapreplace(heap, (held + each.rows, number))
    return [tuple(sorted(hand)) for hand in hands]
