"""`seek(..., until=...)`: reading that ends at an offset."""

import anyio
import pytest

from kgroup.errors import ArgumentError
from kgroup.journal import FetchIssued
from tests.consumer.entered import A, B, by_hand
from tests.consumer.shelf import Shelf, offsets_of
from tests.consumer.test_chunk import Part

pytestmark = pytest.mark.anyio


def full(partitions: int = 1, count: int = 40) -> Shelf:
    shelf = Shelf(t=partitions)
    for tp in (A, B)[:partitions]:
        shelf.fill(tp, count, per_batch=10)
    return shelf


async def test_a_loop_over_batches_ends_in_the_middle_of_a_log_batch() -> None:
    async with by_hand(full(), A) as stage:
        stage.consumer.seek(A, 3, until=27)
        found = [record.offset async for batch in stage.consumer.batches() for record in batch]
        assert found == list(range(3, 27))


async def test_a_loop_over_records_ends_and_every_record_is_done() -> None:
    async with by_hand(full(), A) as stage:
        stage.consumer.seek(A, 0, until=15)
        assert [record.offset async for record in stage.consumer] == list(range(15))
        outcome = await stage.consumer.commit_done()
        assert outcome.partitions[A].offset.offset == 15


async def test_ranges_are_assigned_and_read_to_their_ends() -> None:
    async with by_hand(full(2), A) as stage:
        stage.consumer.assign_ranges({A: (3, 7), B: (30, 33)})
        found = [(record.tp, record.offset) async for record in stage.consumer]
        assert sorted(found) == [(A, n) for n in range(3, 7)] + [(B, n) for n in range(30, 33)]


async def test_a_range_that_is_none_changes_nothing() -> None:
    async with by_hand(full(2), A) as stage:
        stage.consumer.seek(A, 38)
        with pytest.raises(ArgumentError, match="until"):
            stage.consumer.assign_ranges({A: (3, 7), B: (30, -1)})
        assert stage.consumer.assignment() == {A}
        assert await stage.consumer.position(A) == 38


async def test_a_loop_goes_on_until_every_partition_is_at_its_end() -> None:
    async with by_hand(full(2), A, B) as stage:
        stage.consumer.seek(A, 0, until=5)
        stage.consumer.seek(B, 30, until=40)
        found = [(record.tp, record.offset) async for record in stage.consumer]
        assert sorted(found) == [(A, n) for n in range(5)] + [(B, n) for n in range(30, 40)]


async def test_nothing_is_fetched_from_the_end_on() -> None:
    async with by_hand(full(), A, max_partition_fetch_bytes=1) as stage:
        stage.consumer.seek(A, 0, until=20)
        assert len([record async for record in stage.consumer]) == 20
        await anyio.sleep(10)
        asked = [event.offset for event in stage.events(FetchIssued) if event.offset]
        assert asked == [10]


async def test_little_comes_from_behind_the_end_once_it_is_known_what_records_weigh() -> None:
    shelf = Shelf(t=1)
    for _ in range(100):
        shelf.logs[A].append(*(b"x" * 1000 for _ in range(100)))
    batch = len(shelf.logs[A].batches[0][2])
    async with by_hand(shelf, A) as stage:
        # The first answers say what a record weighs; what comes then is a batch more at most.
        for begin in (0, 300):
            stage.consumer.seek(A, begin, until=begin + 300)
            assert len([record async for record in stage.consumer]) == 300
        rows = [row for each in shelf.fetches for topic in each.topics for row in topic.partitions]
        (asked,) = [row.partition_max_bytes for row in rows if row.fetch_offset == 300]
        assert 3 * batch <= asked <= 4 * batch + 1000


async def test_an_end_behind_records_nobody_sees_is_reached() -> None:
    shelf = full(count=10)
    mark = Part(10, producer=9, control=b"\x00\x00\x00\x01").data
    shelf.logs[A].put(mark, 1)
    async with by_hand(shelf, A) as stage:
        stage.consumer.seek(A, 8, until=11)
        assert [record.offset async for record in stage.consumer] == [8, 9]
        assert await stage.consumer.position(A) == 11


async def test_getmany_returns_at_once_at_the_end() -> None:
    async with by_hand(full(), A) as stage:
        stage.consumer.seek(A, 0, until=4)
        found = await stage.consumer.getmany(timeout=1)
        assert offsets_of(found) == {A: [0, 1, 2, 3]}
        before = anyio.current_time()
        assert await stage.consumer.getmany(timeout=60) == {}
        assert anyio.current_time() == before


async def test_getone_says_that_no_record_is_left() -> None:
    async with by_hand(full(), A) as stage:
        stage.consumer.seek(A, 4, until=4)
        with pytest.raises(TimeoutError, match="where reading ends"):
            await stage.consumer.getone()


async def test_a_seek_without_an_end_reads_on() -> None:
    async with by_hand(full(), A) as stage:
        stage.consumer.seek(A, 0, until=4)
        assert len([record async for record in stage.consumer]) == 4
        stage.consumer.seek(A, 4)
        assert (await stage.consumer.getone(timeout=1)).offset == 4


async def test_an_end_that_is_no_offset_is_refused_and_nothing_moves() -> None:
    async with by_hand(full(), A) as stage:
        before = await stage.consumer.position(A)
        with pytest.raises(ArgumentError, match="until"):
            stage.consumer.seek(A, 9, until=-1)
        assert await stage.consumer.position(A) == before
