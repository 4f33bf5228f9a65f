"""A read that is cancelled at any of its waits has taken nothing: each record comes once, in order.

Not by time but by wait: the read is driven by hand, and at its n-th wait the cancellation is what
it gets instead of what it waited for, also where that had come already.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any

import pytest
from aiokafka.structs import ConsumerRecord, TopicPartition

from kgroup.compat.aiokafka import AIOKafkaConsumer
from tests.compat.aiokafka.ground import A, B, broker_with, fill, started

pytestmark = pytest.mark.anyio

Records = list["ConsumerRecord[Any, Any]"]
Read = Callable[[AIOKafkaConsumer], Coroutine[Any, Any, Records]]
_COUNT = 3


@coroutine
def cut(read: Coroutine[Any, Any, Records], at: int) -> Generator[Any, Any, Records | None]:
    """Await a read whose wait of that number is cancelled; None when it had none of that number."""
    waits = 0
    try:
        waiting = read.send(None)
        while True:
            if waits == at:
                read.throw(asyncio.CancelledError)
                raise AssertionError("a read goes on after it was cancelled")
            waits += 1
            yield waiting
            waiting = read.send(None)
    except StopIteration as ended:
        found: Records = ended.value
        return found


async def _one(consumer: AIOKafkaConsumer) -> Records:
    return [await consumer.getone()]


async def _one_of(consumer: AIOKafkaConsumer) -> Records:
    return [await consumer.getone(A, B)]


async def _next(consumer: AIOKafkaConsumer) -> Records:
    return [await anext(aiter(consumer))]


async def _many(consumer: AIOKafkaConsumer) -> Records:
    found = await consumer.getmany(timeout_ms=20_000)
    return [record for records in found.values() for record in records]


async def _many_of(consumer: AIOKafkaConsumer) -> Records:
    found = await consumer.getmany(A, B, timeout_ms=20_000, max_records=2)
    return [record for records in found.values() for record in records]


READS: list[Read] = [_one, _one_of, _next, _many, _many_of]


@pytest.mark.parametrize("read", READS, ids=lambda read: read.__name__.strip("_"))
@pytest.mark.parametrize("waits_for_records", [False, True])
async def test_a_read_that_is_cancelled_at_any_of_its_waits_takes_nothing(
    read: Read, waits_for_records: bool
) -> None:
    cuts = 0
    while not await _cut_once(read, cuts, waits_for_records):
        cuts += 1
    assert cuts > 0


async def _cut_once(read: Read, at: int, waits_for_records: bool) -> bool:
    """Read all with one read cut; return whether that read came to its end before."""
    broker = broker_with(0 if waits_for_records else _COUNT)
    async with started(broker, "t", fetch_max_wait_ms=20) as consumer:
        if waits_for_records:
            for tp in (A, B):
                asyncio.get_running_loop().call_later(0.1, fill, broker, tp, _COUNT)
        else:
            await asyncio.sleep(1)  # what is there is fetched
        seen: list[tuple[TopicPartition, int]] = []
        whole = True
        try:
            got: Records | None = await cut(read(consumer), at)
        except asyncio.CancelledError:
            got, whole = [], False
        while got is not None:
            seen += [(TopicPartition(each.topic, each.partition), each.offset) for each in got]
            if len(seen) >= 2 * _COUNT:
                break
            got = await asyncio.wait_for(read(consumer), 10)
        for tp in (A, B):
            assert [offset for each, offset in seen if each == tp] == [*range(_COUNT)]
        return whole


@pytest.mark.parametrize("read", READS, ids=lambda read: read.__name__.strip("_"))
@pytest.mark.parametrize("at", range(2 * _COUNT))
async def test_what_stops_a_deserialiser_from_outside_takes_nothing_away(
    read: Read, at: int
) -> None:
    made: list[bytes] = []

    def interrupted(value: bytes) -> bytes:
        made.append(value)
        if len(made) == at + 1:
            raise _Interrupt
        return value

    async with started(broker_with(_COUNT), "t", value_deserializer=interrupted) as consumer:
        await asyncio.sleep(1)  # so that one read has both partitions
        seen: list[tuple[TopicPartition, int]] = []
        while len(seen) < 2 * _COUNT:
            try:
                got = await asyncio.wait_for(read(consumer), 10)
            except _Interrupt:
                continue
            seen += [(TopicPartition(each.topic, each.partition), each.offset) for each in got]
        for tp in (A, B):
            assert [offset for each, offset in seen if each == tp] == [*range(_COUNT)]


class _Interrupt(BaseException):
    """As a KeyboardInterrupt that a signal raises amid the application's own code."""
