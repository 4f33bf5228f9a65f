"""Records come out as they were written: in order, once, fairly, and bounded."""

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.errors import (
    ArgumentError,
    ClosedError,
    IllegalStateError,
    NotOwnedError,
    UnauthorizedError,
)
from kgroup.journal import Delivered, FetchAnswered
from kgroup.types import TopicPartition
from kgroup.wire.messages import FetchRequest
from tests.consumer.entered import A, B, C, by_hand, config_for, entered, staged
from tests.consumer.shelf import Shelf, offsets_of

pytestmark = pytest.mark.anyio


async def test_batches_hand_out_every_record_once_and_in_order() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 25)
    async with entered(shelf, max_poll_records=7) as stage:
        await stage.give(A)
        seen: list[int] = []
        async for batch in stage.consumer.batches():
            assert len(batch) <= 7
            assert (batch.first, batch.partition) == (len(seen), A)
            seen += [record.offset for record in batch]
            if len(seen) == 25:
                break
        assert seen == list(range(25))


async def test_single_records_come_in_order() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 25)
    async with by_hand(shelf, A) as stage:
        seen = []
        async for record in stage.consumer:
            seen.append((record.offset, record.value, record.tp))
            if len(seen) == 25:
                break
        assert seen == [(offset, b"%d" % offset, A) for offset in range(25)]


async def test_two_tasks_on_one_loop_over_records_mix_no_positions() -> None:
    shelf = Shelf(t=2)
    async with by_hand(shelf, A, B) as stage:
        records = aiter(stage.consumer)
        found: list[tuple[TopicPartition, int]] = []

        async def take(then: TopicPartition | None) -> None:
            record = await anext(records)
            found.append((record.tp, record.offset))
            if then is not None:
                shelf.fill(then, 1)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(take, B)
            tasks.start_soon(take, B)
            await anyio.sleep(1)
            shelf.fill(A, 1)
        assert (A, 0) in found
        await stage.consumer.commit()
        done = {tp: each.offset for tp, each in (await stage.consumer.committed()).items() if each}
        assert done == {tp: offset + 1 for tp, offset in found}


async def test_values_and_columns_are_the_same_records() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 12, per_batch=5)
    async with by_hand(shelf, A, max_poll_records=7) as stage:
        batch = (await stage.consumer.getmany(timeout=1))[A]
        assert batch.values() == [b"%d" % offset for offset in range(7)]
        assert [segment.first for segment in batch.columns()] == [0, 5]
        assert batch.next_offset == 7


async def test_deserialisers_make_keys_and_values() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 1)
    config = config_for(shelf)
    async with Consumer(config=config, key=lambda data: int(data or b""), value=str) as consumer:
        consumer.assign([A])
        record = await consumer.getone(timeout=1)
        assert (record.key, record.value) == (0, "b'0'")


async def test_getmany_gives_no_more_of_a_partition_than_one_fetch_held() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 30, per_batch=10)
    async with by_hand(shelf, A, max_partition_fetch_bytes=1) as stage:
        sizes = []
        for _ in range(3):
            await anyio.sleep(1)
            found = await stage.consumer.getmany()
            sizes.append(len(found[A]))
        assert sizes == [10, 10, 10]


async def test_getmany_counts_records_over_all_partitions() -> None:
    shelf = Shelf(t=2)
    shelf.fill(A, 10)
    shelf.fill(B, 10)
    async with by_hand(shelf, A, B) as stage:
        await anyio.sleep(1)
        found = offsets_of(await stage.consumer.getmany(max_records=13))
        assert sum(map(len, found.values())) == 13
        rest = offsets_of(await stage.consumer.getmany(timeout=1))
        assert sum(map(len, rest.values())) == 7


async def test_getmany_returns_nothing_when_nothing_comes() -> None:
    async with by_hand(Shelf(t=1), A) as stage:
        before = anyio.current_time()
        assert await stage.consumer.getmany(timeout=2.0) == {}
        assert anyio.current_time() - before == pytest.approx(2.0, abs=0.1)


async def test_getone_raises_timeout_error_and_the_next_one_works() -> None:
    shelf = Shelf(t=1)
    async with by_hand(shelf, A) as stage:
        with pytest.raises(TimeoutError):
            await stage.consumer.getone(timeout=1)
        shelf.fill(A, 1)
        assert (await stage.consumer.getone(timeout=2)).offset == 0


async def test_a_read_of_one_partition_leaves_the_others_alone() -> None:
    shelf = Shelf(t=2)
    shelf.fill(A, 3)
    shelf.fill(B, 3)
    async with by_hand(shelf, A, B) as stage:
        assert set(await stage.consumer.getmany(B, timeout=1)) == {B}
        assert await stage.consumer.position(A) == 0


