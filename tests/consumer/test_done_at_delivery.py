"""Single records that are done when they are delivered (`done_at="delivery"`)."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from kgroup.journal import Done
from kgroup.types import DoneAt, OffsetAndMetadata
from tests.consumer.entered import A, Stage, entered
from tests.consumer.shelf import full

pytestmark = pytest.mark.anyio

AT_DELIVERY: dict[str, Any] = {"done_at": "delivery", "enable_auto_commit": False}

Read = Callable[[Stage, int], Awaitable[Any]]


async def _one_by_one(stage: Stage, count: int) -> object:
    return [await stage.consumer.getone() for _ in range(count)]


async def _in_a_loop(stage: Stage, count: int) -> object:
    records = aiter(stage.consumer)
    for _ in range(count):
        await anext(records)
    return records  # which is not left


EACH = pytest.mark.parametrize("read", [_one_by_one, _in_a_loop])


@EACH
async def test_the_record_in_hand_is_committed_with_the_others(read: Read) -> None:
    async with entered(full(), **AT_DELIVERY) as stage:
        await stage.give(A)
        held = await read(stage, 3)
        outcome = await stage.consumer.commit_done()
        assert outcome.partitions[A].offset == OffsetAndMetadata(3, "", 0)
        await read(stage, 2)
        await stage.consumer.commit_done()
        assert stage.group.offsets[A] == 5
        assert [done.next_offset for done in stage.events(Done)] == [1, 2, 3, 4, 5]
        del held


@EACH
async def test_otherwise_it_is_not(read: Read) -> None:
    async with entered(full(), enable_auto_commit=False, done_at=DoneAt.NEXT_READ) as stage:
        await stage.give(A)
        held = await read(stage, 3)
        outcome = await stage.consumer.commit_done()
        assert outcome.partitions[A].offset == OffsetAndMetadata(2, "", 0)
        del held


@EACH
async def test_a_revocation_does_not_wait_for_a_record_done_at_delivery(read: Read) -> None:
    async with entered(full(), done_at="delivery") as stage:
        await stage.give(A)
        held = await read(stage, 3)
        stage.group.take_away(A)
        await anyio.sleep(0.1)
        assert not stage.consumer.owns(A)
        assert stage.group.offsets[A] == 3
        del held


@EACH
async def test_closing_commits_it(read: Read) -> None:
    async with entered(full(), done_at="delivery") as stage:
        await stage.give(A)
        held = await read(stage, 7)
        await stage.consumer.close()
        assert stage.group.offsets[A] == 7
        del held


async def test_a_loop_goes_on_after_commits_seeks_and_other_reads() -> None:
    async with entered(full(), **AT_DELIVERY) as stage:
        await stage.give(A)
        records, seen = aiter(stage.consumer), list[int]()
        for step in range(12):
            seen.append((await anext(records)).offset)
            if step == 3:
                await stage.consumer.commit()
            if step == 6:
                seen.append((await stage.consumer.getone()).offset)
            if step == 9:
                stage.consumer.seek(A, 2)
        assert seen == [*range(11), 2, 3]
        await stage.consumer.commit_done()
        assert stage.group.offsets[A] == 4


async def test_batches_are_done_when_they_are_said_to_be() -> None:
    async with entered(full(), **AT_DELIVERY) as stage:
        await stage.give(A)
        found = await stage.consumer.getmany(timeout=1, max_records=5)
        await stage.consumer.commit_done()
        assert stage.group.offsets[A] == 0
        found[A].done()
        await stage.consumer.commit_done()
        assert stage.group.offsets[A] == 5
