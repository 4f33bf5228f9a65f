"""What the tests of the facade stand on: consumers on an in-process Kafka, in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.structs import TopicPartition

from kgroup.compat.aiokafka import AIOKafkaConsumer
from kgroup.testing import BrokerSettings, InProcessBroker
from kgroup.testing.virtual_time import virtual_ports

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def broker_with(count: int = 10, *, nodes: int = 1, **topics: int) -> InProcessBroker:
    """Return a cluster with so many records in each partition, in batches of ten."""
    settings = BrokerSettings(auto_create_topics=False)
    broker = InProcessBroker(nodes=nodes, topics=topics or {"t": 2}, settings=settings)
    for topic, width in (topics or {"t": 2}).items():
        for number in range(width):
            fill(broker, TopicPartition(topic, number), count)
    return broker


def fill(broker: InProcessBroker, tp: TopicPartition, count: int) -> None:
    """Write records whose values are their offsets."""
    log = broker.partition(*tp)
    end = log.end + count
    while log.end < end:
        log.append(*(str(at) for at in range(log.end, min(log.end + 10, end))))


def made(broker: InProcessBroker, *topics: str, **keywords: Any) -> AIOKafkaConsumer:
    """Make a consumer of group `g` that reads from the beginning; not started."""
    chosen: dict[str, Any] = {
        "bootstrap_servers": broker.bootstrap_servers,
        "group_id": "g",
        "auto_offset_reset": "earliest",
        "ports": virtual_ports(broker.dial),
        **keywords,
    }
    return AIOKafkaConsumer(*topics, **chosen)


@asynccontextmanager
async def started(
    broker: InProcessBroker, *topics: str, **keywords: Any
) -> AsyncIterator[AIOKafkaConsumer]:
    """Start a consumer, and stop it in the end."""
    consumer = made(broker, *topics, **keywords)
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


def offsets(found: dict[TopicPartition, list[Any]]) -> dict[TopicPartition, list[int]]:
    """Return the offsets of what `getmany` returned."""
    return {tp: [record.offset for record in records] for tp, records in found.items()}


async def until(so: Callable[[], object], within: float = 30.0) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(within):
        while not so():  # noqa: ASYNC110 - what is so there is no event for
            await asyncio.sleep(0.05)


class Heard(ConsumerRebalanceListener):
    """Keeps the calls of a listener."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, set[TopicPartition]]] = []

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        self.calls.append(("revoked", revoked))

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self.calls.append(("assigned", assigned))
