"""Consumers for tests: one on scripted brokers with a group in memory (`entered`), and one on an
in-process Kafka in a real group (`grouped`)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio

from kgroup.config import ConsumerConfig
from kgroup.consumer import Consumer, Listener
from kgroup.journal import MemorySink
from kgroup.testing import InProcessBroker
from kgroup.testing.broker.handles_group import GroupHandle
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import TopicPartition
from tests.consumer.ground import dial_of
from tests.consumer.memory_backend import Makes, MemoryBackend
from tests.consumer.peers import Peers
from tests.consumer.shelf import Shelf
from tests.contracts.application import until

A, B, C = (TopicPartition("t", number) for number in range(3))

Bytes = bytes | None


@dataclass
class Stage:
    """A consumer, its brokers, its group and its event log."""

    consumer: Consumer[Bytes, Bytes]
    shelf: Shelf
    sink: MemorySink
    makes: Makes

    @property
    def group(self) -> MemoryBackend:
        """The backend of the entered consumer."""
        assert self.makes.made is not None
        return self.makes.made

    async def give(self, *tps: TopicPartition) -> None:
        """Assign partitions and wait until their positions are known."""
        self.group.give(*tps)
        await anyio.sleep(0.01)
        for tp in tps:
            await self.consumer.position(tp)

    def events(self, kind: type[Any]) -> list[Any]:
        """Return the events of a class so far."""
        return [event for event in self.sink.events if isinstance(event, kind)]


def config_for(cluster: Shelf | InProcessBroker, **options: Any) -> ConsumerConfig:
    """Return the options of a consumer of group `g` on these brokers, from the earliest record."""
    defaults = {
        "group_id": "g",
        "bootstrap_servers": "broker-1:9092",
        "ports": virtual_ports(dial_of(cluster)),
        "auto_offset_reset": "earliest",
    }
    return ConsumerConfig.of({**defaults, **options})


def staged(shelf: Shelf, *topics: str, listener: Listener | None = None, **options: Any) -> Stage:
    """Make a consumer of group `g`; not entered."""
    sink, makes = MemorySink(), Makes()
    config = config_for(shelf, journal=sink, **options)
    consumer = Consumer(*topics, config=config, listener=listener).coordinate_by(makes)
    return Stage(consumer, shelf, sink, makes)


@asynccontextmanager
async def entered(shelf: Shelf, *, topics: str = "t", **options: Any) -> AsyncIterator[Stage]:
    """Enter a consumer that has subscribed to `t`."""
    stage = staged(shelf, topics, **options)
    async with stage.consumer:
        yield stage


@asynccontextmanager
async def by_hand(shelf: Shelf, *tps: TopicPartition, **options: Any) -> AsyncIterator[Stage]:
    """Enter a consumer that has assigned partitions."""
    stage = staged(shelf, **options)
    async with stage.consumer:
        stage.consumer.assign(tps)
        yield stage


@dataclass
class Grouped:
    """A member of a classic group, the group, and its cluster."""

    consumer: Consumer[Bytes, Bytes]
    broker: InProcessBroker
    group: GroupHandle
    peers: Peers
    sink: MemorySink

    async def owns(self, *tps: TopicPartition, within: float = 60.0) -> None:
        """Wait until exactly these partitions are owned."""
        await until(lambda: self.consumer.assignment() == set(tps), within, f"owns {tps}")


GROUP: dict[str, Any] = {
    "session_timeout": 10.0,
    "heartbeat_interval": 1.0,
    "max_poll_interval": 60.0,
    "assignors": ("cooperative-sticky",),
}


@asynccontextmanager
async def grouped(
    broker: InProcessBroker,
    *,
    listener: Listener | None = None,
    latency: float = 0.01,
    **options: Any,
) -> AsyncIterator[Grouped]:
    """Enter a member of a group that has subscribed to `t`; it need not own anything."""
    sink, group, peers = MemorySink(), broker.group("g"), Peers(broker, "g")
    broker.node(1).slow(latency)
    config = config_for(broker, journal=sink, **{**GROUP, **options})
    async with Consumer("t", config=config, listener=listener) as consumer:
        yield Grouped(consumer, broker, group, peers, sink)
