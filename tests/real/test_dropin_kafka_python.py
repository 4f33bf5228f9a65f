"""The stand-in for kafka-python's consumer on a real broker, beside kafka-python itself.

Its own tests are run by `pytest -p tests.dropin.kafka_python_plugin`; here is what needs no
foreign tree.
"""

import threading
import time
import warnings
from typing import Any

import anyio
import pytest

from kgroup.compat.kafka_python import KafkaConsumer
from kgroup.testing.kafka import RealKafka
from tests.real.ground import Ground, committed, fresh, lay_ground, value_at

pytestmark = pytest.mark.real


def consumer(ground: Ground, group: str, **configs: Any) -> KafkaConsumer:
    chosen = {"auto_offset_reset": "earliest", "heartbeat_interval_ms": 300, **configs}
    servers = ground.kafka.bootstrap
    return KafkaConsumer(ground.topic, bootstrap_servers=servers, group_id=group, **chosen)


async def test_what_one_member_delivered_the_next_one_does_not_get(kafka: RealKafka) -> None:
    ground, group = await lay_ground(kafka, 2), fresh("group")
    await ground.fill(100)

    def read() -> list[bytes]:
        with consumer(ground, group) as first:
            seen = [next(first).value for _ in range(180)]
        with consumer(ground, group, consumer_timeout_ms=10_000) as second:
            return seen + [next(second).value for _ in range(20)]

    seen = await anyio.to_thread.run_sync(read)
    assert sorted(seen) == sorted(value_at(*place) for place in ground.expected())
    assert await anyio.to_thread.run_sync(committed, kafka, group) == {0: 100, 1: 100}


async def test_members_in_threads_share_with_one_of_kafka_python(kafka: RealKafka) -> None:
    ground, group = await lay_ground(kafka, 6), fresh("group")
    await ground.fill(50)
    seen: list[bytes] = []

    def run(member: Any) -> None:
        while not over.is_set():
            for records in member.poll(timeout_ms=100).values():
                seen.extend(record.value for record in records)
        member.close()

    over, members = threading.Event(), [consumer(ground, group), consumer(ground, group)]
    members.append(await anyio.to_thread.run_sync(original, ground, group))
    threads = [threading.Thread(target=run, args=(member,)) for member in members]
    for thread in threads:
        thread.start()
    try:
        await anyio.to_thread.run_sync(until_shared, members)
        await ground.fill(50)
        await anyio.to_thread.run_sync(until_read, seen, 600)
    finally:
        over.set()
        for thread in threads:
            await anyio.to_thread.run_sync(thread.join, 10)
    assert not any(thread.is_alive() for thread in threads)
    assert set(seen) == {value_at(*place) for place in ground.expected()}


def original(ground: Ground, group: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from kafka import KafkaConsumer as Original  # noqa: PLC0415 - it warns when it is imported

        return Original(
            ground.topic,
            bootstrap_servers=ground.kafka.bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            heartbeat_interval_ms=300,
        )


def until_shared(members: list[Any]) -> None:
    end = time.monotonic() + 30
    while [len(each.assignment()) for each in members] != [2, 2, 2]:
        assert time.monotonic() < end
        time.sleep(0.05)


def until_read(seen: list[bytes], count: int) -> None:
    end = time.monotonic() + 30
    while len(set(seen)) < count:
        assert time.monotonic() < end
        time.sleep(0.05)
