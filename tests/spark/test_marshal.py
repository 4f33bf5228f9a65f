"""Queries in groups that claim by a log, on a real broker: shared, committed, fenced."""

from pathlib import Path
from typing import Any

import pytest

from kgroup.testing.kafka import RealKafka, create_topic
from tests.spark.ground import Reads, beside, made, once, wait

pytestmark = [pytest.mark.spark, pytest.mark.real]


@pytest.fixture
def reads(spark: Any, kafka: RealKafka, tmp_path: Path) -> Reads:
    appended = {"message.timestamp.type": "LogAppendTime"}
    create_topic(kafka.bootstrap, f"claims-{tmp_path.name}", 1, settings=appended)
    return made(spark, kafka, tmp_path)


def claiming(reads: Reads) -> dict[str, Any]:
    return {
        "kgroup.backend": "marshal",
        "kgroup.coordination_topic": f"claims-{reads.folder.name}",
        "kgroup.marshal_heartbeat_interval": "1",
    }


def test_a_query_shares_its_group_with_a_plain_consumer(reads: Reads) -> None:
    options = claiming(reads)
    query = reads.start(**options)
    try:
        reads.fill(30)
        wait(lambda: reads.committed() == reads.ends(), "the query has read")
        plain = {name.removeprefix("kgroup."): value for name, value in options.items()}
        handled = beside(reads, **{**plain, "marshal_heartbeat_interval": 1})
        reads.fill(30)
        wait(lambda: reads.committed() == reads.ends(), "the query has read the rest")
    finally:
        query.stop()
    sunk = reads.sunk()
    assert len(sunk) == len(set(sunk))
    assert {*sunk, *handled} == reads.expected()


def test_each_row_has_the_fence_of_its_partition_s_owner(reads: Reads) -> None:
    reads.fill(10)
    options = {**claiming(reads), "includeFence": "true"}
    reads.drain(**options)
    reads.fill(10)
    reads.drain(**options)
    once(reads.sunk(), reads.expected())
    table = reads.spark.read.parquet(str(reads.folder / "sink"))
    fences = {
        (row.partition, row.offset // 10): row.fence
        for row in table.select("partition", "offset", "fence").collect()
    }
    assert all(fences[number, 0] < fences[number, 1] for number in range(3))