async def test_a_read_of_a_partition_that_is_not_owned_is_refused() -> None:
    async with by_hand(Shelf(t=2), A) as stage:
        with pytest.raises(NotOwnedError) as caught:
            await stage.consumer.getmany(B)
        assert caught.value.partitions == (B,)


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_limit_below_one_is_refused(limit: int) -> None:
    async with by_hand(Shelf(t=1), A) as stage:
        with pytest.raises(ArgumentError, match="at least 1"):
            await stage.consumer.getmany(max_records=limit)


async def test_partitions_take_turns() -> None:
    shelf = Shelf(t=3)
    for tp in (A, B, C):
        shelf.fill(tp, 100)
    async with by_hand(shelf, A, B, C, max_poll_records=10) as stage:
        await anyio.sleep(1)
        order = []
        async for batch in stage.consumer.batches():
            order.append(batch.partition)
            if len(order) == 9:
                break
        assert [order.count(tp) for tp in (A, B, C)] == [3, 3, 3]
        assert set(order[:3]) == {A, B, C}


async def test_a_partition_served_last_is_asked_for_last() -> None:
    shelf = Shelf(t=2)
    shelf.fill(A, 1000, per_batch=100)
    shelf.fill(B, 1000, per_batch=100)
    async with by_hand(shelf, A, B, fetch_max_bytes=1) as stage:
        for _ in range(20):
            await stage.consumer.getmany(timeout=1)
        first = [request.topics[0].partitions[0].partition for request in shelf.fetches]
        assert {0, 1} == set(first[:2])
        served = [event.claim.tp for event in stage.events(Delivered)]
        assert abs(served.count(A) - served.count(B)) <= 1


@pytest.mark.slow
async def test_a_partition_without_end_leaves_room_for_one_with_little() -> None:
    shelf = Shelf(t=3)
    shelf.fill(A, 20_000, per_batch=500)
    async with by_hand(shelf, A, B, C, fetch_max_bytes=1, max_poll_records=None) as stage:
        await stage.consumer.getmany(timeout=1)
        shelf.fill(B, 1)
        shelf.fill(C, 1)
        seen = [tp for _ in range(4) for tp in await stage.consumer.getmany(timeout=1)]
        assert {B, C} <= set(seen)


async def test_all_partitions_together_hold_no_more_ready_than_they_may() -> None:
    shelf = Shelf(t=3)
    size = 0
    for tp in (A, B, C):
        for _ in range(300):
            shelf.logs[tp].append(b"x" * 1000)
        size = len(shelf.logs[tp].batches[0][2])
    async with by_hand(shelf, A, B, C, prefetch_max_bytes=150_000) as stage:
        await anyio.sleep(10)
        fetched = {event.claim.tp: event.next_offset for event in stage.events(FetchAnswered)}
        held = sum(fetched.values()) * size
        assert 150_000 - 3 * size <= held <= 150_000 + 3 * size


async def test_one_fetch_is_in_flight_for_each_broker() -> None:
    shelf = Shelf(brokers=2, t=2)
    async with by_hand(shelf, A, B) as stage:
        held = [broker.hold(FetchRequest) for broker in shelf.brokers]
        await anyio.sleep(5)
        asked = [len(broker.requests(FetchRequest)) for broker in shelf.brokers]
        await anyio.sleep(5)
        assert [len(broker.requests(FetchRequest)) for broker in shelf.brokers] == asked
        assert all(each.asked is not None for each in held)
        assert stage.consumer.failure is None
        await stage.consumer.close()


async def test_a_broker_that_grants_no_session_is_asked_for_one_each_time() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 1)
    async with by_hand(shelf, A) as stage:
        await stage.consumer.getone(timeout=1)
        await anyio.sleep(2)
    asked = {(each.session_id, each.session_epoch, each.rack_id) for each in shelf.fetches}
    assert asked == {(0, 0, "")}


async def test_prefetch_stops_when_a_partition_has_its_share() -> None:
    shelf = Shelf(t=1)
    shelf.logs[A].append(*[b"x" * 9_000] * 2)
    for _ in range(50):
        shelf.logs[A].append(*[b"x" * 9_000] * 2)
    async with by_hand(
        shelf, A, max_partition_fetch_bytes=1, prefetch_max_bytes=64 * 1024
    ) as stage:
        await anyio.sleep(10)
        useful = shelf.fetches
        assert len(useful) == 4
        assert len(await stage.consumer.getmany()) == 1


async def test_a_full_partition_does_not_hold_up_a_quiet_one() -> None:
    shelf = Shelf(t=2)
    shelf.logs[A].append(*[b"x" * 9_000] * 20)
    async with by_hand(shelf, A, B, prefetch_max_bytes=1) as stage:
        await anyio.sleep(5)
        shelf.fill(B, 1)
        assert (await stage.consumer.getone(B, timeout=1)).offset == 0


