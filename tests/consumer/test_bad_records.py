"""Records that a deserialiser refuses: they are raised, skipped, or handed over as bytes.

The symptom (a bad record raises for ever, or is lost):
https://github.com/aio-libs/aiokafka/issues/744, https://github.com/dpkp/kafka-python/issues/1141
"""

import gc
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer, Record
from kgroup.errors import DeserializationError, KGroupError
from kgroup.journal import Delivered, MemorySink
from tests.consumer.entered import A, B, config_for
from tests.consumer.memory_backend import Makes, MemoryBackend
from tests.consumer.shelf import Shelf

pytestmark = pytest.mark.anyio


def number(data: bytes | None) -> int:
    return int(data or b"")


@dataclass
class Reader:
    """A consumer of numbers, some of which are none."""

    consumer: Consumer[Any, int]
    group: MemoryBackend
    sink: MemorySink


def shelf_with(*values: bytes) -> Shelf:
    shelf = Shelf(t=2)
    shelf.logs[A].append(*values)
    return shelf


@asynccontextmanager
async def reading(shelf: Shelf, **options: Any) -> AsyncIterator[Reader]:
    """Enter a consumer of numbers that owns t-0 and t-1."""
    sink, makes = MemorySink(), Makes()
    config = config_for(shelf, journal=sink, auto_commit_interval=1.0, **options)
    consumer = Consumer("t", config=config, value=number).coordinate_by(makes)
    async with consumer:
        assert makes.made is not None
        makes.made.give(A, B)
        await anyio.sleep(0.01)
        assert await consumer.position(A) == 0
        yield Reader(consumer, makes.made, sink)


def passes_over(offset: int, consumer: Consumer[Any, int]) -> None:
    consumer.seek(A, offset + 1)


# -- raise -------------------------------------------------------------------------------------


async def test_the_error_names_the_record_and_carries_its_bytes_and_its_cause() -> None:
    async with reading(shelf_with(b"x")) as it:
        with pytest.raises(DeserializationError, match=r"t-0: the value .* offset 0") as caught:
            await it.consumer.getone(timeout=1)
    error = caught.value
    assert isinstance(error, KGroupError)
    assert (error.tp, error.offset, error.field) == (A, 0, "value")
    assert (error.key, error.value, error.raw) == (b"0", b"x", b"x")
    assert isinstance(error.__cause__, ValueError)
    assert "'x'" not in str(error)


