"""Reads cut short at random points on a real broker: no record lost, none twice.

Symptom 5 (a cancelled read stopped the reading): https://github.com/aio-libs/aiokafka/issues/983
"""

import random
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup import Consumer
from kgroup.testing.kafka import RealKafka
from kgroup.types import TopicPartition
from tests.real.ground import Ground, committed, eventually, lay_ground
from tests.real.members import Group, Member, group_on

pytestmark = pytest.mark.real

CANCELLATIONS = 200
PATIENCE = 20.0

Seen = list[tuple[TopicPartition, int]]
Read = Callable[[Seen], Awaitable[None]]


async def one(consumer: Consumer[Any, Any], seen: Seen) -> None:
    record = await consumer.getone()
    seen.append((record.tp, record.offset))


async def many(consumer: Consumer[Any, Any], seen: Seen) -> None:
    for tp, batch in (await consumer.getmany(max_records=7, timeout=PATIENCE)).items():
        seen.extend((tp, record.offset) for record in batch)


async def next_batch(batches: Any, seen: Seen) -> None:
    batch = await anext(batches)
    seen.extend((batch.partition, record.offset) for record in batch)


async def next_record(records: Any, seen: Seen) -> None:
    record = await anext(records)
    seen.append((record.tp, record.offset))


READERS: dict[str, Callable[[Consumer[Any, Any]], Read]] = {
    "getone": lambda consumer: partial(one, consumer),
    "getmany": lambda consumer: partial(many, consumer),
    "batches": lambda consumer: partial(next_batch, consumer.batches()),
    "records": lambda consumer: partial(next_record, aiter(consumer)),
}


async def cut_short(ground: Ground, read: Read, dice: random.Random) -> Seen:
    """Read while records come, cancelled 200 times; then read the rest."""
    seen, cancelled = Seen(), 0
    while cancelled < CANCELLATIONS:
        ground.write(dice.randrange(3), partitions=[dice.randrange(ground.partitions)])
        with anyio.move_on_after(dice.choice([0.0, 0.0005, 0.01]) * dice.random()) as scope:
            await read(seen)
        cancelled += scope.cancelled_caught
    await ground.stored()
    with anyio.fail_after(PATIENCE):
        while len(seen) < len(ground.expected()):
            await read(seen)
    return seen


@pytest.mark.parametrize("name", READERS)
async def test_200_cancelled_reads_lose_no_record_and_repeat_none(
    kafka: RealKafka, tmp_path: Path, name: str
) -> None:
    ground = await lay_ground(kafka, 3)
    async with group_on(ground, tmp_path, max_poll_records=7, fetch_max_wait=0.01) as group:
        member = await group.join("m1", partial(cut, group, name))
        with anyio.fail_after(60):
            await member.finished.wait()
        group.members.remove(member)
        assert member.failure is None
        # What was read last is done only when somebody reads on.
        held = await anyio.to_thread.run_sync(committed, kafka, group.name)
        assert set(held) == set(range(3))
    assert (await group.verdict()).total.duplicated == 0


async def cut(group: Group, name: str, member: Member) -> None:
    await eventually(lambda: len(member.owned) == group.ground.partitions, "owns everything")
    seen = await cut_short(group.ground, READERS[name](member.consumer), random.Random(name))
    assert sorted(seen) == sorted(group.ground.expected())
    with anyio.fail_after(PATIENCE):
        assert (await member.consumer.commit()).ok


CALLS: dict[str, Callable[[Consumer[Any, Any], TopicPartition], Awaitable[object]]] = {
    "commit": lambda consumer, tp: consumer.commit({tp: 3}),
    "committed": lambda consumer, tp: consumer.committed(tp),
    "position": lambda consumer, tp: consumer.position(tp),
    "end_offsets": lambda consumer, tp: consumer.end_offsets(tp),
}


async def test_calls_cancelled_at_random_points_leave_a_usable_consumer(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 1)
    await ground.fill(10)
    async with group_on(ground, tmp_path, enable_auto_commit=False) as group:
        member = await group.join("m1", partial(call_and_cancel, ground))
        with anyio.fail_after(60):
            await member.finished.wait()
        group.members.remove(member)
        assert member.failure is None


async def call_and_cancel(ground: Ground, member: Member) -> None:
    consumer, tp, dice = member.consumer, ground.tp(0), random.Random(6)
    await eventually(lambda: member.owned == {tp}, "owns the partition")
    assert await consumer.position(tp) == 0  # before the commits below can become its start
    for _ in range(100):
        for call in CALLS.values():
            with anyio.move_on_after(dice.choice([0.0, 0.0005, 0.003]) * dice.random()):
                await call(consumer, tp)
    with anyio.fail_after(PATIENCE):
        assert (await consumer.getone()).offset == 0
        assert (await consumer.commit({tp: 9})).ok
        assert (await consumer.committed(tp))[tp] == (9, "", None)
        assert await consumer.position(tp) == 1
        assert await consumer.end_offsets(tp) == {tp: 10}
