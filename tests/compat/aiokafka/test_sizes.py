"""Bounds of what is fetched: each batch comes however small they are, and never two as one."""

import asyncio

import pytest
from aiokafka.structs import TopicPartition

from tests.compat.aiokafka.ground import A, B, broker_with, made, started

pytestmark = pytest.mark.anyio


async def test_a_record_beyond_the_bound_of_its_partition_comes_by_itself() -> None:
    broker = broker_with(0, t=1)
    for size in (10, 50_000, 50):
        broker.partition("t", 0).append(b"x" * size)
    async with started(broker, "t", max_partition_fetch_bytes=4000) as consumer:
        calls: list[list[int]] = []
        while len(calls) < 3:
            found = await consumer.getmany(timeout_ms=5000)
            calls.append([len(record.value) for record in found[A]])
    assert calls == [[10], [50_000], [50]]


@pytest.mark.parametrize("name", ["fetch_max_bytes", "max_partition_fetch_bytes"])
@pytest.mark.parametrize("size", [0, 1, 300])
async def test_both_partitions_are_served_however_little_is_fetched(name: str, size: int) -> None:
    count = 60
    async with started(broker_with(count), "t", **{name: size}) as consumer:
        seen: dict[TopicPartition, list[int]] = {A: [], B: []}
        for _ in range(90):
            for tp, records in (await consumer.getmany(timeout_ms=1000, max_records=10)).items():
                seen[tp] += [record.offset for record in records]
    assert seen == {A: [*range(count)], B: [*range(count)]}


@pytest.mark.parametrize("nobody_reads", [False, True])
async def test_stopping_does_not_wait_for_a_fetch_that_does(nobody_reads: bool) -> None:
    consumer = made(broker_with(0), "t", fetch_max_wait_ms=60_000, fetch_min_bytes=1000)
    await consumer.start()
    reading = None if nobody_reads else asyncio.ensure_future(consumer.getmany(timeout_ms=90_000))
    await asyncio.sleep(1)
    await asyncio.wait_for(consumer.stop(), 1)
    assert reading is None or await reading == {}
