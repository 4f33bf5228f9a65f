"""An end without an exception repeats nothing that was handled; one with an exception does."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import anyio
import pytest

from kgroup.types import Leave
from tests.consumer.entered import A, B, Stage, by_hand, entered, grouped
from tests.consumer.ground import ground
from tests.consumer.shelf import full

pytestmark = pytest.mark.anyio

Read = Callable[[Stage], Awaitable[None]]


# -- each way of reading, left in good order: what is committed of 50 records ------------------


async def many(stage: Stage) -> None:
    await stage.consumer.getmany(timeout=1)


async def many_iterated(stage: Stage) -> None:
    (batch,) = (await stage.consumer.getmany(timeout=1)).values()
    assert len(list(batch)) == 20


async def many_half_way(stage: Stage) -> None:
    (batch,) = (await stage.consumer.getmany(timeout=1)).values()
    for record in batch:
        if record.offset == 7:
            break


async def one(stage: Stage) -> None:
    for _ in range(3):
        await stage.consumer.getone()


async def batch_iterated(stage: Stage) -> None:
    async for batch in stage.consumer.batches():
        if list(batch)[0].offset == 20:  # noqa: RUF015 - all of them
            break


async def batch_half_way(stage: Stage) -> None:
    async for batch in stage.consumer.batches():
        for record in batch:
            if record.offset == 27:
                return


async def batch_untouched(stage: Stage) -> None:
    async for batch in stage.consumer.batches():
        if batch.first == 20:
            break


async def batch_in_a_block(stage: Stage) -> None:
    async for batch in stage.consumer.batches():
        async with batch:
            pass
        break


async def values(stage: Stage) -> None:
    async for batch in stage.consumer.batches():
        if batch.values()[0] == b"20":
            break


async def columns(stage: Stage) -> None:
    async for batch in stage.consumer.batches():
        if batch.columns()[0].first == 20:
            break


async def iterated_and_gone(stage: Stage) -> None:
    async for batch in stage.consumer.batches():
        list(batch)
        break
    del batch


async def records(stage: Stage) -> None:
    async for record in stage.consumer:
        if record.offset == 7:
            break


async def released(stage: Stage) -> None:
    (batch,) = (await stage.consumer.getmany(timeout=1)).values()
    list(batch)
    batch.release()


WAYS: list[tuple[Read, int]] = [
    (many, 20),
    (many_iterated, 20),
    (many_half_way, 7),
    (one, 3),
    (batch_iterated, 40),
    (batch_half_way, 27),
    (batch_untouched, 20),
    (batch_in_a_block, 20),
    (values, 40),
    (columns, 40),
    (iterated_and_gone, 20),
    (records, 7),
    (released, 0),
]


def ways(table: list[tuple[Read, int]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("read", "stored"), table, ids=[read.__name__ for read, _ in table]
    )


@ways(WAYS)
async def test_leaving_the_block_commits_what_was_handled(read: Read, stored: int) -> None:
    async with entered(full(1), max_poll_records=20) as stage:
        await stage.give(A)
        await read(stage)
    assert stage.group.offsets[A] == stored


@ways(WAYS)
async def test_closing_commits_what_was_handled(read: Read, stored: int) -> None:
    async with entered(full(1), max_poll_records=20) as stage:
        await stage.give(A)
        await read(stage)
        await stage.consumer.close()
        assert stage.group.offsets[A] == stored


# -- what an exception leaves is not done ------------------------------------------------------

BROKEN: list[tuple[Read, int]] = [
    (many, 0),
    (many_iterated, 0),
    (many_half_way, 0),
    (one, 2),
    (batch_iterated, 20),
    (batch_half_way, 20),
    (values, 20),
    (columns, 20),
    (records, 7),
]


class Trouble(Exception):
    pass


@ways(BROKEN)
async def test_a_block_that_an_exception_leaves_commits_only_what_was_done(
    read: Read, stored: int
) -> None:
    with suppress(Trouble):
        async with entered(full(1), max_poll_records=20) as stage:
            await stage.give(A)
            await read(stage)
            raise Trouble
    assert stage.group.offsets[A] == stored


@ways(BROKEN)
async def test_closing_while_an_exception_passes_commits_only_what_was_done(
    read: Read, stored: int
) -> None:
    async with entered(full(1), max_poll_records=20) as stage:
        await stage.give(A)
        with suppress(Trouble):
            try:
                await read(stage)
                raise Trouble
            finally:
                await stage.consumer.close()
    assert stage.group.offsets[A] == stored


async def test_an_exception_of_an_outer_block_is_none_of_an_inner_one() -> None:
    try:
        raise Trouble
    except Trouble:
        async with entered(full(1)) as stage:
            await stage.give(A)
            await stage.consumer.getmany(timeout=1)
    assert stage.group.offsets[A] == 50


async def test_a_batch_left_half_way_holds_back_those_of_its_read_that_were_not_begun() -> None:
    async with entered(full(3)) as stage:
        await stage.give(A, B)
        while len(found := await stage.consumer.getmany(timeout=1)) < 2:
            for batch in found.values():
                batch.give_back(batch.first)
        with anyio.move_on_after(1):
            for _ in found[A]:
                await anyio.sleep_forever()
    assert (stage.group.offsets[A], stage.group.offsets[B]) == (0, 0)


# -- others' records ---------------------------------------------------------------------------


async def test_what_a_cancelled_task_was_at_work_on_is_not_done() -> None:
    async def work() -> None:
        await stage.consumer.getmany(timeout=1)
        await anyio.sleep_forever()

    async with entered(full(1)) as stage:
        await stage.give(A)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            await anyio.sleep(1)
            tasks.cancel_scope.cancel()
    assert stage.group.offsets[A] == 0


async def test_what_the_loop_of_another_task_has_in_hand_is_not_done_when_this_one_closes() -> None:
    async def work() -> None:
        async for batch in stage.consumer.batches():
            batch.values()
            await anyio.sleep(1)

    async with entered(full(1), max_poll_records=20) as stage:
        await stage.give(A)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            await anyio.sleep(1.5)
            await stage.consumer.close()
    assert stage.group.offsets[A] == 20


async def test_a_batch_whose_block_has_not_ended_is_not_done() -> None:
    async with entered(full(1)) as stage:
        await stage.give(A)
        (batch,) = (await stage.consumer.getmany(timeout=1)).values()
        async with batch:
            batch.values()
            await stage.consumer.close()
    assert stage.group.offsets[A] == 0


async def test_closing_without_a_commit_commits_nothing_of_what_was_handled() -> None:
    async with entered(full(1)) as stage:
        await stage.give(A)
        await stage.consumer.getmany(timeout=1)
        await stage.consumer.close(commit=False)
    assert stage.group.offsets.get(A, 0) == 0


# -- whole groups ------------------------------------------------------------------------------


async def test_partitions_assigned_by_hand_are_committed_too() -> None:
    shelf = full(1)
    async with by_hand(shelf, A) as stage:
        await stage.consumer.getmany(timeout=1)
    assert shelf.committed[A] == 50


async def read_twenty(broker: object, **options: object) -> list[int]:
    """Read twenty records as a member that then goes, and return their offsets."""
    async with grouped(broker, max_poll_records=10, **options) as stage:  # type: ignore[arg-type]
        seen: list[int] = []
        while len(seen) < 20:
            for batch in (await stage.consumer.getmany(timeout=1)).values():
                seen += [record.offset for record in batch]
        return seen


@pytest.mark.parametrize("options", [{}, {"group_instance_id": "i"}], ids=["dynamic", "static"])
async def test_a_member_that_goes_and_comes_again_reads_nothing_twice(
    options: dict[str, object],
) -> None:
    broker = ground(t=1)
    broker.partition("t", 0).append(*(b"%d" % number for number in range(60)))
    seen = [await read_twenty(broker, **options) for _ in range(3)]
    assert [offset for each in seen for offset in each] == list(range(60))


async def test_a_started_consumer_that_is_stopped_has_committed_what_was_handled() -> None:
    stage_of = partial(entered, full(1))
    async with stage_of() as stage:
        await stage.give(A)
        await stage.consumer.getmany(timeout=1)
        await stage.consumer.stop(leave=Leave.REMAIN)
        assert stage.group.offsets[A] == 50
