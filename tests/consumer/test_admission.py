"""A backend that admits records slowly: records that it has not admitted are not handed out."""

from collections.abc import Callable

import anyio
import pytest

from kgroup.types import TopicPartition
from tests.consumer.entered import A, B, C, Stage, entered
from tests.consumer.shelf import full, offsets_of

pytestmark = pytest.mark.anyio


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


async def test_records_paused_during_admission_are_not_handed_out() -> None:
    async with entered(full(3)) as stage:
        await stage.give(A)
        assert await reads_while(stage, lambda: stage.consumer.pause(A)) == []
        stage.consumer.resume(A)
        assert (await stage.consumer.getone(A, timeout=5)).offset == 0


async def test_records_lost_during_admission_are_not_handed_out() -> None:
    async with entered(full(3)) as stage:
        await stage.give(A, B)
        assert await reads_while(stage, stage.group.lose) == []


async def test_a_seek_during_admission_admits_the_records_at_the_new_position() -> None:
    shelf = full(3)
    async with entered(shelf, max_partition_fetch_bytes=1) as stage:
        await stage.give(A)
        assert await reads_while(stage, lambda: stage.consumer.seek(A, 40)) == [40, 41, 42, 43, 44]
        assert stage.group.admitted == [(A, 10), (A, 50)]


async def test_partitions_paused_or_sought_during_admission_are_not_handed_out() -> None:
    async with entered(full(3)) as stage:
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
