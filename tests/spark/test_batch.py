"""Batch reads on a real broker: the rows another client wrote, each once, and no group joined."""

import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, Producer

from kgroup.testing.kafka import RealKafka
from tests.real.ground import value_at
from tests.spark.ground import made, once, places

pytestmark = [pytest.mark.spark, pytest.mark.real]


def test_all_columns_are_what_was_written(spark: Any, kafka: RealKafka, tmp_path: Path) -> None:
    reads = made(spark, kafka, tmp_path, partitions=1)
    now = int(time.time()) * 1000  # a broker drops what is a week old
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    headers: list[tuple[str, str | bytes | None]] = [("a", b"1"), ("a", None)]
    producer.produce(
        reads.ground.topic, b"v", b"k", partition=0, timestamp=now + 123, headers=headers
    )
    producer.produce(reads.ground.topic, None, None, partition=0, timestamp=now + 5)
    assert producer.flush(20) == 0
    first, second = reads.batch(includeHeaders="true").orderBy("offset").collect()
    assert (bytes(first.key), bytes(first.value)) == (b"k", b"v")
    assert (first.topic, first.partition, first.offset) == (reads.ground.topic, 0, 0)
    assert round(first.timestamp.timestamp() * 1000) == now + 123
    assert first.timestampType == TIMESTAMP_CREATE_TIME - 1
    found = [(row.key, None if row.value is None else bytes(row.value)) for row in first.headers]
    assert found == headers
    assert (second.key, second.value, second.headers) == (None, None, [])


def test_every_record_comes_once_with_its_value(
    spark: Any, kafka: RealKafka, tmp_path: Path
) -> None:
    reads = made(spark, kafka, tmp_path)
    reads.fill(2000)
    rows = reads.batch().select("partition", "offset", "value").collect()
    once(((row[0], row[1]) for row in rows), reads.expected())
    assert all(bytes(row[2]) == value_at(reads.ground.tp(row[0]), row[1]) for row in rows)


def test_offsets_bound_what_is_read(spark: Any, kafka: RealKafka, tmp_path: Path) -> None:
    reads = made(spark, kafka, tmp_path, partitions=2)
    reads.fill(50)
    topic = reads.ground.topic
    frame = reads.batch(
        startingOffsets=f'{{"{topic}": {{"0": 10, "1": -2}}}}',
        endingOffsets=f'{{"{topic}": {{"0": 13, "1": 2}}}}',
    )
    assert places(frame) == [(0, 10), (0, 11), (0, 12), (1, 0), (1, 1)]


def test_an_empty_topic_has_no_rows(spark: Any, kafka: RealKafka, tmp_path: Path) -> None:
    assert made(spark, kafka, tmp_path).batch().count() == 0


def test_large_partitions_are_split_and_nothing_comes_twice(
    spark: Any, kafka: RealKafka, tmp_path: Path
) -> None:
    reads = made(spark, kafka, tmp_path, partitions=2)
    reads.fill(500)
    frame = reads.batch(minPartitions="8")
    assert frame.rdd.getNumPartitions() == 8
    once(places(frame), reads.expected())


def test_aborted_records_and_marks_are_left_out_and_the_end_is_reached(
    spark: Any, kafka: RealKafka, tmp_path: Path
) -> None:
    reads = made(spark, kafka, tmp_path, partitions=1)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": reads.group})
    producer.init_transactions(20)
    for commits in (True, False):
        producer.begin_transaction()
        for number in range(3):
            producer.produce(reads.ground.topic, b"%d" % number, partition=0)
        producer.flush(20)
        end = producer.commit_transaction if commits else producer.abort_transaction
        end(20)
    seen = reads.batch(**{"kafka.isolation.level": "read_committed"})
    assert places(seen) == [(0, 0), (0, 1), (0, 2)]
    assert places(reads.batch()) == [(0, 0), (0, 1), (0, 2), (0, 4), (0, 5), (0, 6)]


def test_a_batch_read_begins_at_what_a_group_has_committed_and_joins_nothing(
    spark: Any, kafka: RealKafka, tmp_path: Path
) -> None:
    reads = made(spark, kafka, tmp_path)
    reads.fill(20)
    reads.drain(maxOffsetsPerTrigger="30")
    reads.fill(5)
    group = {"kafka.group.id": reads.group, "startingOffsets": "committed"}
    assert places(reads.batch(**group)) == [(p, n) for p in range(3) for n in range(20, 25)]
    assert reads.members() == 0
