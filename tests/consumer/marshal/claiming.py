"""Whole consumers that claim, their cluster and its log of claims, for tests."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from kgroup.consumer import Consumer, Listener
from kgroup.marshal.messages import Kind, Message, decode
from kgroup.testing import InProcessBroker
from kgroup.types import TopicPartition
from kgroup.wire.messages import ProduceRequest
from kgroup.wire.records import iter_batches
from tests.consumer.entered import config_for
from tests.consumer.ground import fill
from tests.consumer.marshal.stage import LOG, Writer, coordinated
from tests.contracts.application import until

A, B = TopicPartition("t", 0), TopicPartition("t", 1)

INTERVAL = 5
LEASE = 2.0 * INTERVAL
"""Seconds from a heartbeat until a key is free."""

Bytes = bytes | None


@dataclass(frozen=True, slots=True)
class Said:
    """One message about a partition in the log of claims."""

    offset: int
    message: Message

    @property
    def words(self) -> tuple[Kind, int]:
        """Its kind and its position."""
        return self.message.kind, self.message.tail


def kafka(width: int = 1, *, records: int = 10, nodes: int = 1, **options: Any) -> InProcessBroker:
    """Return a cluster with topic `t`, records in every partition, and one log of claims."""
    broker = coordinated(nodes=nodes, t=width, **options)
    for number in range(width):
        fill(broker, TopicPartition("t", number), records)
    for node_id in range(1, nodes + 1):
        broker.node(node_id).slow(0.01)
    return broker


def said(broker: InProcessBroker, tp: TopicPartition = A, *kinds: Kind) -> list[Said]:
    """Return the messages about a partition in the log, in order; of some kinds, or all."""
    found = []
    for record in broker.partition(LOG).records():
        message = decode(record.value or b"")
        if not isinstance(message, Message) or (kinds and message.kind not in kinds):
            continue
        if (message.topic, message.partition) == (tp.topic.encode(), tp.partition):
            found.append(Said(record.offset, message))
    return found


def foreign(broker: InProcessBroker, client: str = "other") -> Writer:
    """Return another writer of the log of claims."""
    return Writer(broker.partition(LOG), client)


@asynccontextmanager
async def claiming(
    broker: InProcessBroker,
    *topics: str,
    name: str | None = "one",
    listener: Listener | None = None,
    **options: Any,
) -> AsyncIterator[Consumer[Bytes, Bytes]]:
    """Enter a consumer that claims partitions of `t`, unless other topics are named."""
    chosen = {"backend": "marshal", "marshal_heartbeat_interval": INTERVAL, **options}
    config = config_for(broker, group_instance_id=name, **chosen)
    async with Consumer(*(topics or ("t",)), config=config, listener=listener) as consumer:
        yield consumer


async def owns(consumer: Consumer[Any, Any], *tps: TopicPartition, within: float = 60.0) -> None:
    """Wait until exactly these partitions are owned."""
    await until(lambda: consumer.assignment() == set(tps), within, f"owns {tps}")


async def gives(consumer: Consumer[Any, Any], count: int, *, timeout: float = 30.0) -> list[int]:
    """Read so many records one by one; return their offsets."""
    return [(await consumer.getone(timeout=timeout)).offset for _ in range(count)]


def says(kind: Kind, tail: int | None = None) -> Callable[[ProduceRequest], bool]:
    """Return a condition: a request writes a message of a kind about a partition of `t`."""

    def condition(asked: ProduceRequest) -> bool:
        rows = [row for topic in asked.topic_data for row in topic.partition_data]
        batches = [batch for row in rows for batch in iter_batches(row.records or b"")]
        values = [value for batch in batches for value in batch.columns().values()]
        written = [decode(bytes(value or b"")) for value in values]
        return any(
            isinstance(one, Message)
            and (one.topic, one.kind) == (b"t", kind)
            and tail in (None, one.tail)
            for one in written
        )

    return condition


async def one_by_one(consumer: Consumer[Any, Any]) -> AsyncGenerator[int, None]:
    while True:
        yield (await consumer.getone()).offset


async def many(consumer: Consumer[Any, Any]) -> AsyncGenerator[int, None]:
    while True:
        for batch in (await consumer.getmany(timeout=5.0)).values():
            for record in batch:
                yield record.offset


async def batches(consumer: Consumer[Any, Any]) -> AsyncGenerator[int, None]:
    async for batch in consumer.batches():
        for record in batch:
            yield record.offset


async def records(consumer: Consumer[Any, Any]) -> AsyncGenerator[int, None]:
    async for record in consumer:
        yield record.offset


Way = Callable[[Consumer[Any, Any]], AsyncGenerator[int, None]]
WAYS: tuple[Way, ...] = (one_by_one, many, batches, records)
"""Every way of reading: each yields the offsets it is handed out."""