async def test_a_partition_that_has_room_again_does_not_wait_for_a_quiet_one() -> None:
    shelf = Shelf(t=2)
    for _ in range(10):
        shelf.logs[A].append(*[b"x" * 9_000] * 2)
    async with by_hand(shelf, A, B, prefetch_max_bytes=1, fetch_max_wait=20.0) as stage:
        await anyio.sleep(5)
        before = anyio.current_time()
        seen = 0
        while seen < 20:
            found = await stage.consumer.getmany(timeout=10)
            seen += sum(len(batch) for batch in found.values())
        assert anyio.current_time() - before < 2.0


async def test_delivered_is_journaled_before_the_records_are_returned() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 5)
    async with by_hand(shelf, A) as stage:
        await stage.consumer.getmany(timeout=1)
        (delivered,) = stage.events(Delivered)
        assert (delivered.first, delivered.last, delivered.count) == (0, 4, 5)


async def test_a_partition_in_error_and_one_with_records_both_get_their_turns() -> None:
    shelf = Shelf(t=2)
    shelf.logs[A].error = 29
    shelf.fill(B, 1000)
    async with entered(shelf, max_poll_records=1) as stage:
        stage.group.offsets[A] = 0
        await stage.give(A, B)
        await anyio.sleep(1)
        got, errors = 0, 0
        for _ in range(10):
            try:
                got += len(await stage.consumer.getmany())
            except UnauthorizedError:
                errors += 1
        assert (got, errors) == (5, 5)


async def test_an_authorisation_error_ends_when_the_broker_says_yes() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 1)
    async with entered(shelf) as stage:
        stage.group.offsets[A] = 0
        shelf.logs[A].error = 29
        await stage.give(A)
        await anyio.sleep(1)
        with pytest.raises(Exception, match="TOPIC_AUTHORIZATION_FAILED"):
            await stage.consumer.getone(timeout=1)
        shelf.logs[A].error = 0
        await anyio.sleep(2)
        assert (await stage.consumer.getone(timeout=1)).offset == 0


@pytest.mark.parametrize("code", [6, 74, 5, 78, 3, 100, 103, 75, 7, 56])
async def test_a_passing_error_of_a_leader_only_delays(code: int) -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 1)
    async with entered(shelf) as stage:
        stage.group.offsets[A] = 0
        shelf.logs[A].error = code
        await stage.give(A)
        assert await stage.consumer.getmany(timeout=5) == {}
        assert len(shelf.fetches) < 20
        shelf.logs[A].error = 0
        assert (await stage.consumer.getone(timeout=2)).offset == 0


async def test_records_are_fetched_from_a_new_leader() -> None:
    shelf = Shelf(brokers=2, t=1)
    shelf.fill(A, 1)
    async with by_hand(shelf, A) as stage:
        await stage.consumer.getone(timeout=1)
        shelf.broker(1).go_down()
        shelf.move_leader(A, 2)
        shelf.fill(A, 1)
        assert (await stage.consumer.getone(timeout=10)).offset == 1


async def test_reads_end_when_the_consumer_is_closed() -> None:
    ended = []
    async with by_hand(Shelf(t=1), A) as stage, anyio.create_task_group() as tasks:

        async def iterate() -> None:
            async for _ in stage.consumer.batches():
                pass
            ended.append("batches")

        async def records() -> None:
            async for _ in stage.consumer:
                pass
            ended.append("records")

        async def one() -> None:
            with pytest.raises(ClosedError):
                await stage.consumer.getone()
            ended.append("one")

        async def many() -> None:
            assert await stage.consumer.getmany(timeout=1000) == {}
            ended.append("many")

        for reader in (iterate, records, one, many):
            tasks.start_soon(reader)
        await anyio.sleep(1)
        await stage.consumer.close()
    assert sorted(ended) == ["batches", "many", "one", "records"]
    with pytest.raises(ClosedError):
        await stage.consumer.getmany()


async def test_a_cancelled_read_loses_no_record() -> None:
    shelf = Shelf(t=1)
    async with by_hand(shelf, A, fetch_max_wait=0.01) as stage:
        seen = []
        for round_ in range(40):
            shelf.fill(A, 1)
            with anyio.move_on_after(0.001 * (round_ % 30)):
                seen.append((await stage.consumer.getone()).offset)
        while len(seen) < 40:
            seen.append((await stage.consumer.getone(timeout=1)).offset)
        assert seen == list(range(40))


async def test_a_waiting_reader_goes_on_polling() -> None:
    async with entered(Shelf(t=1), max_poll_interval=60.0) as stage:
        with pytest.raises(TimeoutError):
            await stage.consumer.getone(timeout=300)
        assert stage.group.polls > 10


async def test_calls_before_entering_are_refused() -> None:
    stage = staged(Shelf(t=1), "t")
    with pytest.raises(IllegalStateError, match="async with"):
        await stage.consumer.getmany()
    with pytest.raises(IllegalStateError):
        stage.consumer.seek(TopicPartition("t", 0), 1)
