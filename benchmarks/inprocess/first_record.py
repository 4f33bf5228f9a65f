"""From `start()` of aiokafka to its first record, in a group of its own each time.

Decides: that the same consumer with the same options reads the same record from both brokers, and
that neither delays a group's first round.
Never: counts imports, the making of topics, or `stop()`.
"""

import asyncio
import gc
import secrets
import time
from contextlib import ExitStack

import aiokafka

from kgroup.testing import InProcessBroker

TOPIC = "bench-first"
VALUE = b"the first record"
_PATIENCE = 30.0


def in_process(stack: ExitStack) -> str:
    """Serve an in-process broker with the topic until the stack is left; return its address."""
    broker = InProcessBroker(topics={TOPIC: 1})
    broker.partition(TOPIC).append(VALUE)
    return stack.enter_context(broker.serve()).bootstrap


def time_first_records(bootstrap: str, times: int) -> list[float]:
    """Start consumers one after another.

    Args:
        bootstrap: address of a broker that has the topic.
        times: how many; one more goes before as warm-up.

    Returns:
        Seconds of each.
    """
    return [asyncio.run(_bounded(bootstrap)) for _ in range(times + 1)][1:]


async def lay(bootstrap: str) -> None:
    """Write the record to the topic of a real broker."""
    producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    await producer.send_and_wait(TOPIC, VALUE)
    await producer.stop()


async def _bounded(bootstrap: str) -> float:
    gc.collect()
    async with asyncio.timeout(_PATIENCE):
        return await _first_record(bootstrap)


async def _first_record(bootstrap: str) -> float:
    consumer = aiokafka.AIOKafkaConsumer(
        TOPIC,
        bootstrap_servers=bootstrap,
        group_id=f"bench-{secrets.token_hex(8)}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    began = time.perf_counter()
    await consumer.start()
    try:
        record = await consumer.getone()
        took = time.perf_counter() - began
    finally:
        await consumer.stop()
    if (record.value, record.offset) != (VALUE, 0):
        raise SystemExit(f"aiokafka read another record: {record}")
    return took
