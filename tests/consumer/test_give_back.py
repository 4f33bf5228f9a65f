"""Records that were handed out and go back: they come next, and nothing of them is committed."""

from itertools import pairwise

import anyio
import pytest

from kgroup.journal.events.records import POLL_NOTED_EVERY
from tests.consumer.entered import A, by_hand, entered
from tests.consumer.shelf import Shelf

pytestmark = pytest.mark.anyio


def shelf_of(count: int) -> Shelf:
    shelf = Shelf(t=1)
    shelf.fill(A, count)
    return shelf


async def test_records_given_back_are_handed_out_next() -> None:
    async with by_hand(shelf_of(10), A) as stage:
        batch = (await stage.consumer.getmany(timeout=1))[A]
        batch.give_back(4)
        assert await stage.consumer.position(A) == 4
        again = await stage.consumer.getmany(timeout=1)
        assert [record.offset for record in again[A]] == list(range(4, 10))


async def test_only_records_before_those_given_back_are_done_at_the_next_read() -> None:
    async with by_hand(shelf_of(10), A, group_id="g") as stage:
        batch = (await stage.consumer.getmany(timeout=1))[A]
        batch.give_back(4)
        await stage.consumer.getone(timeout=1)
        outcome = await stage.consumer.commit_done()
        assert outcome.partitions[A].offset.offset == 4


async def test_a_batch_that_is_given_back_whole_is_out_of_hand() -> None:
    async with by_hand(shelf_of(10), A, group_id="g") as stage:
        batch = (await stage.consumer.getmany(timeout=1))[A]
        batch.give_back(batch.first)
        assert not batch.in_hand
        outcome = await stage.consumer.commit_done()
        assert outcome.partitions[A].offset.offset == batch.first


async def test_done_records_cannot_be_given_back() -> None:
    async with by_hand(shelf_of(10), A) as stage:
        batch = (await stage.consumer.getmany(timeout=1))[A]
        batch.done(6)
        batch.give_back(4)
        assert await stage.consumer.position(A) == 6


async def test_after_a_seek_there_is_nothing_to_give_back() -> None:
    async with by_hand(shelf_of(10), A) as stage:
        batch = (await stage.consumer.getmany(timeout=1))[A]
        stage.consumer.seek(A, 8)
        batch.give_back(4)
        assert await stage.consumer.position(A) == 8


async def test_note_poll_counts_as_a_poll() -> None:
    shelf = shelf_of(10)
    async with entered(shelf, max_poll_interval=2.0) as stage:
        await stage.give(A)
        await stage.consumer.getone(timeout=1)
        before = stage.group.polls
        await anyio.sleep(1)
        stage.consumer.note_poll()
        assert stage.group.polls == before + 1


async def test_polls_reach_the_group_as_often_as_the_event_log_expects() -> None:
    """By it an oracle knows when the poll interval may be over at the earliest."""
    heard_at: list[float] = []
    async with entered(shelf_of(10), max_poll_interval=3600.0, session_timeout=10.0) as stage:
        await stage.give(A)
        for _ in range(2000):
            before = stage.group.polls
            stage.consumer.note_poll()
            if stage.group.polls > before:
                heard_at.append(anyio.current_time())
            await anyio.sleep(0.001)
    assert max(later - one for one, later in pairwise(heard_at)) <= POLL_NOTED_EVERY
