"""poll() and iteration return what kafka-python's users know, and lose nothing."""

import asyncio
import json
import time
from collections.abc import Callable

import pytest
from aiokafka import AIOKafkaProducer
from kafka.errors import IllegalStateError, KafkaTimeoutError
from kafka.serializer import DefaultSerializer, JsonSerializer
from kafka.structs import OffsetAndTimestamp, TopicPartition

from kgroup.compat.kafka_python import KafkaConsumer
from tests.compat.kafka_python.ground import A, B, Ground, grounded
from tests.sync.ground import until
from tests.sync.test_forking import in_a_child


def test_a_record_has_the_fields_of_kafka_python() -> None:
    with grounded() as ground:
        log = ground.broker.partition("t", 0)
        log.append(
            "value", key="key", headers=(("h", b"17"), ("n", None)), timestamp=1_700_000_000_123
        )
        with ground.by_hand(A) as consumer:
            record = next(consumer)
    assert (record.topic, record.partition, record.offset) == ("t", 0, 0)
    assert (record.key, record.value, record.headers) == (
        b"key",
        b"value",
        [("h", b"17"), ("n", None)],
    )
    assert (record.timestamp, record.timestamp_type, record.leader_epoch) == (
        1_700_000_000_123,
        0,
        0,
    )
    sizes = (
        record.serialized_key_size,
        record.serialized_value_size,
        record.serialized_header_size,
    )
    assert (sizes, record.checksum) == ((3, 5, 4), None)


def test_poll_returns_lists_by_partition() -> None:
    with grounded(5) as ground, ground.by_hand(A, B) as consumer:
        found: dict[TopicPartition, list[int]] = {}
        while sum(map(len, found.values())) < 10:
            for tp, records in consumer.poll(timeout_ms=1000).items():
                found.setdefault(tp, []).extend(record.offset for record in records)
    assert found == {A: [0, 1, 2, 3, 4], B: [0, 1, 2, 3, 4]}


def test_poll_returns_no_more_than_it_may() -> None:
    with grounded(5) as ground, ground.by_hand(A, max_poll_records=2) as consumer:
        assert len(consumer.poll(timeout_ms=5000)[A]) == 2
        assert len(consumer.poll(timeout_ms=5000, max_records=1)[A]) == 1


def test_poll_without_records_returns_nothing_in_time() -> None:
    with grounded() as ground, ground.by_hand(A) as consumer:
        began = time.monotonic()
        assert consumer.poll(timeout_ms=50) == {}
        assert time.monotonic() - began >= 0.05


def test_poll_refuses_what_kafka_python_refuses() -> None:
    with grounded() as ground:
        with ground.by_hand(A) as consumer:
            with pytest.raises(ValueError, match="negative"):
                consumer.poll(timeout_ms=-1)
            with pytest.raises(ValueError, match="positive"):
                consumer.poll(max_records=0)
            with pytest.raises(TypeError, match="integer"):
                consumer.poll(max_records=1.5)  # type: ignore[arg-type]
        with pytest.raises(IllegalStateError, match="KafkaConsumer is closed"):
            consumer.poll()
        with pytest.raises(StopIteration):
            next(consumer)


def test_iteration_ends_after_its_time_and_goes_on() -> None:
    with grounded(2) as ground, ground.by_hand(A) as consumer:
        assert [next(consumer).offset, next(consumer).offset] == [0, 1]
        consumer.config["consumer_timeout_ms"] = 100
        began = time.monotonic()
        with pytest.raises(StopIteration):
            next(consumer)
        assert time.monotonic() - began >= 0.1
        ground.broker.partition("t", 0).append("x")
        while not (came := [record.offset for record in consumer]):
            pass
        assert came == [2]


def test_deserialisers_are_functions_or_objects() -> None:
    with grounded() as ground:
        ground.broker.partition("t", 0).append(json.dumps({"a": 1}), key="k")
        options = {
            "value_deserializer": JsonSerializer(),
            "key_deserializer": lambda key: key.decode(),
        }
        with ground.by_hand(A, **options) as consumer:
            record = consumer.poll(timeout_ms=5000)[A][0]
    assert (record.key, record.value, record.serialized_value_size) == ("k", {"a": 1}, 8)


