"""Filters that Spark hands over, as ranges; and that no row that passes them is left out."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kgroup.testing.kafka import RealKafka
from kgroup.types import TopicPartition
from tests.spark.ground import made, places

pytestmark = pytest.mark.spark

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def spans() -> Any:
    """Make the span of a partition's part that filters leave."""
    pyspark = pytest.importorskip("pyspark.sql.datasource")
    from kgroup.spark.filters import narrowing  # noqa: PLC0415 - it needs pyspark

    def span(tp: TopicPartition, *filters: tuple[str, str, object]) -> tuple[int, int]:
        given = [getattr(pyspark, kind)((column,), value) for kind, column, value in filters]
        return narrowing(given).span(tp, (10, 20))

    return span


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ((), (10, 20)),
        ((("EqualTo", "partition", 0),), (10, 20)),
        ((("EqualTo", "partition", 1),), (10, 10)),
        ((("In", "partition", (0, 5)), ("In", "partition", (5,))), (10, 10)),
        ((("EqualTo", "offset", 12),), (12, 13)),
        ((("GreaterThan", "offset", 12), ("LessThan", "offset", 15)), (13, 15)),
        ((("GreaterThanOrEqual", "offset", 12), ("LessThanOrEqual", "offset", 15)), (12, 16)),
        ((("LessThan", "offset", 3),), (10, 10)),
        ((("EqualTo", "key", b"x"), ("GreaterThan", "topic", "a")), (10, 20)),
        ((("EqualTo", "timestamp", datetime(2026, 1, 1)),), (10, 20)),  # noqa: DTZ001
    ],
)
def test_filters_leave_a_part_of_a_span(spans: Any, filters: Any, left: tuple[int, int]) -> None:
    assert spans(A, *filters) == left


def test_filters_on_time_become_a_question_to_the_leaders() -> None:
    pyspark = pytest.importorskip("pyspark.sql.datasource")
    from kgroup.spark.filters import narrowing  # noqa: PLC0415 - it needs pyspark

    since = datetime(2026, 1, 1, tzinfo=UTC)
    found = narrowing([pyspark.GreaterThanOrEqual(("timestamp",), since)])
    assert found.since == int(since.timestamp() * 1000)


@pytest.mark.real
def test_a_read_with_push_down_has_the_rows_of_one_without(
    spark: Any, kafka: RealKafka, tmp_path: Path
) -> None:
    reads = made(spark, kafka, tmp_path)
    reads.fill(50)
    condition = "partition IN (0, 2) AND offset >= 7 AND offset < 40 AND timestamp > '2020-01-01'"
    expected = places(reads.batch().where(condition))
    assert len(expected) == 66
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        assert places(reads.batch(pushdown="true").where(condition)) == expected
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
