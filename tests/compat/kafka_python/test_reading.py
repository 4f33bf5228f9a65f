"""poll() and iteration return what kafka-python's users know, and lose nothing."""

import json
import time
from collections.abc import Callable

import pytest
from kafka.errors import IllegalStateError, KafkaTimeoutError
from kafka.serializer import DefaultSerializer, JsonSerializer
from kafka.structs import TopicPartition

from kgroup.compat.kafka_python import KafkaConsumer
from tests.compat.kafka_python.ground import A, B, grounded


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


def test_a_deserialiser_is_told_topic_and_headers_and_closed() -> None:
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


def test_the_release_is_told_of_the_versions_a_broker_takes() -> None:
    with grounded() as ground, ground.consumer(api_version=None) as consumer:
        assert consumer.config["api_version"] >= (4, 0)
    with grounded() as ground, ground.consumer(api_version=(4, 3, 1)) as consumer:
        assert consumer.config["api_version"] == (4, 3)


def test_without_a_broker_it_is_not_made() -> None:
    with pytest.raises(KafkaTimeoutError, match="Unable to bootstrap"):
        KafkaConsumer(bootstrap_servers="127.0.0.1:1", bootstrap_timeout_ms=100)
