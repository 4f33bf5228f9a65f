"""Partitions of aiokafka and of ours, which are equal and not of one class.

Decides: what counts as a partition in a call, and that answers hold aiokafka's.
Never: asks whether there is such a partition.
"""

from collections.abc import Iterable, Sequence

from aiokafka.structs import TopicPartition as TheirPartition

from kgroup import TopicPartition

__all__ = ["all_partitions", "ours", "theirs"]


def all_partitions(given: Iterable[object]) -> bool:
    """Tell whether everything in it is a partition, of aiokafka's class or of ours."""
    return all(isinstance(each, TheirPartition | TopicPartition) for each in given)


def ours(tps: Iterable[Sequence[object]]) -> list[TopicPartition]:
    """Return partitions as `kgroup.Consumer` takes them."""
    return [TopicPartition(*tp) for tp in tps]  # type: ignore[arg-type]  # a pair, checked before


def theirs(tp: TopicPartition) -> TheirPartition:
    """Return a partition as aiokafka's users expect it."""
    return TheirPartition(*tp)
