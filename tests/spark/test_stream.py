"""Streaming queries on a real broker: each record once in the sink, and all of it committed."""

import shutil
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup.testing.kafka import RealKafka
from tests.spark.ground import Reads, beside, made, once, wait

pytestmark = [pytest.mark.spark, pytest.mark.real]


@pytest.fixture
def reads(spark: Any, kafka: RealKafka, tmp_path: Path) -> Reads:
    return made(spark, kafka, tmp_path)


def test_what_is_there_is_read_once_committed_and_the_member_leaves(reads: Reads) -> None:
    reads.fill(100)
    query = reads.drain(maxOffsetsPerTrigger="70")
    rows = [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]
    assert rows == [70, 70, 70, 70, 20]
    once(reads.sunk(), reads.expected())
    assert reads.committed() == reads.ends()
    wait(lambda: reads.members() == 0, "the group is empty")


def test_a_restart_goes_on_behind_the_checkpoint(reads: Reads) -> None:
    reads.fill(10)
    reads.drain()
    reads.fill(15)
    reads.drain()
    once(reads.sunk(), reads.expected())
    assert reads.committed() == reads.ends()


def test_without_its_checkpoint_a_query_goes_on_at_what_is_committed(reads: Reads) -> None:
    reads.fill(10)
    reads.drain()
    shutil.rmtree(reads.folder / "checkpoint")
    reads.fill(10)
    # A sink skips batches by a log of its own: another query has another folder.
    reads.drain(checkpoint="another", sink="another-sink", startingOffsets="committed")
    once([*reads.sunk(), *reads.sunk("another-sink")], reads.expected())


def test_a_running_query_has_no_lag_when_it_idles(reads: Reads) -> None:
    reads.fill(5)
    query = reads.start()
    try:
        for _ in range(2):
            reads.fill(20)
            wait(lambda: reads.committed() == reads.ends(), "everything is committed")
        assert reads.members() == 1
    finally:
        query.stop()
    once(reads.sunk(), reads.expected())
    wait(lambda: reads.members() == 0, "the member has left")


def test_a_query_in_no_group_commits_nothing_and_begins_at_the_latest(reads: Reads) -> None:
    reads.fill(5)
    options: dict[str, Any] = {"kafka.group.id": None, "startingOffsets": None}
    query = reads.start(**options)
    try:
        wait(lambda: query.lastProgress is not None, "the first trigger is over")
        reads.fill(5)
        wait(lambda: len(reads.sunk()) >= 15, "the new records are in the sink")
    finally:
        query.stop()
    assert reads.sunk() == [(p, n) for p in range(3) for n in range(5, 10)]


@pytest.mark.parametrize(
    ("options", "others"),
    [
        ({}, {"assignors": ("cooperative-sticky",)}),
        ({"kafka.group.protocol": "consumer"}, {"group_protocol": "consumer"}),
    ],
    ids=["classic", "KIP-848"],
)
def test_a_plain_consumer_comes_and_goes_and_every_record_is_handled(
    reads: Reads, options: dict[str, Any], others: dict[str, Any]
) -> None:
    query = reads.start(**options)
    try:
        reads.fill(50)
        wait(lambda: reads.committed() == reads.ends(), "the query has read")
        handled = beside(reads, **others)
        assert handled
        reads.fill(50)
        wait(lambda: reads.committed() == reads.ends(), "the query has all partitions again")
    finally:
        query.stop()
    sunk = reads.sunk()
    assert len(sunk) == len(set(sunk))
    assert {*sunk, *handled} == reads.expected()


def test_a_partition_that_is_added_is_read_from_its_beginning(reads: Reads) -> None:
    reads.fill(5)
    options: dict[str, Any] = {"kafka.metadata.max.age.ms": "1000"}
    query = reads.start(**options)
    try:
        wait(lambda: reads.committed() == reads.ends(), "the query has read")
        anyio.run(reads.ground.widen, 4)
        reads.fill(5)
        wait(lambda: reads.committed() == reads.ends(), "the new partition was read")
    finally:
        query.stop()
    once(reads.sunk(), reads.expected())


def test_a_checkpoint_that_is_written_asynchronously_changes_nothing_in_the_group(
    reads: Reads,
) -> None:
    query = (
        reads.stream()
        .writeStream.format("noop")
        .option("checkpointLocation", str(reads.folder / "checkpoint"))
        .option("asyncProgressTrackingEnabled", "true")
        .trigger(processingTime="0 seconds")
        .start()
    )
    try:
        for _ in range(3):
            reads.fill(1)
            wait(lambda: reads.committed() == reads.ends(), "everything is committed")
    finally:
        query.stop()
