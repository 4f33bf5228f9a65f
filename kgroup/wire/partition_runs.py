"""Partitions as they travel: one topic and its numbers at a time.

Decides: nothing; it is the sequence of `TopicPartition` that the bytes describe.
Never: makes `TopicPartition`s before somebody walks over them: the leader of a large group reads
a million claimed partitions, and needs only their numbers.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Protocol, overload, runtime_checkable

from kgroup.types import TopicPartition

Run = tuple[str, tuple[int, ...]]


@runtime_checkable
class HasRuns(Protocol):
    """A sequence of partitions that knows its stretches of one topic."""

    def runs(self) -> Iterable[tuple[str, Sequence[int]]]:
        """Return (topic, partition numbers) for each stretch of one topic."""
        ...


def runs_of(partitions: Iterable[TopicPartition]) -> Iterable[tuple[str, Sequence[int]]]:
    """Return (topic, partition numbers): by stretch where that is known, else by topic."""
    # A tuple is the common case, and to ask one for a protocol costs more than to write it.
    if not isinstance(partitions, tuple) and isinstance(partitions, HasRuns):
        return partitions.runs()
    rows: dict[str, list[int]] = {}
    for topic, number in partitions:
        rows.setdefault(topic, []).append(number)
    return rows.items()


class PartitionRuns(Sequence[TopicPartition]):
    """A sequence of partitions, equal to the tuple of the same partitions.

    Args:
        runs: (topic, partition numbers), in order; a topic may come again, numbers may repeat.
    """

    __slots__ = ("_length", "_runs")

    def __init__(self, runs: Sequence[Run] = ()) -> None:
        self._runs = tuple(runs)
        self._length = sum(len(numbers) for _, numbers in self._runs)

    def runs(self) -> Sequence[Run]:
        """Return (topic, partition numbers) for each stretch of one topic."""
        return self._runs

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[TopicPartition]:
        each = (map(TopicPartition, repeat(topic), numbers) for topic, numbers in self._runs)
        return chain.from_iterable(each)

    @overload
    def __getitem__(self, index: int) -> TopicPartition: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[TopicPartition, ...]: ...
    def __getitem__(self, index: int | slice) -> TopicPartition | tuple[TopicPartition, ...]:
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PartitionRuns):
            return tuple(self) == tuple(other)
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))
