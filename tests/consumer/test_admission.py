"""A backend that takes its time to admit records: what it was not asked about is not handed out."""

from collections.abc import Callable

import anyio
import pytest

from kgroup.types import TopicPartition
from tests.consumer.entered import A, B, C, Stage, entered
from tests.consumer.shelf import Shelf, offsets_of

pytestmark = pytest.mark.anyio


def full() -> Shelf:
    shelf = Shelf(t=3)
    for tp in (A, B, C):
        shelf.fill(tp, 50)
    return shelf


async def reads_while(stage: Stage, act: Callable[[], object]) -> list[int]:
    """Read A once; half a second later, while it is admitted, something happens."""
    stage.group.admit_seconds = 1.0
    found: dict[TopicPartition, list[int]] = {}

    async def read() -> None:
        found.update(offsets_of(await stage.consumer.getmany(A, timeout=2.5, max_records=5)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await anyio.sleep(0.5)
        act()
    return found.get(A, [])


async def test_what_is_paused_while_it_is_admitted_stays() -> None:
    async with entered(full()) as stage:
        await stage.give(A)
        assert await reads_while(stage, lambda: stage.consumer.pause(A)) == []
        stage.consumer.resume(A)
        assert (await stage.consumer.getone(A, timeout=5)).offset == 0


async def test_what_is_lost_while_it_is_admitted_stays() -> None:
    async with entered(full()) as stage:
        await stage.give(A, B)
        assert await reads_while(stage, stage.group.lose) == []


async def test_a_seek_while_records_are_admitted_has_others_admitted_first() -> None:
    shelf = full()
    async with entered(shelf, max_partition_fetch_bytes=1) as stage:
        await stage.give(A)
        assert await reads_while(stage, lambda: stage.consumer.seek(A, 40)) == [40, 41, 42, 43, 44]
        assert stage.group.admitted == [(A, 10), (A, 50)]


async def test_partitions_are_admitted_one_by_one_and_those_that_went_meanwhile_stay() -> None:
    async with entered(full()) as stage:
        await stage.give(A, B, C)
        await anyio.sleep(1)
        stage.group.admit_seconds = 1.0
        found: dict[TopicPartition, list[int]] = {}

        async def read() -> None:
            found.update(offsets_of(await stage.consumer.getmany(timeout=5)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.sleep(1.5)
            stage.consumer.pause(C)
            for tp in (A, B, C):
                stage.consumer.seek(tp, 7)
        assert found == {}
        stage.consumer.resume(C)
        assert {(await stage.consumer.getone(tp, timeout=5)).offset for tp in (A, B, C)} == {7}
