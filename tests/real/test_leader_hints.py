"""A leader that moves on a real cluster: the answer of the old one names the new one (KIP-951)."""

from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest
from confluent_kafka import ElectionType
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient

from kgroup import Consumer
from kgroup.codes import ApiKey
from kgroup.journal import AnswerReceived, MemorySink, RequestSent
from kgroup.testing.kafka import RealKafka
from tests.real.ground import Ground, eventually, lay_ground

pytestmark = [
    pytest.mark.real,
    pytest.mark.faults,
    pytest.mark.no_stand_in("it elects no leader by request"),
]


async def test_a_leader_that_is_named_is_asked_without_waiting_for_metadata(
    kafka_cluster: RealKafka,
) -> None:
    preferred, other = kafka_cluster.nodes[:2]
    ground = await lay_ground(kafka_cluster, 1, replicas=[[preferred, other]])
    beside = await lay_ground(kafka_cluster, 1, replicas=[[preferred]])
    await ground.fill(5)
    await away_from(ground, preferred)
    sink = MemorySink()
    async with Consumer(
        bootstrap_servers=kafka_cluster.bootstrap,
        auto_offset_reset="earliest",
        fetch_max_wait=0.1,
        journal=sink,
    ) as consumer:
        consumer.assign([ground.tp(0)])
        for offset in range(5):
            assert (await consumer.getone(timeout=20)).offset == offset
        # So that there is a connection to the next leader, and the order tells the cause.
        await consumer.end_offsets(beside.tp(0))
        began = len(sink.events)
        await anyio.to_thread.run_sync(elect_preferred, ground)
        ground.write(1)
        assert (await consumer.getone(timeout=20)).offset == 5
        since = sink.events[began:]
    # The position is checked with the new leader (KIP-320) while metadata is still on its way.
    assert first(since, is_check) < first(since, is_metadata)


def first(events: Sequence[object], kind: Callable[[object], bool]) -> int:
    return next(n for n, event in enumerate(events) if kind(event))


def is_check(event: object) -> bool:
    return isinstance(event, RequestSent) and event.api is ApiKey.OFFSET_FOR_LEADER_EPOCH


def is_metadata(event: object) -> bool:
    return isinstance(event, AnswerReceived) and event.api is ApiKey.METADATA


async def away_from(ground: Ground, preferred: int) -> None:
    """Have another broker lead the partition, with the preferred one back and in sync."""
    await anyio.to_thread.run_sync(ground.kafka.kill, preferred)
    elsewhere = lambda: leader_of(ground) not in (preferred, -1)  # noqa: E731 - one use
    await eventually(elsewhere, "another one leads", timeout=30)
    await anyio.to_thread.run_sync(ground.kafka.restart, preferred)
    await eventually(lambda: in_sync(ground) == 2, "both replicas are in sync", timeout=30)
    assert leader_of(ground) != preferred


def leader_of(ground: Ground) -> int:
    return int(_partition(ground).leader)


def in_sync(ground: Ground) -> int:
    return len(_partition(ground).isrs)


def elect_preferred(ground: Ground) -> None:
    admin = AdminClient({"bootstrap.servers": ground.kafka.bootstrap})
    asked = admin.elect_leaders(ElectionType.PREFERRED, [Place(ground.topic, 0)])
    results = asked.result(20)
    assert all(error is None for error in results.values()), results


def _partition(ground: Ground) -> Any:
    admin = AdminClient({"bootstrap.servers": ground.kafka.bootstrap, "log_level": 0})
    return admin.list_topics(ground.topic, timeout=10).topics[ground.topic].partitions[0]
