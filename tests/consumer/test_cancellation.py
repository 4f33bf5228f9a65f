"""Reads and calls cut short at random points lose nothing and leave a consumer that works.

Symptom 5 (reading stopped without a word): https://github.com/aio-libs/aiokafka/issues/983
"""

import random
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from kgroup.codes import ApiKey
from kgroup.consumer import Consumer
from kgroup.errors import KGroupError
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import Leave, TopicPartition
from tests.consumer.entered import A, B, Stage, entered, grouped
from tests.consumer.ground import fill, ground
from tests.consumer.shelf import Shelf
from tests.consumer.wires import Wires

pytestmark = pytest.mark.anyio

CANCELLATIONS = 200
Reader = Consumer[Any, Any]
Seen = list[tuple[TopicPartition, int]]


class ByOne:
    """`getone`."""

    def __init__(self, consumer: Reader) -> None:
        self._consumer = consumer

    async def read(self, seen: Seen) -> None:
        record = await self._consumer.getone()
        seen.append((record.tp, record.offset))


class ByMany:
    """`getmany`."""

    def __init__(self, consumer: Reader) -> None:
        self._consumer = consumer

    async def read(self, seen: Seen) -> None:
        for tp, batch in (await self._consumer.getmany(max_records=3, timeout=10)).items():
            seen.extend((tp, record.offset) for record in batch)


class ByBatches:
    """One iterator over batches."""

    def __init__(self, consumer: Reader) -> None:
        self._batches = consumer.batches()

    async def read(self, seen: Seen) -> None:
        batch = await anext(self._batches)
        seen.extend((batch.partition, record.offset) for record in batch)


class ByRecords:
    """One iterator over records."""

    def __init__(self, consumer: Reader) -> None:
        self._records = aiter(consumer)

    async def read(self, seen: Seen) -> None:
        record = await anext(self._records)
        seen.append((record.tp, record.offset))


READERS: list[Any] = [ByOne, ByMany, ByBatches, ByRecords]


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
async def test_200_cancelled_reads_lose_no_record_and_repeat_none(kind: Any, seed: int) -> None:
    dice = random.Random(seed)
    broker = ground(0, t=2)
    async with grouped(broker, fetch_max_wait=0.01, max_poll_records=3) as it:
        await it.owns(A, B)
        reader, seen, cancelled = kind(it.consumer), Seen(), 0
        while cancelled < CANCELLATIONS:
            fill(broker, dice.choice([A, B]), dice.randrange(4), per_batch=2)
            with anyio.move_on_after(dice.choice([0.0, 0.001, 0.02]) * dice.random()) as scope:
                await reader.read(seen)
            cancelled += scope.cancelled_caught
        expected = [(tp, offset) for tp in (A, B) for offset in range(broker.partition(*tp).end)]
        with anyio.fail_after(60):
            while len(seen) < len(expected):
                await reader.read(seen)
        assert sorted(seen) == expected
        for tp in (A, B):
            offsets = [offset for each, offset in seen if each == tp]
            assert offsets == sorted(offsets)


Call = Callable[[Reader, random.Random], Awaitable[object]]

CALLS: dict[str, Call] = {
    "commit": lambda consumer, dice: consumer.commit({A: dice.randrange(10)}),
    "commit everything": lambda consumer, dice: consumer.commit(),
    "committed": lambda consumer, dice: consumer.committed(A, B),
    "position": lambda consumer, dice: consumer.position(dice.choice([A, B])),
    "end_offsets": lambda consumer, dice: consumer.end_offsets(A, B),
}


@pytest.mark.parametrize("name", CALLS)
async def test_calls_cancelled_at_random_points_leave_a_usable_consumer(name: str) -> None:
    dice = random.Random(name)
    broker = ground(0, t=2)
    fill(broker, A, 20)
    async with grouped(broker, enable_auto_commit=False) as it:
        await it.owns(A, B)
        for _ in range(50):
            with anyio.move_on_after(0.03 * dice.random()):
                await CALLS[name](it.consumer, dice)
        with anyio.fail_after(5):
            assert (await it.consumer.getone(A)).offset == 0
            assert (await it.consumer.commit({A: 11})).ok
            assert (await it.consumer.committed(A))[A] == (11, "", None)
            assert await it.consumer.position(A) == 1


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 10))]
)
async def test_a_close_that_is_cancelled_closes_all_the_same(seed: int) -> None:
    dice = random.Random(seed)
    broker = ground(0, t=2)
    fill(broker, A, 20)
    async with grouped(broker) as it:
        await it.owns(A, B)
        await it.consumer.getone(A)
        await it.consumer.getone(A)
        with anyio.move_on_after(0.03 * dice.random()):
            await it.consumer.close()
        with anyio.fail_after(6):
            await it.consumer.close()
        assert it.group.members == ()
        assert it.group.offsets[A].offset == 2


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 10))]
)
async def test_a_body_that_is_cancelled_at_a_random_point_leaves_the_group(seed: int) -> None:
    broker = ground(0, t=2)
    fill(broker, A, 20)
    wires = Wires(broker.dial)
    with anyio.move_on_after(0.2 * random.Random(seed).random()):
        async with grouped(broker, ports=virtual_ports(wires)) as it:
            async for _ in it.consumer.batches():
                await anyio.sleep(0.01)
    assert broker.group("g").members == ()
    assert wires.dialled
    assert not wires.open


# -- symptom 5: what works in the background has ended -----------------------------------------


async def leave_by_itself(stage: Stage) -> None:
    await stage.group.leave(Leave.REMAIN, "a defect", timeout=0.1)


async def fail(stage: Stage) -> None:
    stage.group.fail(KGroupError("a defect"))


async def stop_speaking(stage: Stage) -> None:
    """The broker comes back without Fetch: fetching cannot go on."""
    broker = stage.shelf.broker(1)
    broker.versions = {
        api: spoken for api, spoken in broker.versions.items() if api != ApiKey.FETCH
    }
    broker.hang_up()


ENDINGS: list[Callable[[Stage], Awaitable[None]]] = [leave_by_itself, fail, stop_speaking]


async def read_on(reader: Any) -> None:
    while True:
        await reader.read(Seen())


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("end", ENDINGS)
async def test_a_task_that_ends_is_heard_of_by_every_reader_within_a_second(
    kind: Any, end: Callable[[Stage], Awaitable[None]]
) -> None:
    """https://github.com/aio-libs/aiokafka/issues/983"""
    async with entered(Shelf(t=1)) as stage:
        await stage.give(A)
        reader = kind(stage.consumer)
        heard: list[float] = []

        async def read() -> None:
            with pytest.raises(KGroupError):
                await read_on(reader)
            heard.append(anyio.current_time())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.sleep(1)
            before = anyio.current_time()
            await end(stage)
        assert heard[0] - before <= 1.0
        assert stage.consumer.failure is not None
        for later in READERS:
            with pytest.raises(KGroupError):
                await later(stage.consumer).read(Seen())
