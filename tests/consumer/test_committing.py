"""Commits cover done records, report an outcome for each partition, and bind to claims."""

import gc
import logging
from dataclasses import replace
from typing import Any

import anyio
import pytest

from kgroup.consumer import Record
from kgroup.errors import ArgumentError, CommitFailedError, IllegalStateError, NotOwnedError
from kgroup.journal import Done
from kgroup.types import CommitStatus, OffsetAndMetadata
from kgroup.wire.messages import OffsetCommitRequest
from tests.consumer.entered import A, B, by_hand, entered
from tests.consumer.shelf import Shelf, full

pytestmark = pytest.mark.anyio


async def test_auto_commit_leaves_out_the_records_of_the_newest_read() -> None:
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
async def test_a_record_of_getone_is_done_when_a_loop_reads_on(single: bool) -> None:
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
    [
        *(-1, True, None, "5", 1.5, 2**63, (1,), (1, b"x"), (1, None), (-1, "x"), (True, "x")),
        OffsetAndMetadata(1, "x" * 4097),
        OffsetAndMetadata(1, "\u00e9" * 2049),
        OffsetAndMetadata(1, "\ud800"),
        OffsetAndMetadata(1, "", -1),
        OffsetAndMetadata(1, "", True),
        OffsetAndMetadata(1, "", 2**31),
    ],
)
async def test_an_offset_that_cannot_be_committed_is_refused(offset: object) -> None:
    async with entered(full(), enable_auto_commit=False) as stage:
        await stage.give(A)
        with pytest.raises(ArgumentError, match="t-0"):
            await stage.consumer.commit({A: offset})  # type: ignore[dict-item]
        assert not stage.group.commits


async def test_metadata_of_4096_bytes_is_committed() -> None:
    async with entered(full(), enable_auto_commit=False) as stage:
        await stage.give(A)
        assert (await stage.consumer.commit({A: OffsetAndMetadata(1, "x" * 4096)})).ok


@pytest.mark.parametrize(
    "what",
    [{}, "t-0", 5, [(A, 1)], {"t": 1}, {("t", True): 1}, {("", 0): 1}, {(0, "t"): 1}],
)
async def test_an_invalid_argument_of_commit_is_refused(what: Any) -> None:
    async with entered(full(), enable_auto_commit=False) as stage:
        await stage.give(A)
        with pytest.raises(ArgumentError, match="what"):
            await stage.consumer.commit(what)
        assert not stage.group.commits


# -- a record or a batch -----------------------------------------------------------------------


async def test_a_record_commits_itself_and_all_before_it() -> None:
    shelf = Shelf(t=2)
    shelf.logs[A].append(b"0", b"1", b"2", epoch=7)
    async with entered(shelf, enable_auto_commit=False) as stage:
        await stage.give(A)
        records = list((await stage.consumer.getmany(timeout=1))[A])
        outcome = await stage.consumer.commit(records[1])
        assert outcome.partitions[A].offset == (2, "", 7)
        assert stage.group.offsets == {A: 2}


async def test_a_batch_commits_its_end() -> None:
    shelf = Shelf(t=2)
    shelf.logs[A].append(b"0", b"1", epoch=3)
    shelf.logs[A].append(b"2", b"3", epoch=4)
    async with entered(shelf, enable_auto_commit=False) as stage:
        await stage.give(A)
        batch = (await stage.consumer.getmany(timeout=1))[A]
        outcome = await stage.consumer.commit(batch)
        assert outcome.partitions[A].offset == (4, "", 4)
        assert not batch.in_hand


@pytest.mark.parametrize("what", ["record", "batch"])
async def test_records_of_an_ended_claim_cannot_be_committed(what: str) -> None:
    async with entered(full(), enable_auto_commit=False) as stage:
        await stage.give(A)
        batch = (await stage.consumer.getmany(max_records=5, timeout=1))[A]
        record = next(iter(batch))
        stage.group.lose()
        await anyio.sleep(0.1)
        await stage.give(A)
        assert stage.consumer.owns(A)
        with pytest.raises(NotOwnedError, match="period of ownership") as caught:
            await stage.consumer.commit(record if what == "record" else batch)
        assert caught.value.partitions == (A,)
        with pytest.raises(NotOwnedError):
            stage.consumer.commit_soon(record if what == "record" else batch)
        assert not stage.group.commits


async def test_a_record_of_a_claim_that_is_kept_over_rounds_can_be_committed() -> None:
    async with entered(full(), enable_auto_commit=False) as stage:
        await stage.give(A, B)
        record = await stage.consumer.getone(A, timeout=1)
        stage.group.take_away(B)
        await anyio.sleep(0.1)
        assert (await stage.consumer.commit(record)).ok
        assert stage.group.offsets == {A: 1}


async def test_a_record_made_by_hand_commits_nothing() -> None:
    async with entered(full(), enable_auto_commit=False) as stage:
        await stage.give(A)
        found = await stage.consumer.getone(timeout=1)
        made = Record("t", 0, 0, 0, found.timestamp_type, None, None)
        with pytest.raises(ArgumentError, match="handed it out"):
            await stage.consumer.commit(made)


async def test_a_record_is_equal_and_looks_the_same_whatever_claim_it_is_from() -> None:
    async with entered(full(), enable_auto_commit=False) as stage:
        await stage.give(A)
        found = await stage.consumer.getone(timeout=1)
        assert found.claim == stage.group.claim(A)
        other = replace(found, _origin=None)
        assert other == found
        assert repr(other) == repr(found)
        assert "claim" not in repr(found)


async def test_a_cancelled_commit_is_carried_out_all_the_same() -> None:
    async with entered(full(), enable_auto_commit=False) as stage:
        await stage.give(A)
        stage.group.commit_seconds = 1.0
        with anyio.move_on_after(0.5):
            await stage.consumer.commit({A: 4})
        await anyio.sleep(1)
        assert stage.group.offsets == {A: 4}


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


async def test_a_released_batch_is_not_done_at_the_next_read() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 10)
    async with by_hand(shelf, A, auto_commit_interval=0.1, max_poll_records=4) as stage:
        first = (await stage.consumer.getmany(timeout=1))[A]
        first.done(upto=1)
        first.release()
        await stage.consumer.getmany(timeout=1)
        await stage.consumer.getmany(timeout=1)
        await anyio.sleep(1)
        assert shelf.committed == {A: 1}
