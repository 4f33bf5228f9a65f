"""Commits cover what is done, say what became of each partition, and bind to claims."""

import gc
import logging

import anyio
import pytest

from kgroup.errors import ArgumentError, CommitFailedError, IllegalStateError, NotOwnedError
from kgroup.journal import Done
from kgroup.types import CommitStatus, OffsetAndMetadata
from kgroup.wire.messages import OffsetCommitRequest
from tests.consumer.entered import A, B, by_hand, entered
from tests.consumer.shelf import Shelf

pytestmark = pytest.mark.anyio


def full() -> Shelf:
    shelf = Shelf(t=2)
    shelf.fill(A, 50)
    shelf.fill(B, 50)
    return shelf


async def test_auto_commit_never_covers_what_the_newest_read_handed_out() -> None:
    async with entered(full(), auto_commit_interval=1.0, max_poll_records=10) as stage:
        await stage.give(A)
        await stage.consumer.getmany(timeout=1)
        await anyio.sleep(5)
        assert stage.group.offsets[A] == 0
        await stage.consumer.getmany(timeout=1)
        await anyio.sleep(5)
        assert stage.group.offsets[A] == 10


async def test_auto_commit_can_be_off() -> None:
    async with entered(full(), enable_auto_commit=False) as stage:
        await stage.give(A)
        for _ in range(3):
            await stage.consumer.getmany(timeout=1)
        await anyio.sleep(20)
    assert not stage.group.commits


async def test_auto_commit_sends_nothing_when_nothing_is_new() -> None:
    async with entered(full(), auto_commit_interval=1.0) as stage:
        await stage.give(A)
        await anyio.sleep(10)
        assert stage.group.commits == [{A: 0}]


async def test_commit_counts_everything_handed_out_as_done() -> None:
    async with entered(full()) as stage:
        await stage.give(A, B)
        await stage.consumer.getmany(A, max_records=7, timeout=1)
        await stage.consumer.getmany(B, max_records=3, timeout=1)
        outcome = await stage.consumer.commit()
        assert outcome.ok
        assert {tp: each.offset.offset for tp, each in outcome.partitions.items()} == {A: 7, B: 3}


async def test_a_batch_is_done_when_the_next_is_asked_for() -> None:
    async with entered(full(), auto_commit_interval=1.0, max_poll_records=10) as stage:
        await stage.give(A)
        batches = stage.consumer.batches()
        await anext(batches)
        await anyio.sleep(3)
        assert stage.group.offsets[A] == 0
        await anext(batches)
        await anyio.sleep(3)
        assert stage.group.offsets[A] == 10


async def test_a_record_is_done_when_the_next_is_asked_for() -> None:
    async with entered(full(), auto_commit_interval=1.0) as stage:
        await stage.give(A)
        count = 0
        async for _ in stage.consumer:
            count += 1
            await anyio.sleep(1.5)
            assert stage.group.offsets[A] == count - 1
            if count == 4:
                break


@pytest.mark.parametrize("single", [False, True])
async def test_what_getone_returned_is_done_when_a_loop_reads_on(single: bool) -> None:
    async with entered(full(), auto_commit_interval=1.0, max_poll_records=10) as stage:
        await stage.give(A)
        assert (await stage.consumer.getone()).offset == 0
        loop = aiter(stage.consumer) if single else stage.consumer.batches()
        await anext(loop)
        await anyio.sleep(2)
        assert stage.group.offsets[A] == 1


async def test_a_batch_can_be_done_in_parts() -> None:
    async with entered(full(), auto_commit_interval=1.0, max_poll_records=10) as stage:
        await stage.give(A)
        batch = await anext(stage.consumer.batches())
        batch.done(4)
        await anyio.sleep(2)
        assert stage.group.offsets[A] == 4
        assert batch.in_hand


async def test_leaving_a_batch_without_an_error_is_done() -> None:
    async with entered(full(), auto_commit_interval=1.0, max_poll_records=10) as stage:
        await stage.give(A)
        async with await anext(stage.consumer.batches()):
            pass
        await anyio.sleep(2)
        assert stage.group.offsets[A] == 10


async def test_leaving_a_batch_with_an_error_holds_later_commits_up() -> None:
    async with entered(full(), auto_commit_interval=1.0, max_poll_records=10) as stage:
        await stage.give(A)
        batches = stage.consumer.batches()
        with pytest.raises(KeyError):
            async with await anext(batches):
                raise KeyError("handler")
        for _ in range(3):
            await anext(batches)
        await anyio.sleep(2)
        assert stage.group.offsets[A] == 0
        stage.consumer.seek(A, 0)
        assert (await anext(batches)).first == 0


async def test_a_loop_left_by_break_leaves_its_batch_undone_until_somebody_reads_on() -> None:
    async with entered(full(), auto_commit_interval=1.0, max_poll_records=10) as stage:
        await stage.give(A)
        async for batch in stage.consumer.batches():
            assert batch.first == 0
            break
        del batch
        gc.collect()
        await anyio.sleep(3)
        assert stage.group.offsets[A] == 0
        await stage.consumer.getmany(timeout=1)
        await anyio.sleep(3)
        assert stage.group.offsets[A] == 10


