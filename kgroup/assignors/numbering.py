"""All partitions of a group as numbers from 0, and selections of them that look like partitions.

Decides: the one order of a group's partitions: by topic name, then by partition number.
Never: makes a million `TopicPartition`s unless a caller walks over them.
KIPs: none; built-in assignors work on these numbers, so their cost in time and memory is that of
integers, and of ranges where partitions are dealt out evenly.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from typing import overload

from kgroup.types import TopicPartition
from kgroup.wire.classic_bytes import utf16_order
from kgroup.wire.partition_runs import PartitionRuns

NOWHERE = (0, 0)  # start and count of a topic that is not there


class PartitionNumbering(Sequence[TopicPartition]):
    """The partitions of some topics in order; the place in that order is a partition's index.

    Args:
        counts: topic -> its partition numbers, in any order; a topic without any is left out.

    Attributes:
        topics: names, in order (UTF-16 code units, as Java sorts them).
        starts: per topic, the index of its first partition; at the end, how many there are.
        numbers: per topic, its partition numbers in order.
    """

    __slots__ = ("_bounds", "_places", "_rank", "numbers", "starts", "topics")

    def __init__(self, counts: Mapping[str, Iterable[int]]) -> None:
        ordered = {topic: _in_order(counts[topic]) for topic in sorted(counts, key=utf16_order)}
        self.topics: tuple[str, ...] = tuple(topic for topic, found in ordered.items() if found)
        self.numbers: tuple[Sequence[int], ...] = tuple(ordered[topic] for topic in self.topics)
        starts = [0]
        for found in self.numbers:
            starts.append(starts[-1] + len(found))
        self.starts: tuple[int, ...] = tuple(starts)
        self._rank = {topic: rank for rank, topic in enumerate(self.topics)}
        self._bounds = {
            topic: (start, len(found))
            for topic, start, found in zip(self.topics, starts, self.numbers, strict=False)
        }
        self._places = {  # only of topics whose numbers have gaps
            topic: {number: place for place, number in enumerate(found)}
            for topic, found in zip(self.topics, self.numbers, strict=True)
            if not isinstance(found, range)
        }

    def span(self, topic: str) -> range:
        """Return the indices of a topic's partitions, empty when it has none here."""
        rank = self._rank.get(topic)
        return range(0) if rank is None else range(self.starts[rank], self.starts[rank + 1])

    def topic_at(self, index: int) -> int:
        """Return the rank (in `topics`) of the topic that the partition of this index is of."""
        return bisect_right(self.starts, index) - 1

    def indices_of(self, partitions: Iterable[TopicPartition]) -> list[int]:
        """Return the indices of those partitions that are here, in the order given."""
        if isinstance(partitions, Numbered) and partitions.numbering is self:
            return list(partitions.indices)
        if self._places:
            return [at for tp in partitions if (at := self._index(tp)) is not None]
        if isinstance(partitions, PartitionRuns | Numbered):
            return _indices_of_runs(partitions.runs(), self._bounds)
        bounds, nowhere = self._bounds, NOWHERE
        return [
            span[0] + number
            for topic, number in partitions
            if 0 <= number < (span := bounds.get(topic, nowhere))[1]
        ]

    def topics_of(self, indices: Sequence[int]) -> set[str]:
        """Return the topics that some partitions are of; fast when the indices are in order."""
        found: set[str] = set()
        begin, end = 0, 0
        for index in indices:
            if not begin <= index < end:
                rank = bisect_right(self.starts, index) - 1
                begin, end = self.starts[rank], self.starts[rank + 1]
                found.add(self.topics[rank])
        return found

    def partition_numbers(self) -> "array[int]":
        """Return, per index, the number of that partition in its topic."""
        return array("i", chain.from_iterable(self.numbers))

    def select(self, indices: Sequence[int]) -> "Numbered":
        """Return some of the partitions.

        Args:
            indices: in the order wanted; kept, not copied.
        """
        return Numbered(self, indices)

    def _index(self, tp: TopicPartition) -> int | None:
        rank = self._rank.get(tp[0])
        if rank is None:
            return None
        places = self._places.get(tp[0])
        if places is not None:
            place = places.get(tp[1])
            return None if place is None else self.starts[rank] + place
        return self.starts[rank] + tp[1] if tp[1] in self.numbers[rank] else None

    def __len__(self) -> int:
        return self.starts[-1]

    def __iter__(self) -> Iterator[TopicPartition]:
        for topic, numbers in zip(self.topics, self.numbers, strict=True):
            yield from map(TopicPartition, repeat(topic), numbers)

    def __contains__(self, tp: object) -> bool:
        return (
            isinstance(tp, tuple) and len(tp) == 2 and self._index(TopicPartition(*tp)) is not None
        )

    @overload
    def __getitem__(self, index: int) -> TopicPartition: ...
    @overload
    def __getitem__(self, index: slice) -> "Numbered": ...
    def __getitem__(self, index: int | slice) -> "TopicPartition | Numbered":
        if isinstance(index, slice):
            return Numbered(self, range(len(self))[index])
        at = range(len(self))[index]
        rank = self.topic_at(at)
        return TopicPartition(self.topics[rank], self.numbers[rank][at - self.starts[rank]])

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """Return the index of a partition.

        Raises:
            ValueError: it is not here.
        """
        if isinstance(value, tuple) and len(value) == 2:
            at = self._index(TopicPartition(*value))
            if at is not None and at in range(len(self))[start:stop]:
                return at
        raise ValueError(f"{value} is not among these partitions")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PartitionNumbering):
            return self.topics == other.topics and self.numbers == other.numbers
        return _equal(self, other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return _shown(self)


class Numbered(Sequence[TopicPartition]):
    """Some partitions of a numbering; equal to the tuple of the same partitions.

    Args:
        numbering: of all partitions.
        indices: which of them, in order.
    """

    __slots__ = ("indices", "numbering")

    def __init__(self, numbering: PartitionNumbering, indices: Sequence[int]) -> None:
        self.numbering: PartitionNumbering = numbering
        self.indices: Sequence[int] = indices

    def runs(self) -> Iterator[tuple[str, list[int]]]:
        """Yield (topic, partition numbers) for each stretch of partitions of one topic."""
        starts, numbers = self.numbering.starts, self.numbering.numbers
        begin, end, topic, run = 0, 0, "", list[int]()
        for index in self.indices:
            if not begin <= index < end:
                if run:
                    yield topic, run
                rank = bisect_right(starts, index) - 1
                begin, end, topic, known = (
                    starts[rank],
                    starts[rank + 1],
                    self.numbering.topics[rank],
                    numbers[rank],
                )
                run = []
            run.append(known[index - begin])
        if run:
            yield topic, run

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[TopicPartition]:
        for topic, numbers in self.runs():
            yield from map(TopicPartition, repeat(topic), numbers)

    @overload
    def __getitem__(self, index: int) -> TopicPartition: ...
    @overload
    def __getitem__(self, index: slice) -> "Numbered": ...
    def __getitem__(self, index: int | slice) -> "TopicPartition | Numbered":
        if isinstance(index, slice):
            return Numbered(self.numbering, self.indices[index])
        return self.numbering[self.indices[index]]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Numbered) and other.numbering is self.numbering:
            return list(self.indices) == list(other.indices)
        return _equal(self, other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return _shown(self)


def _in_order(numbers: Iterable[int]) -> Sequence[int]:
    """Return numbers sorted: as a range when they are 0, 1, 2 ... without a gap."""
    found = numbers if isinstance(numbers, range) else sorted(numbers)
    if found and found[0] == 0 and found[-1] == len(found) - 1:
        return range(len(found))
    return tuple(found)


def _indices_of_runs(
    runs: Iterable[tuple[str, Sequence[int]]], bounds: Mapping[str, tuple[int, int]]
) -> list[int]:
    indices: list[int] = []
    for topic, numbers in runs:
        start, count = bounds.get(topic, NOWHERE)
        if len(numbers) == 1:
            if 0 <= numbers[0] < count:
                indices.append(start + numbers[0])
            continue
        indices.extend([start + number for number in numbers if 0 <= number < count])
    return indices


def _equal(one: Sequence[TopicPartition], other: object) -> bool:
    if not isinstance(other, tuple | Numbered | PartitionNumbering | PartitionRuns):
        return False
    return len(one) == len(other) and all(a == b for a, b in zip(one, other, strict=True))


def _shown(partitions: Sequence[TopicPartition], most: int = 20) -> str:
    names = ", ".join(str(tp) for tp in islice(partitions, most))
    return f"({names}{', ...' if len(partitions) > most else ''})"
