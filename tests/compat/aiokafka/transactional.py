"""Programs that read what transactions write; run on the original and on the facade alike."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.structs import TopicPartition

Seen = list[object]


@asynccontextmanager
async def _writing(bootstrap: str, tp: TopicPartition) -> AsyncIterator[AIOKafkaProducer]:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=f"by-{tp.topic}")
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


@asynccontextmanager
async def _reading(
    kind: Any, bootstrap: str, tp: TopicPartition, **keywords: Any
) -> AsyncIterator[Any]:
    consumer = kind(bootstrap_servers=bootstrap, auto_offset_reset="earliest", **keywords)
    consumer.assign([tp])
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


async def _write(producer: Any, tp: TopicPartition, *values: bytes) -> None:
    for value in values:
        await producer.send_and_wait(tp.topic, value, partition=tp.partition)


async def _until_read(consumer: Any, tp: TopicPartition, highwater: int) -> Seen:
    """Read nothing until the end of the log is heard; return what is known of the partition."""
    seen: Seen = []
    async with asyncio.timeout(20):
        while consumer.highwater(tp) != highwater or not seen:
            seen = [await consumer.getmany(timeout_ms=500)]
    return [*seen, consumer.last_stable_offset(tp), await consumer.position(tp)]


async def nothing_behind_an_open_transaction(kind: Any, bootstrap: str, tp: TopicPartition) -> Seen:
    """Two records, which wait for the end of their transaction."""
    async with (
        _writing(bootstrap, tp) as producer,
        _reading(kind, bootstrap, tp, isolation_level="read_committed") as consumer,
    ):
        await producer.begin_transaction()
        await _write(producer, tp, b"a", b"b")
        seen = [await _until_read(consumer, tp, 2)]
        await producer.commit_transaction()
        read = [await asyncio.wait_for(consumer.getone(), 20) for _ in range(2)]
        seen += [[(record.offset, record.value) for record in read]]
        return [*seen, await _until_read(consumer, tp, 3)]


async def positions_move_over_what_was_aborted(
    kind: Any, bootstrap: str, tp: TopicPartition
) -> Seen:
    """Three records that nobody gets, and the mark behind them."""
    async with _writing(bootstrap, tp) as producer:
        await producer.begin_transaction()
        await _write(producer, tp, b"a", b"b", b"c")
        await producer.abort_transaction()
    async with _reading(kind, bootstrap, tp, isolation_level="read_committed") as consumer:
        found: Seen = []
        async with asyncio.timeout(20):
            while await consumer.position(tp) != 4:
                found += (await consumer.getmany(timeout_ms=500)).values()
        return [found, consumer.highwater(tp), consumer.last_stable_offset(tp)]


async def marks_are_passed_however_little_is_fetched(
    kind: Any, bootstrap: str, tp: TopicPartition
) -> Seen:
    """A record and a mark, three times; fetches of ten bytes bring one batch each."""
    async with _writing(bootstrap, tp) as producer:
        for value in (b"a", b"b", b"c"):
            async with producer.transaction():
                await _write(producer, tp, value)
    async with _reading(kind, bootstrap, tp, fetch_max_bytes=10) as consumer:
        read = [await asyncio.wait_for(consumer.getone(), 20) for _ in range(3)]
        seen: Seen = [[(record.offset, record.value) for record in read]]
        for mark in (5, 1):
            consumer.seek(tp, mark)
            try:
                seen.append((await asyncio.wait_for(consumer.getone(), 1)).offset)
            except TimeoutError:
                seen.append("nothing")
            seen.append(await consumer.position(tp))
        return seen


PROGRAMS: dict[Any, Seen] = {
    nothing_behind_an_open_transaction: [
        [{}, 0, 0],
        [(0, b"a"), (1, b"b")],
        [{}, 3, 3],
    ],
    positions_move_over_what_was_aborted: [[], 4, 4],
    marks_are_passed_however_little_is_fetched: [
        [(0, b"a"), (2, b"b"), (4, b"c")],
        "nothing",
        6,
        2,
        3,
    ],
}
"""Each program -> what it comes to."""