async def test_a_batch_dropped_by_break_holds_up_no_handover() -> None:
    async with entered(full(), max_poll_records=10) as stage:
        await stage.give(A)
        async for _ in stage.consumer.batches():
            break
        del _
        gc.collect()
        stage.group.take_away(A)
        await anyio.sleep(3)
        assert not stage.consumer.owns(A)
        assert stage.group.offsets[A] == 0


async def test_given_offsets_are_committed_with_their_metadata() -> None:
    async with entered(full(), enable_auto_commit=False) as stage:
        await stage.give(A, B)
        outcome = await stage.consumer.commit({A: 5, B: OffsetAndMetadata(6, "why")})
        assert outcome.partitions[B].offset == (6, "why", None)
        assert stage.group.offsets == {A: 5, B: 6}


async def test_a_commit_of_a_partition_not_owned_sends_nothing() -> None:
    async with entered(full(), enable_auto_commit=False) as stage:
        await stage.give(A)
        with pytest.raises(NotOwnedError, match="t-1"):
            await stage.consumer.commit({A: 1, B: 1})
        assert not stage.group.commits


@pytest.mark.parametrize(
    "offset",
    [-1, True, None, "5", 1.5, (1,), (1, b"x"), (-1, "x"), OffsetAndMetadata(1, "x" * 4097)],
)
async def test_an_offset_that_cannot_be_committed_is_refused(offset: object) -> None:
    async with entered(full(), enable_auto_commit=False) as stage:
        await stage.give(A)
        with pytest.raises(ArgumentError, match="t-0"):
            await stage.consumer.commit({A: offset})  # type: ignore[dict-item]
        assert not stage.group.commits


async def test_a_refused_partition_raises_with_every_outcome() -> None:
    async with entered(full(), enable_auto_commit=False) as stage:
        await stage.give(A, B)
        stage.group.commit_status = CommitStatus.UNKNOWN
        with pytest.raises(CommitFailedError) as caught:
            await stage.consumer.commit({A: 1, B: 2})
        assert set(caught.value.outcome.failed()) == {A, B}
        stage.group.commit_status = CommitStatus.COMMITTED
        assert (await stage.consumer.commit({A: 1})).ok


async def test_a_failed_auto_commit_is_said_once_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with entered(full(), auto_commit_interval=1.0) as stage:
        stage.group.commit_status = CommitStatus.UNKNOWN
        await stage.give(A)
        await stage.consumer.getmany(max_records=5, timeout=1)
        await stage.consumer.getmany(max_records=5, timeout=1)
        with caplog.at_level(logging.WARNING, logger="kgroup"):
            await anyio.sleep(5)
        assert caplog.text.count("partitions=t-0 unknown") == 1
        stage.group.commit_status = CommitStatus.COMMITTED
        await anyio.sleep(2)
        assert stage.group.offsets[A] == 5


async def test_committed_asks_the_group() -> None:
    async with entered(full()) as stage:
        await stage.give(A)
        stage.group.offsets[A] = 9
        assert await stage.consumer.committed(A, B) == {A: (9, "", None), B: None}


async def test_done_is_journaled_before_it_is_committed() -> None:
    async with entered(full(), auto_commit_interval=1.0) as stage:
        await stage.give(A)
        await stage.consumer.getmany(max_records=5, timeout=1)
        await stage.consumer.getmany(max_records=5, timeout=1)
        assert [each.next_offset for each in stage.events(Done)] == [5]


async def test_a_commit_by_hand_has_no_generation_and_no_member_id() -> None:
    shelf = full()
    async with by_hand(shelf, A) as stage:
        await stage.consumer.getone(timeout=1)
        await stage.consumer.commit()
    request = shelf.broker(1).requests(OffsetCommitRequest)[0]
    assert (request.generation_id_or_member_epoch, request.member_id) == (-1, "")


async def test_a_commit_by_hand_that_is_refused_says_why() -> None:
    shelf = full()
    async with by_hand(shelf, A, enable_auto_commit=False) as stage:
        shelf.commit_error = 25
        with pytest.raises(CommitFailedError, match="UNKNOWN_MEMBER_ID"):
            await stage.consumer.commit({A: 1})


async def test_a_commit_by_hand_waits_for_a_coordinator_that_loads() -> None:
    shelf = full()
    async with by_hand(shelf, A, enable_auto_commit=False) as stage:
        shelf.commit_error = 14

        async def finish() -> None:
            await anyio.sleep(2)
            shelf.commit_error = 0

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(finish)
            assert (await stage.consumer.commit({A: 1})).ok
        assert shelf.committed[A] == 1


async def test_without_a_group_a_commit_is_refused() -> None:
    async with by_hand(full(), A, group_id=None) as stage:
        await stage.consumer.getone(timeout=1)
        with pytest.raises(IllegalStateError, match="group_id"):
            await stage.consumer.commit()
