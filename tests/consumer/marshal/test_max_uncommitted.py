"""`max_uncommitted`: so many records of a partition are ahead of its commit, and no more.

Records beyond that would all come again after a death, so the partition is held back until a commit
covers some of them. Only a read of that partition alone waits.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from kgroup.audit.oracles import DeliveryGate, judge
from kgroup.codes import ErrorCode
from kgroup.consumer import Consumer
from kgroup.errors import CorruptRecordError, NotOwnedError, OffsetOutOfRangeError
from kgroup.journal import Entry, MemorySink, PauseCause, Paused, Resumed, Source
from kgroup.marshal.messages import Kind
from kgroup.testing import InProcessBroker
from kgroup.types import TopicPartition
from kgroup.wire.messages import ProduceRequest
from kgroup.wire.records import NewRecord, encode_batch
from tests.consumer.marshal.claiming import A, B, claiming, kafka, owns, says
from tests.consumer.marshal.crew import crew, until
from tests.search.oracles.fairness import ServedInTurn

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

C = Consumer[Any, Any]

BOUND = 3
ONE = Source("host", "process", "one", "g")
BY_HAND: dict[str, Any] = {"max_uncommitted": BOUND, "enable_auto_commit": False}


async def got(consumer: C, *tps: TopicPartition, wait: float = 3.0) -> list[int]:
    """Read once; return the offsets that came, of one partition at the most."""
    found = await consumer.getmany(*tps, timeout=wait)
    return [record.offset for batch in found.values() for record in batch]


@asynccontextmanager
async def at_bound(broker: InProcessBroker | None = None, **options: Any) -> AsyncIterator[C]:
    """Lend a consumer that owns one partition, and was handed out of it all that its bound lets."""
    async with claiming(broker or kafka(), **{**BY_HAND, **options}) as consumer:
        await owns(consumer, A)
        assert await got(consumer, wait=30.0) == [0, 1, 2]
        yield consumer


# -- held back, and going on -------------------------------------------------------------------


async def test_a_partition_is_held_back_at_its_bound_until_a_commit() -> None:
    async with claiming(kafka(), **BY_HAND) as consumer:
        await owns(consumer, A)
        assert await got(consumer, wait=30.0) == [0, 1, 2]
        assert consumer.held_back() == {A}
        assert await got(consumer) == []
        await consumer.commit()
        assert consumer.held_back() == frozenset()
        assert await got(consumer) == [3, 4, 5]


async def test_a_read_of_a_held_back_partition_waits_and_returns_nothing() -> None:
    async with at_bound() as consumer:
        began = anyio.current_time()
        assert await consumer.getmany(A, timeout=5.0) == {}
        assert anyio.current_time() - began == pytest.approx(5.0)
        with pytest.raises(TimeoutError):
            await consumer.getone(A, timeout=5.0)
        assert anyio.current_time() - began == pytest.approx(10.0)


async def test_a_commit_of_some_makes_room_for_as_many() -> None:
    async with at_bound() as consumer:
        await consumer.commit({A: 2})
        assert await got(consumer) == [3, 4]
        assert await got(consumer) == []


async def test_a_waiting_read_goes_on_as_soon_as_the_commit_is_answered() -> None:
    async with at_bound() as consumer, anyio.create_task_group() as tasks:
        at: list[float] = []

        async def wait() -> None:
            assert (await consumer.getone(timeout=60.0)).offset == BOUND
            at.append(anyio.current_time())

        tasks.start_soon(wait)
        await anyio.sleep(10.3)
        await consumer.commit({A: 1})
        answered = anyio.current_time()
        await until(lambda: at)
        assert at[0] - answered < 0.01


async def test_other_partitions_go_on() -> None:
    async with claiming(kafka(2), **BY_HAND) as consumer:
        await owns(consumer, A, B)
        assert await got(consumer, A, wait=30.0) == [0, 1, 2]
        seen: list[int] = []
        for _ in range(3):
            found = await consumer.getmany(timeout=30.0)
            assert found.keys() == {B}
            seen += [record.offset for record in found[B]]
            await consumer.commit({B: len(seen)})
        assert seen == [*range(9)]
        assert await got(consumer, A) == []


async def test_a_commit_that_is_not_answered_yet_makes_no_room() -> None:
    """It is unknown whether a successor would begin behind it."""
    broker = kafka()
    async with at_bound(broker) as consumer:
        commit = broker.answers.hold_request(ProduceRequest, where=says(Kind.HEARTBEAT, BOUND))
        consumer.commit_soon()
        assert await got(consumer) == []
        assert (commit.count, {*consumer.held_back()}) == (1, {A})
        commit.release()
        assert await got(consumer) == [3, 4, 5]


# -- counting records --------------------------------------------------------------------------


async def test_records_are_counted_and_not_offsets() -> None:
    """After compaction there are offsets without a record between two records."""
    broker = kafka(records=0)
    log = broker.partition(*A)
    for _ in range(2 * BOUND):
        batch = encode_batch([NewRecord(None, b"x", (), 0)])
        log.append_raw(log.end.to_bytes(8, "big") + batch[8:], offsets=5)
    async with claiming(broker, **BY_HAND) as consumer:
        await owns(consumer, A)
        assert await got(consumer, wait=30.0) == [0, 5, 10]
        await consumer.commit({A: 6})
        assert await got(consumer) == [15, 20]


async def test_uncommitted_records_of_a_former_owner_do_not_count() -> None:
    async with crew(10) as group:
        first = group.enter(max_uncommitted=BOUND)
        await until(lambda: len(first.seen) == BOUND)
        await first.consumer.commit({A: 1})
        await until(lambda: len(first.seen) == BOUND + 1)
        first.die()
        second = group.enter(max_uncommitted=BOUND)
        await until(lambda: len(second.seen) == BOUND)
        await anyio.sleep(5.0)
        assert second.offsets == [1, 2, 3]


# -- seeks -------------------------------------------------------------------------------------


async def test_the_bound_holds_after_a_seek_back_over_commits() -> None:
    """The next commit takes the position back, and records read since then are ahead of it."""
    async with claiming(kafka(), **BY_HAND) as consumer:
        await owns(consumer, A)
        for _ in range(3):
            await got(consumer, wait=30.0)
            await consumer.commit()
        consumer.seek(A, 0)
        assert await got(consumer) == [0, 1, 2]
        assert await got(consumer) == []
        await consumer.commit()
        assert await got(consumer) == [3, 4, 5]


@pytest.mark.parametrize("by_itself", [False, True])
async def test_reading_goes_on_behind_a_commit_that_is_reached_again(by_itself: bool) -> None:
    """Done again up to the very offset that is committed: that is said again, and answered."""
    async with at_bound(enable_auto_commit=by_itself) as consumer:
        await consumer.commit()
        consumer.seek(A, 0)
        assert await got(consumer) == [0, 1, 2]
        if not by_itself:
            await consumer.commit()
        assert await got(consumer) == [3, 4, 5]


# -- pauses and losses -------------------------------------------------------------------------


async def test_a_partition_paused_by_the_application_stays_paused() -> None:
    async with at_bound() as consumer:
        consumer.pause(A)
        await consumer.commit()
        assert consumer.held_back() == frozenset()
        assert await got(consumer) == []
        consumer.resume(A)
        assert await got(consumer) == [3, 4, 5]


async def test_a_resumed_partition_is_still_held_back() -> None:
    async with at_bound() as consumer:
        consumer.pause(A)
        consumer.resume(A)
        assert await got(consumer) == []
        assert ({*consumer.paused()}, {*consumer.held_back()}) == (set(), {A})


async def test_a_partition_that_is_gone_is_not_held_back() -> None:
    async with at_bound() as consumer:
        consumer.unsubscribe()
        await owns(consumer)
        assert consumer.held_back() == frozenset()
        with pytest.raises(NotOwnedError):
            await consumer.getmany(A)


# -- errors ------------------------------------------------------------------------------------


def ends_in_damage(broker: InProcessBroker) -> None:
    """Append a batch to partition A that was damaged on disk."""
    log = broker.partition(*A)
    batch = encode_batch([NewRecord(None, b"x", (), 0)])
    log.append_raw(log.end.to_bytes(8, "big") + batch[8:-1] + bytes([batch[-1] ^ 1]))


async def test_an_error_behind_the_bound_is_raised_without_a_commit() -> None:
    broker = kafka(records=BOUND)
    ends_in_damage(broker)
    async with at_bound(broker) as consumer:
        with pytest.raises(CorruptRecordError, match="t-0"):
            await got(consumer, wait=30.0)
        with pytest.raises(CorruptRecordError, match="t-0"):
            await got(consumer, A)
        assert consumer.held_back() == {A}


async def test_records_in_front_of_an_error_come_first() -> None:
    broker = kafka(records=BOUND + 2)
    ends_in_damage(broker)
    async with at_bound(broker) as consumer:
        assert await got(consumer, wait=30.0) == []
        await consumer.commit()
        assert await got(consumer) == [3, 4]
        with pytest.raises(CorruptRecordError):
            await got(consumer, wait=30.0)


async def test_an_offset_that_no_log_has_is_an_error_at_the_bound_too() -> None:
    broker = kafka()
    broker.group("g").commit({A: 0})
    async with at_bound(broker, auto_offset_reset="none") as consumer:
        consumer.seek(A, 1000)
        with pytest.raises(OffsetOutOfRangeError):
            await got(consumer, wait=30.0)


async def test_an_error_of_a_held_back_partition_hides_no_other() -> None:
    broker, seen = kafka(2, records=BOUND), list[int]()
    ends_in_damage(broker)
    async with claiming(broker, max_poll_records=1, **BY_HAND) as consumer:
        await owns(consumer, A, B)
        failures = 0
        for _ in range(4 * BOUND):
            try:
                seen += await got(consumer, wait=3.0)
            except CorruptRecordError:
                failures += 1
        assert sorted(seen) == sorted([*range(BOUND)] * 2)
        assert failures > 1


# -- events ------------------------------------------------------------------------------------


async def test_the_event_log_says_why_a_partition_rests_and_until_when() -> None:
    sink = MemorySink()
    async with claiming(kafka(), journal=sink, **BY_HAND) as consumer:
        await owns(consumer, A)
        for _ in range(2):
            await got(consumer, wait=30.0)
            await got(consumer)
            await consumer.commit()
        await got(consumer)
    rests = [each for each in sink.events if isinstance(each, Paused | Resumed)]
    assert [type(each) for each in rests] == [Paused, Resumed, Paused, Resumed]
    assert {each.cause for each in rests} == {PauseCause.UNCOMMITTED}
    assert {claim.tp for each in rests for claim in each.claims} == {A}


async def test_deliveries_in_the_event_log_are_in_order_and_fair() -> None:
    """A held back partition delivers nothing, and no other partition starves."""
    sink = MemorySink()
    async with claiming(kafka(2, records=60), journal=sink, max_poll_records=1, **BY_HAND) as one:
        await owns(one, A, B)
        seen: list[int] = []
        while len(seen) < 50:  # of A, which is never committed, three come
            found = await one.getmany(timeout=30.0)
            seen += [record.offset for record in found.get(B, ())]
            if B in found:
                await one.commit({B: seen[-1] + 1})
    entries = [
        Entry(source=ONE, seq=seq, at=0.0, wall=0.0, event=event)
        for seq, event in enumerate(sink.events)
    ]
    assert not judge([DeliveryGate(), ServedInTurn(1)], entries)


# -- a commit that fails -----------------------------------------------------------------------


async def test_a_commit_by_itself_that_fails_is_tried_again_at_the_interval_only() -> None:
    broker = kafka()
    async with claiming(broker, max_uncommitted=BOUND, auto_commit_interval=3.0) as consumer:
        await owns(consumer, A)
        assert await got(consumer, wait=30.0) == [0, 1, 2]
        where, timed_out = says(Kind.HEARTBEAT, BOUND), ErrorCode.REQUEST_TIMED_OUT
        failing = broker.answers.error(ProduceRequest, timed_out, where=where, times=None)
        assert await got(consumer, wait=6.0) == []
        assert 1 <= failing.count < 30
        broker.answers.clear()
        assert await got(consumer, wait=30.0) == [3, 4, 5]