def test_a_deserialiser_gets_topic_and_headers_and_is_closed() -> None:
    class Telling(DefaultSerializer):
        closed = False

        def deserialize(self, topic: str, headers: list[tuple[str, bytes]], data: bytes) -> object:
            return topic, headers, super().deserialize(topic, headers, data)

        def close(self) -> None:
            self.closed = True

    telling = Telling()
    with grounded() as ground:
        ground.broker.partition("t", 0).append("x", headers=(("h", b"1"),))
        with ground.by_hand(A, value_deserializer=telling) as consumer:
            assert next(consumer).value == ("t", [("h", b"1")], "x")
    assert telling.closed


def polled(consumer: KafkaConsumer) -> list[int]:
    return [record.value for record in consumer.poll(timeout_ms=5000).get(A, [])]


def iterated(consumer: KafkaConsumer) -> list[int]:
    return [next(consumer).value]


def test_ctrl_c_while_records_are_made_is_raised_and_loses_none() -> None:
    pressed = iter([False, False, False, True])

    def interrupted(data: bytes) -> int:
        if next(pressed, False):
            raise KeyboardInterrupt
        return int(data)

    with grounded(6) as ground, ground.by_hand(A, value_deserializer=interrupted) as consumer:
        with pytest.raises(KeyboardInterrupt):
            consumer.poll(timeout_ms=10_000)
        found: list[int] = []
        while len(found) < 6:
            found += [each.offset for each in consumer.poll(timeout_ms=1000).get(A, [])]
    assert found == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("read", [polled, iterated])
def test_a_record_that_is_refused_stays_in_front(
    read: Callable[[KafkaConsumer], list[int]],
) -> None:
    with grounded(2) as ground, ground.by_hand(A, value_deserializer=int) as consumer:
        ground.broker.partition("t", 0).append("no number", "3")
        seen: list[int] = []
        while len(seen) < 2:
            seen += read(consumer)
        for _ in range(2):
            with pytest.raises(ValueError, match="invalid literal"):
                read(consumer)
        consumer.seek(A, 3)
        assert (seen, read(consumer)) == ([0, 1], [3])


def test_topics_are_read_without_a_group() -> None:
    with grounded(3) as ground, ground.consumer("t", consumer_timeout_ms=1000) as consumer:
        assert {next(consumer).partition for _ in range(6)} == {0, 1}
        assert consumer.assignment() == {A, B}
        assert consumer.subscription() == {"t"}


def test_paused_partitions_rest() -> None:
    with grounded(3) as ground, ground.by_hand(A, B) as consumer:
        consumer.pause(A)
        assert consumer.paused() == {A}
        while not (found := consumer.poll(timeout_ms=1000)):
            pass
        assert set(found) == {B}
        consumer.resume(A)
        assert consumer.paused() == set()
        assert A in consumer.poll(timeout_ms=5000)
        consumer.pause(A)
        consumer.unsubscribe()
        assert consumer.paused() == set()
        with pytest.raises(KeyError):
            consumer.pause(A)


def test_the_release_is_guessed_from_the_versions_a_broker_takes() -> None:
    with grounded() as ground, ground.consumer(api_version=None) as consumer:
        assert consumer.config["api_version"] >= (4, 0)
    with grounded() as ground, ground.consumer(api_version=(4, 3, 1)) as consumer:
        assert consumer.config["api_version"] == (4, 3)


def test_without_a_broker_it_is_not_made() -> None:
    with pytest.raises(KafkaTimeoutError, match="Unable to bootstrap"):
        KafkaConsumer(bootstrap_servers="127.0.0.1:1", bootstrap_timeout_ms=100)


def test_records_that_wait_are_iterated_over_at_once() -> None:
    with grounded(20) as ground, ground.by_hand(A) as consumer:
        assert next(consumer).offset == 0
        began = time.monotonic()
        assert [next(consumer).offset for _ in range(5)] == [1, 2, 3, 4, 5]
        assert time.monotonic() - began < 0.5


def test_one_poll_returns_all_that_waits_of_all_partitions() -> None:
    with grounded(100) as ground, ground.by_hand(A, B) as consumer:
        found = consumer.poll(timeout_ms=5000, max_records=600)
    assert {tp: len(records) for tp, records in found.items()} == {A: 100, B: 100}


