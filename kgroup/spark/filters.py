"""Filters of a batch read that narrow what is fetched: on partition, offset and timestamp.

Decides: what a filter that Spark hands over means for ranges.
Never: drops a row: Spark applies every filter again.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from pyspark.sql.datasource import (
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from kgroup.spark.offsets import Span
from kgroup.types import TopicPartition
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What rows can pass the filters of a read.

    Args:
        partitions: numbers, None for all.
        first: lowest offset.
        end: offset behind the highest, None for no bound.
        since: earliest timestamp, milliseconds since the epoch; None for all.
    """

    partitions: frozenset[int] | None = None
    first: int = 0
    end: int | None = None
    since: int | None = None

    def span(self, tp: TopicPartition, span: Span) -> Span:
        """Return the part of a span in which rows may pass; an empty one when none can."""
        begin, end = span
        if self.partitions is not None and tp.partition not in self.partitions:
            return begin, begin
        begin = max(begin, self.first)
        end = end if self.end is None else min(end, self.end)
        return begin, max(begin, end)


NOTHING = Narrowing()


def narrowing(filters: Iterable[Any]) -> Narrowing:
    """Return what some filters, all of which hold, mean for ranges.

    Args:
        filters: of `pyspark.sql.datasource`; those on other columns mean nothing.
    """
    found: Mapping[str, Any] = {"partitions": None, "first": 0, "end": None, "since": None}
    for each in filters:
        found = {**found, **_meaning(each, found)}
    return Narrowing(**found)


def _meaning(each: Any, found: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    match each:
        case EqualTo(attribute=("partition",), value=int(value)):
            return {"partitions": _both(found["partitions"], {value})}
        case In(attribute=("partition",), value=values):
            return {"partitions": _both(found["partitions"], set(values))}
        case EqualTo(attribute=("offset",), value=int(value)):
            return {"first": max(found["first"], value), "end": _least(found["end"], value + 1)}
        case GreaterThan(attribute=("offset",), value=int(value)):
            return {"first": max(found["first"], value + 1)}
        case GreaterThanOrEqual(attribute=("offset",), value=int(value)):
            return {"first": max(found["first"], value)}
        case LessThan(attribute=("offset",), value=int(value)):
            return {"end": _least(found["end"], value)}
        case LessThanOrEqual(attribute=("offset",), value=int(value)):
            return {"end": _least(found["end"], value + 1)}
        case GreaterThan(attribute=("timestamp",), value=datetime() as value) if value.tzinfo:
            return {"since": max(found["since"] or 0, _milliseconds(value))}
        case GreaterThanOrEqual(attribute=("timestamp",), value=datetime() as value) if (
            value.tzinfo
        ):
            return {"since": max(found["since"] or 0, _milliseconds(value))}
        case _:
            return {}


def _both(before: frozenset[int] | None, values: set[int]) -> frozenset[int]:
    return frozenset(values) if before is None else before & values


def _least(before: int | None, value: int) -> int:
    return value if before is None else min(before, value)


def _milliseconds(value: datetime) -> int:
    return max(int(value.timestamp() * 1000), 0)
