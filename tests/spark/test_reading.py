"""What a task yields: every record of its ranges once, in the columns of Spark's own source.

No Spark is needed: a task is a function that yields Arrow batches. The brokers are in this process.
"""

import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from crc32c import crc32c

from kgroup.spark.options import SourceOptions
from kgroup.spark.planning import Range
from kgroup.spark.reading import RangeError, read
from kgroup.spark.worker import disconnect_worker
from kgroup.testing import InProcessBroker
from kgroup.types import TopicPartition
from kgroup.wire.records import NewRecord, encode_batch

pytestmark = pytest.mark.kgroup_broker(topics={"t": 3})

TPS = [TopicPartition("t", number) for number in range(3)]
COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]


@pytest.fixture
def broker(kgroup_broker: InProcessBroker) -> Iterator[InProcessBroker]:
    """A Kafka; the consumer that tasks of this process share ends before it."""
    yield kgroup_broker
    disconnect_worker()


def batches(
    broker: InProcessBroker, *ranges: Range, streaming: bool = False, **options: str
) -> list[Any]:
    """Run a task."""
    given = {
        "kafka.bootstrap.servers": broker.bootstrap_servers,
        "subscribe": "t",
        "kafkaConsumer.pollTimeoutMs": "5000",
        **{name.replace("__", "."): value for name, value in options.items()},
    }
    return list(read(SourceOptions.of(given, streaming=streaming), ranges))


def rows(found: list[Any]) -> list[tuple[int, int]]:
    """Return partition and offset of each row."""
    return [
        (row["partition"], row["offset"])
        for batch in found
        for row in batch.select(["partition", "offset"]).to_pylist()
    ]


def fill(broker: InProcessBroker, count: int) -> None:
    for tp in TPS:
        for number in range(count):
            broker.partition(*tp).append(f"{tp}@{number}")


def test_ranges_of_several_partitions_are_read_side_by_side(broker: InProcessBroker) -> None:
    fill(broker, 20)
    found = batches(broker, Range(TPS[0], 3, 17), Range(TPS[1], 0, 20), Range(TPS[2], 19, 20))
    expected = [(0, n) for n in range(3, 17)] + [(1, n) for n in range(20)] + [(2, 19)]
    assert sorted(rows(found)) == expected


def test_two_ranges_of_one_partition_are_read_one_after_the_other(broker: InProcessBroker) -> None:
    fill(broker, 20)
    found = batches(broker, Range(TPS[0], 0, 5), Range(TPS[0], 15, 20))
    assert rows(found) == [(0, n) for n in [*range(5), *range(15, 20)]]


def test_the_columns_are_those_of_spark_s_own_source(broker: InProcessBroker) -> None:
    broker.partition("t", 0).append("v", key="k", timestamp=1_700_000_000_123)
    (found,) = batches(broker, Range(TPS[0], 0, 1))
    (row,) = found.to_pylist()
    assert found.schema.names == COLUMNS
    assert found.schema.field("timestamp").type == pa.timestamp("us", "UTC")
    assert row["timestamp"].timestamp() == 1_700_000_000.123
    assert {**row, "timestamp": None} == {
        "key": b"k",
        "value": b"v",
        "topic": "t",
        "partition": 0,
        "offset": 0,
        "timestamp": None,
        "timestampType": 0,
    }


def test_headers_and_the_fence_come_if_asked_for(broker: InProcessBroker) -> None:
    broker.partition("t", 0).append("v", headers=(("a", b"1"),))
    (found,) = batches(
        broker,
        Range(TPS[0], 0, 1, 41),
        streaming=True,
        includeHeaders="true",
        includeFence="true",
        kgroup__backend="marshal",
    )
    assert found.schema.names == [*COLUMNS, "headers", "fence"]
    assert found.column("headers").to_pylist() == [[{"key": "a", "value": b"1"}]]
    assert found.column("fence").to_pylist() == [41]


def test_a_record_of_twenty_megabytes_is_read(broker: InProcessBroker) -> None:
    large = NewRecord(None, bytes(20 * 1024 * 1024), (), 0)
    broker.partition("t", 0).append_raw(encode_batch([large]))
    (found,) = batches(broker, Range(TPS[0], 0, 1))
    assert len(found.column("value")[0].as_py()) == 20 * 1024 * 1024


def test_a_range_that_ends_in_a_hole_ends_all_the_same(broker: InProcessBroker) -> None:
    emptied = encode_batch([NewRecord(None, b"kept", (), 0)])
    broker.partition("t", 0).append_raw(emptied, offsets=1)
    broker.partition("t", 0).append("next")
    broker.partition("t", 0).append_raw(_spread(emptied, 2, 5), offsets=5)
    assert rows(batches(broker, Range(TPS[0], 0, 7))) == [(0, 0), (0, 1), (0, 2)]


def _spread(batch: bytes, first: int, offsets: int) -> bytes:
    """Let a batch of one record span several offsets, as compaction leaves it."""
    spread = bytearray(batch)
    spread[:8] = first.to_bytes(8, "big")
    spread[23:27] = (offsets - 1).to_bytes(4, "big")
    spread[17:21] = crc32c(bytes(spread[21:])).to_bytes(4, "big")
    return bytes(spread)


def test_a_damaged_record_is_named_with_the_way_out(broker: InProcessBroker) -> None:
    fill(broker, 2)
    damaged = bytearray(encode_batch([NewRecord(None, b"value", (), 0)]))
    damaged[:8] = (2).to_bytes(8, "big")
    damaged[-1] ^= 0xFF
    broker.partition("t", 0).append_raw(bytes(damaged))
    with pytest.raises(RangeError, match=r"t-0.* offset 2.*endingOffsets, leaves it out"):
        batches(broker, Range(TPS[0], 0, 3))


def test_a_log_that_begins_behind_the_range_is_named_with_the_way_out(
    broker: InProcessBroker,
) -> None:
    fill(broker, 5)
    broker.partition("t", 0).delete_before(3)
    with pytest.raises(RangeError, match=r"t-0.*failOnDataLoss=false"):
        batches(broker, Range(TPS[0], 0, 5))
    assert rows(batches(broker, Range(TPS[0], 0, 5), failOnDataLoss="false")) == [(0, 3), (0, 4)]


def test_a_partition_that_nobody_serves_is_named_after_the_time_that_was_given(
    broker: InProcessBroker,
) -> None:
    fill(broker, 1)
    broker.partition("t", 0).hold_back(0)
    with pytest.raises(RangeError, match=r"t-0: no record came for 0.3 s at offset 0, before 1"):
        batches(broker, Range(TPS[0], 0, 1), kafkaConsumer__pollTimeoutMs="300")


def test_a_worker_keeps_one_consumer_for_all_its_tasks(broker: InProcessBroker) -> None:
    fill(broker, 2)
    batches(broker, Range(TPS[0], 0, 1))
    before = threading.active_count()
    batches(broker, Range(TPS[0], 1, 2))
    batches(broker, Range(TPS[0], 0, 1), kafka__client__id="another")
    assert threading.active_count() == before
    disconnect_worker()
    assert threading.active_count() < before