@pytest.mark.parametrize("most", [300, 1, 0])
def test_few_bytes_at_a_time_still_deliver_of_every_partition(most: int) -> None:
    """A first batch comes whatever the bound, and the partitions take turns."""
    with grounded() as ground:
        for _ in range(5):
            for number in (0, 1):
                ground.broker.partition("t", number).append("x" * 100)
        with ground.by_hand(A, B, fetch_max_bytes=most) as consumer:
            found = polled_up_to(10, consumer)
    assert found == {A: [0, 1, 2, 3, 4], B: [0, 1, 2, 3, 4]}


def polled_up_to(count: int, consumer: KafkaConsumer) -> dict[TopicPartition, list[int]]:
    """Poll until there are so many records, or 90 times; return their offsets."""
    found: dict[TopicPartition, list[int]] = {A: [], B: []}
    for _ in range(90):
        for tp, records in consumer.poll(timeout_ms=500).items():
            found[tp] += [record.offset for record in records]
        if sum(map(len, found.values())) >= count:
            break
    return found


def test_a_record_larger_than_a_fetch_may_be_is_delivered() -> None:
    with grounded() as ground:
        log = ground.broker.partition("t", 0)
        for size in (10, 50_000, 50):
            log.append("x" * size)
        with ground.by_hand(A, max_partition_fetch_bytes=4000) as consumer:
            assert [len(next(consumer).value) for _ in range(3)] == [10, 50_000, 50]


def test_the_position_moves_over_what_nobody_receives() -> None:
    """Records of a transaction that was aborted, and the mark behind them."""
    with grounded() as ground:
        asyncio.run(in_transaction(ground, "a", "b", abort=True))
        with ground.by_hand(A, isolation_level="read_committed") as consumer:
            until(lambda: consumer.poll(timeout_ms=50) == {} and consumer.position(A) == 3)


def test_a_mark_is_passed_however_little_is_fetched() -> None:
    with grounded() as ground:
        for value in ("a", "b"):
            asyncio.run(in_transaction(ground, value, abort=False))
        with ground.by_hand(A, fetch_max_bytes=10) as consumer:
            assert [next(consumer).offset for _ in range(2)] == [0, 2]
            consumer.seek(A, 3)
            until(lambda: consumer.poll(timeout_ms=50) == {} and consumer.position(A) == 4)


async def in_transaction(ground: Ground, *values: str, abort: bool) -> None:
    """Write to the first partition; aiokafka does."""
    made = AIOKafkaProducer(bootstrap_servers=ground.servers, transactional_id="by-the-test")
    async with made as producer:
        await producer.begin_transaction()
        for value in values:
            await producer.send_and_wait("t", value.encode(), partition=0)
        await (producer.abort_transaction() if abort else producer.commit_transaction())


def test_what_is_asked_about_the_consumer_comes_as_sets() -> None:
    with grounded(1) as ground, ground.consumer("t", group_id="g") as consumer:
        consumer.poll(timeout_ms=5000)
        shown = (
            consumer.assignment(),
            consumer.subscription(),
            consumer.paused(),
            consumer.topics(),
            consumer.partitions_for_topic("t"),
        )
    assert [type(each) for each in shown] == [set] * 5


def test_a_second_close_does_nothing() -> None:
    with grounded(1) as ground, ground.consumer("t", group_id="g") as consumer:
        consumer.poll(timeout_ms=5000)
        consumer.close()
        consumer.close(autocommit=False, timeout_ms=0)
        assert not consumer.bootstrap_connected()


def test_what_a_log_says_of_a_time_equals_kafka_pythons() -> None:
    with grounded() as ground:
        ground.broker.partition("t", 0).append("x", timestamp=1_700_000_000_123)
        with ground.consumer() as consumer:
            found = consumer.offsets_for_times({A: 5, B: 5})
    assert found == {A: OffsetAndTimestamp(0, 1_700_000_000_123, 0), B: None}


def test_a_forked_child_is_refused_as_the_consumer_is_its_parents() -> None:
    with grounded(1) as ground, ground.by_hand(A, group_id="g") as consumer:
        for call in (consumer.poll, consumer.__next__, consumer.commit):
            error = in_a_child(call)
            assert error.startswith("IllegalStateError: ")
            assert "the consumer is of process" in error
        assert in_a_child(consumer.close) is None
        assert next(consumer).offset == 0