async def test_the_error_says_whether_the_key_or_the_value_is_bad() -> None:
    async with Consumer(config=config_for(shelf_with(b"1")), key=lambda data: 1 // 0) as consumer:
        consumer.assign([A])
        with pytest.raises(DeserializationError) as caught:
            await consumer.getone(timeout=1)
    assert (caught.value.field, caught.value.raw) == ("key", b"0")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


async def test_getone_raises_the_same_again_until_a_seek_and_commits_nothing_beyond() -> None:
    async with reading(shelf_with(b"0", b"x", b"2")) as it:
        assert (await it.consumer.getone(timeout=1)).value == 0
        for _ in range(3):
            with pytest.raises(DeserializationError) as caught:
                await it.consumer.getone(timeout=1)
            assert caught.value.offset == 1
            assert await it.consumer.position(A) == 1
        await anyio.sleep(2)
        assert it.group.offsets[A] == 1
        passes_over(1, it.consumer)
        assert (await it.consumer.getone(timeout=1)).value == 2


async def test_getone_goes_on_with_other_partitions() -> None:
    shelf = shelf_with(b"x")
    shelf.logs[B].append(b"1", b"2", b"3")
    async with reading(shelf) as it:
        await anyio.sleep(1)
        got, errors = [], 0
        for _ in range(6):
            try:
                got.append((await it.consumer.getone(timeout=1)).value)
            except DeserializationError:
                errors += 1
        assert (got, errors) == ([1, 2, 3], 3)


async def test_a_loop_over_records_raises_and_can_go_on_behind_the_record() -> None:
    async with reading(shelf_with(b"0", b"x", b"2")) as it:
        records = aiter(it.consumer)
        assert (await anext(records)).value == 0
        for _ in range(3):
            with pytest.raises(DeserializationError):
                await anext(records)
            assert await it.consumer.position(A) == 1
        await anyio.sleep(2)
        assert it.group.offsets[A] == 1  # the record in front is done: the next was asked for
        passes_over(1, it.consumer)
        assert (await anext(records)).value == 2


async def test_a_batch_yields_the_records_before_a_bad_one_and_then_raises() -> None:
    async with reading(shelf_with(b"0", b"1", b"x", b"3")) as it:
        batch = (await it.consumer.getmany(timeout=1))[A]
        got: list[int] = []
        with pytest.raises(DeserializationError) as caught:
            got.extend(record.value for record in batch)
        assert (got, caught.value.offset) == ([0, 1], 2)
        assert batch.next_offset == 2


@pytest.mark.parametrize("how", ["getmany", "batches"])
async def test_the_next_read_begins_with_the_record_that_was_refused(how: str) -> None:
    async with reading(shelf_with(b"0", b"1", b"x", b"3")) as it:
        batches = it.consumer.batches()

        async def read() -> Any:
            if how == "batches":
                return await anext(batches)
            return (await it.consumer.getmany(timeout=1))[A]

        with pytest.raises(DeserializationError):
            list(await read())
        assert await it.consumer.position(A) == 2
        for _ in range(2):
            batch = await read()
            assert batch.first == 2
            with pytest.raises(DeserializationError):
                list(batch)
        await anyio.sleep(2)
        assert it.group.offsets[A] == 2
        passes_over(2, it.consumer)
        assert [record.value for record in await read()] == [3]
        await anyio.sleep(2)
        assert it.group.offsets[A] == 3


async def test_a_batch_is_done_only_up_to_the_bad_record() -> None:
    async with reading(shelf_with(b"0", b"1", b"x", b"3")) as it:
        batch = (await it.consumer.getmany(timeout=1))[A]
        with pytest.raises(DeserializationError) as caught:
            list(batch)
        batch.done(caught.value.offset)
        assert not batch.in_hand
        batch.done()
        outcome = await it.consumer.commit()
        assert outcome.partitions[A].offset.offset == 2


async def test_a_batch_can_be_done_up_to_the_record_while_others_are_read() -> None:
    shelf = shelf_with(b"0", b"1", b"x", b"3")
    shelf.logs[B].append(b"9")
    async with reading(shelf) as it:
        await anyio.sleep(1)
        found = await it.consumer.getmany(timeout=1)
        with pytest.raises(DeserializationError):
            list(found[A])
        assert [record.value for record in found[B]] == [9]
        await it.consumer.getmany(B)
        await anyio.sleep(2)
        assert it.group.offsets == {A: 0, B: 1}


async def test_values_that_were_refused_leave_the_whole_batch_undone() -> None:
    async with reading(shelf_with(b"0", b"x", b"2")) as it:
        for _ in range(2):
            batch = (await it.consumer.getmany(timeout=1))[A]
            with pytest.raises(DeserializationError) as caught:
                batch.values()
            assert (batch.first, caught.value.offset) == (0, 1)
        await anyio.sleep(2)
        assert it.group.offsets[A] == 0


async def test_values_after_records_leave_only_unyielded_records_undone() -> None:
    async with reading(shelf_with(b"0", b"x", b"2")) as it:
        batch = (await it.consumer.getmany(timeout=1))[A]
        for read in (list, lambda each: each.values()):
            with pytest.raises(DeserializationError):
                read(batch)
        assert await it.consumer.position(A) == 1


async def test_leaving_a_batch_by_the_error_holds_commits_up_until_a_seek() -> None:
    async with reading(shelf_with(b"0", b"x", b"2")) as it:
        with pytest.raises(DeserializationError):
            async with await anext(it.consumer.batches()) as batch:
                list(batch)
        await anyio.sleep(2)
        assert it.group.offsets[A] == 0
        passes_over(1, it.consumer)
        assert (await it.consumer.getone(timeout=1)).value == 2
        assert await it.consumer.getmany(timeout=1) == {}
        await anyio.sleep(2)
        assert it.group.offsets[A] == 3


async def test_a_batch_that_failed_in_another_thread_goes_back_all_the_same() -> None:
    async with reading(shelf_with(b"0", b"x", b"2")) as it:
        batch = (await it.consumer.getmany(timeout=1))[A]
        with pytest.raises(DeserializationError):
            await anyio.to_thread.run_sync(list, batch)
        assert await it.consumer.position(A) == 1


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
async def test_a_loop_left_by_the_error_is_gone_at_once_and_holds_up_no_handover() -> None:
    async with reading(shelf_with(b"0", b"x")) as it:
        try:
            async for batch in it.consumer.batches():
                list(batch)
        except DeserializationError:
            del batch
        it.group.take_away(A)
        await anyio.sleep(2)
        assert not it.consumer.owns(A)


async def test_a_seek_after_the_error_wins() -> None:
    async with reading(shelf_with(b"0", b"x", b"2", b"3")) as it:
        batch = (await it.consumer.getmany(timeout=1))[A]
        with pytest.raises(DeserializationError):
            list(batch)
        it.consumer.seek(A, 3)
        assert await it.consumer.position(A) == 3
        with pytest.raises(DeserializationError):
            list(batch)
        assert (await it.consumer.getone(timeout=1)).value == 3


async def test_a_deserialiser_that_recovers_gets_its_record() -> None:
    ready: list[bool] = []

    def registry(data: bytes | None) -> int:
        if not ready:
            raise ConnectionError("schema registry")
        return number(data)

    async with Consumer(config=config_for(shelf_with(b"5")), value=registry) as consumer:
        consumer.assign([A])
        with pytest.raises(DeserializationError):
            await consumer.getone(timeout=1)
        ready.append(True)
        assert (await consumer.getone(timeout=1)).value == 5


async def test_a_failing_batch_holds_up_no_handover() -> None:
    async with reading(shelf_with(b"x")) as it:
        batch = (await it.consumer.getmany(timeout=1))[A]
        with pytest.raises(DeserializationError):
            list(batch)
        it.group.take_away(A)
        await anyio.sleep(2)
        assert not it.consumer.owns(A)
        assert it.group.offsets[A] == 0


# -- skip --------------------------------------------------------------------------------------

MIXED = (b"x", b"1", b"y", b"z", b"4", b"w")


async def by_getone(consumer: Consumer[Any, int]) -> list[int]:
    return [(await consumer.getone(timeout=1)).value for _ in range(2)]


async def by_records(consumer: Consumer[Any, int]) -> list[int]:
    records = aiter(consumer)
    return [(await anext(records)).value for _ in range(2)]


async def by_batch(consumer: Consumer[Any, int]) -> list[int]:
    return [record.value for record in (await consumer.getmany(timeout=1))[A]]


async def by_values(consumer: Consumer[Any, int]) -> list[int]:
    return (await consumer.getmany(timeout=1))[A].values()


@pytest.mark.parametrize("read", [by_getone, by_records, by_batch, by_values])
async def test_skip_moves_over_bad_records_and_commits_pass_over_them(
    read: Callable[[Consumer[Any, int]], Awaitable[list[int]]],
) -> None:
    async with reading(shelf_with(*MIXED), on_deserialize_error="skip") as it:
        assert await read(it.consumer) == [1, 4]
        with pytest.raises(TimeoutError):
            await it.consumer.getone(timeout=1)
        await anyio.sleep(2)
        assert it.consumer.skipped == 4
        assert it.group.offsets[A] == len(MIXED)


async def test_skipped_records_are_journalled_as_delivered() -> None:
    async with reading(shelf_with(*MIXED), on_deserialize_error="skip") as it:
        for _ in range(2):
            await it.consumer.getone(timeout=1)
        with pytest.raises(TimeoutError):
            await it.consumer.getone(timeout=1)
        seen = [each.first for each in it.sink.events if isinstance(each, Delivered)]
        assert seen == list(range(len(MIXED)))


async def test_skip_logs_once_for_each_kind_of_a_burst_and_never_the_payload(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shelf = shelf_with(*[b"secret"] * 50)
    with caplog.at_level(logging.WARNING, logger="kgroup"):
        async with reading(shelf, on_deserialize_error="skip") as it:
            with pytest.raises(TimeoutError):
                await it.consumer.getone(timeout=1)
            assert len(caplog.records) == 1
            await anyio.sleep(61)
            shelf.logs[A].append(b"secret")
            with pytest.raises(TimeoutError):
                await it.consumer.getone(timeout=1)
    first, second = [each.getMessage() for each in caplog.records]
    assert "partition=t-0 offset=0" in first
    assert "ValueError" in first
    assert "49 more" in second
    assert "secret" not in caplog.text


# -- raw ---------------------------------------------------------------------------------------


async def test_raw_hands_over_the_bytes_and_the_error() -> None:
    async with reading(shelf_with(b"0", b"x"), on_deserialize_error="raw") as it:
        good, bad = list((await it.consumer.getmany(timeout=1))[A])
        assert (good.value, good.error) == (0, None)
        assert bad.error is not None
        handed_over: object = bad.value  # whatever the type says: that is what raw is for
        assert handed_over == b"x"
        assert (bad.error.offset, bad.error.field) == (1, "value")
        assert isinstance(bad.error.__cause__, ValueError)
        assert it.consumer.skipped == 0


async def test_raw_leaves_only_the_refused_field_as_bytes() -> None:
    config = config_for(shelf_with(b"7"), on_deserialize_error="raw")

    def refuse(data: bytes | None) -> str:
        raise ValueError(data)

    async with Consumer(config=config, key=refuse, value=number) as consumer:
        consumer.assign([A])
        record: Record[Any, int] = await consumer.getone(timeout=1)
        assert (record.key, record.value) == (b"0", 7)
        assert record.error is not None
        assert record.error.field == "key"


async def test_raw_values_are_bytes_where_they_were_refused() -> None:
    async with reading(shelf_with(b"0", b"x"), on_deserialize_error="raw") as it:
        values: list[Any] = (await it.consumer.getmany(timeout=1))[A].values()
        assert values == [0, b"x"]
