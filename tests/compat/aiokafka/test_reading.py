"""What getone, getmany and iteration deliver, and what becomes of reads that end early."""

import asyncio
from typing import Any

import pytest
from aiokafka.errors import (
    ConsumerStoppedError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    TopicAuthorizationFailedError,
)
from aiokafka.structs import ConsumerRecord, TopicPartition

from kgroup.codes import ErrorCode
from kgroup.compat.aiokafka import AIOKafkaConsumer
from kgroup.compat.aiokafka.errors import FencedInstanceIdError
from kgroup.testing.virtual_time import virtual_ports
from kgroup.wire.messages import FetchRequest
from tests.compat.aiokafka.ground import A, B, broker_with, fill, made, offsets, started, until

pytestmark = pytest.mark.anyio


# -- shape ---------------------------------------------------------------------------------


async def test_getmany_returns_lists_of_aiokafkas_records_by_its_partitions() -> None:
    async with started(broker_with(3), "t") as consumer:
        await consumer.getone()
        found = await consumer.getmany(timeout_ms=1000)
    assert {type(tp) for tp in found} == {TopicPartition}
    (record, *_) = found[B]
    assert type(record) is ConsumerRecord
    assert (record.topic, record.partition, record.offset) == ("t", 1, 0)
    assert (record.value, record.serialized_value_size, record.serialized_key_size) == (b"0", 1, -1)


async def test_getmany_returns_nothing_when_the_time_is_up() -> None:
    async with started(broker_with(0), "t") as consumer:
        before = asyncio.get_running_loop().time()
        assert await consumer.getmany(timeout_ms=1500) == {}
        assert asyncio.get_running_loop().time() - before == pytest.approx(1.5, abs=0.1)
        assert await consumer.getmany() == {}
        assert await consumer.getmany(timeout_ms=-1) == {}


async def test_the_limit_of_records_is_exact_and_that_of_the_constructor_is_the_default() -> None:
    async with started(broker_with(50), "t", max_poll_records=48) as consumer:
        await asyncio.sleep(1)
        sizes = []
        for limit in (None, 42, None):
            found = await consumer.getmany(max_records=limit)
            sizes.append(sum(map(len, found.values())))
        assert sizes == [48, 42, 10]


@pytest.mark.parametrize("limit", [0, -1, "1", 1.5])
async def test_a_limit_that_is_no_positive_int_is_refused(limit: Any) -> None:
    async with started(broker_with(), "t") as consumer:
        with pytest.raises(ValueError, match="positive Integer"):
            await consumer.getmany(max_records=limit)


async def test_two_fetches_of_a_partition_are_never_joined() -> None:
    broker = broker_with(30, t=1)
    async with started(broker, "t", max_partition_fetch_bytes=1) as consumer:
        await asyncio.sleep(2)
        found = [offsets(await consumer.getmany(timeout_ms=1000)) for _ in range(3)]
    assert found == [{A: [*range(at, at + 10)]} for at in (0, 10, 20)]


async def test_single_reads_go_on_with_a_partition_until_its_fetch_is_read() -> None:
    async with started(broker_with(5), "t") as consumer:
        await asyncio.sleep(1)
        read = [(await consumer.getone()).partition for _ in range(10)]
    assert read in ([0] * 5 + [1] * 5, [1] * 5 + [0] * 5)


async def test_a_read_of_one_partition_leaves_the_other_where_it_is() -> None:
    async with started(broker_with(3), "t") as consumer:
        assert offsets(await consumer.getmany(B, timeout_ms=1000)) == {B: [0, 1, 2]}
        assert (await consumer.getone(A)).offset == 0
        assert await consumer.position(A) == 1


async def test_what_is_no_partition_is_an_assertion() -> None:
    async with started(broker_with(), "t") as consumer:
        with pytest.raises(AssertionError):
            await consumer.getone("t")
        with pytest.raises(AssertionError):
            await consumer.getmany(("t", 0))


async def test_what_is_paused_is_not_read() -> None:
    async with started(broker_with(3), "t") as consumer:
        consumer.pause(A)
        await asyncio.sleep(1)
        assert offsets(await consumer.getmany(timeout_ms=1000)) == {B: [0, 1, 2]}
        assert consumer.paused() == {A}
        assert await asyncio.wait_for(consumer.seek_to_beginning(), 5)
        consumer.resume(A)
        assert A in await consumer.getmany(timeout_ms=1000)


# -- partitions that are not held ----------------------------------------------------------


async def test_a_read_of_a_partition_that_is_not_held_waits_for_it() -> None:
    broker = broker_with(3)
    async with started(broker) as consumer:
        consumer.assign([A])
        assert await consumer.getmany(B, timeout_ms=1000) == {}
        reading = asyncio.ensure_future(consumer.getone(B))
        await asyncio.sleep(2)
        assert not reading.done()
        consumer.assign([A, B])
        assert (await asyncio.wait_for(reading, 2)).partition == 1


async def test_a_member_reads_on_after_rounds_between_its_reads() -> None:
    broker = broker_with(40)
    async with started(broker, "t", heartbeat_interval_ms=200) as first:
        seen = [(record.partition, record.offset) for record in await _some(first)]
        async with started(broker, "t", heartbeat_interval_ms=200) as second:
            await until(lambda: len(first.assignment()) == 1)
            seen += [(record.partition, record.offset) for record in await _some(second)]
            seen += [(record.partition, record.offset) for record in await _some(first)]
        await until(lambda: len(first.assignment()) == 2)
        while len(seen) < 80:
            record = await asyncio.wait_for(first.getone(), 10)
            seen.append((record.partition, record.offset))
    assert sorted(seen) == [(number, at) for number in (0, 1) for at in range(40)]


async def _some(consumer: AIOKafkaConsumer) -> list[ConsumerRecord]:
    found = await consumer.getmany(timeout_ms=5000, max_records=5)
    return [record for records in found.values() for record in records]


async def test_a_consumer_that_has_not_read_for_long_is_out_and_returns_with_its_next_read() -> (
    None
):
    broker = broker_with(10)
    options = {"max_poll_interval_ms": 3000, "heartbeat_interval_ms": 200}
    async with started(broker, "t", **options) as idle, started(broker, "t", **options) as busy:
        await idle.getone()
        reading = asyncio.ensure_future(_read_for_ever(busy))
        before = asyncio.get_running_loop().time()
        await until(lambda: len(busy.assignment()) == 2)
        assert 2 < asyncio.get_running_loop().time() - before < 5
        coming_back = asyncio.ensure_future(idle.getone())
        await until(lambda: len(busy.assignment()) == 1 and len(idle.assignment()) == 1)
        for tp in (A, B):
            fill(broker, tp, 10)
        await asyncio.wait_for(coming_back, 5)
        reading.cancel()


async def _read_for_ever(consumer: AIOKafkaConsumer) -> None:
    async for _ in consumer:
        pass


# -- reads that end early ------------------------------------------------------------------


async def test_a_cancelled_read_loses_no_record_and_leaves_the_consumer_usable() -> None:
    broker = broker_with(0, t=1)
    async with started(broker, "t", fetch_max_wait_ms=20) as consumer:
        seen: list[int] = []
        for step in range(200):
            read = _first(consumer) if step % 2 else consumer.getone()
            reading = asyncio.ensure_future(read)
            fill(broker, A, 1)
            # Every instant of a read: before it begins, while it waits, when it has its record.
            await asyncio.sleep((step % 40) * 0.001)
            reading.cancel()
            await asyncio.wait((reading,))
            if not reading.cancelled():
                seen.append(reading.result().offset)
        while len(seen) < 200:
            seen.append((await asyncio.wait_for(consumer.getone(), 5)).offset)
    assert seen == [*range(200)]


async def _first(consumer: AIOKafkaConsumer) -> ConsumerRecord:
    while True:
        found = await consumer.getmany(timeout_ms=1000, max_records=1)
        for records in found.values():
            return records[0]


async def test_a_read_that_takes_too_long_is_cut_off_and_the_next_gets_the_record() -> None:
    broker = broker_with(0, t=1)
    async with started(broker, "t") as consumer:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(consumer.getone(), 0.5)
        fill(broker, A, 1)
        assert (await asyncio.wait_for(consumer.getone(), 2)).offset == 0


async def test_cancelled_reads_do_not_keep_an_idle_member_in_its_group() -> None:
    broker = broker_with(0)
    options = {"max_poll_interval_ms": 3000, "heartbeat_interval_ms": 200}
    async with started(broker, "t", **options) as consumer:
        for _ in range(3):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(consumer.getone(), 0.5)
        await until(lambda: not broker.group("g").members, within=6)


async def test_readers_of_different_partitions_do_not_disturb_each_other() -> None:
    async with started(broker_with(20), "t") as consumer:

        async def read(tp: TopicPartition) -> list[int]:
            return [(await consumer.getone(tp)).offset for _ in range(20)]

        assert [*await asyncio.gather(read(A), read(B))] == [[*range(20)]] * 2


async def test_two_reads_of_all_partitions_at_once_mix_no_positions() -> None:
    broker = broker_with(0)
    async with started(broker, "t", enable_auto_commit=False) as consumer:
        await until(lambda: len(consumer.assignment()) == 2)
        reading = [asyncio.ensure_future(consumer.getone()) for _ in range(2)]
        await asyncio.sleep(1)
        fill(broker, A, 1)
        await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
        fill(broker, B, 1)
        found = {(record.partition, record.offset) for record in await asyncio.gather(*reading)}
        assert found == {(0, 0), (1, 0)}
        await consumer.commit()
        assert (await consumer.committed(A), await consumer.committed(B)) == (1, 1)


async def test_a_loop_calls_the_getone_of_a_subclass_for_each_record() -> None:
    class Counting(AIOKafkaConsumer):
        calls = 0

        async def getone(self, *partitions: TopicPartition) -> Any:
            self.calls += 1
            return await super().getone(*partitions)

    broker = broker_with(5)
    consumer = Counting(
        "t",
        bootstrap_servers=broker.bootstrap_servers,
        auto_offset_reset="earliest",
        ports=virtual_ports(broker.dial),
    )
    async with consumer:
        seen = 0
        async for _ in consumer:
            seen += 1
            if seen == 10:
                break
        assert consumer.calls == 10


async def test_a_commit_does_not_wait_for_a_read_that_does() -> None:
    async with started(broker_with(0), "t", fetch_max_wait_ms=10_000) as consumer:
        reading = asyncio.ensure_future(consumer.getmany(timeout_ms=20_000))
        await asyncio.sleep(1)
        await asyncio.wait_for(consumer.commit({A: 0}), 1)
        assert not reading.done()


# -- stopping ------------------------------------------------------------------------------


async def test_readers_that_wait_are_woken_before_stop_returns() -> None:
    consumer = made(broker_with(0), "t")
    await consumer.start()
    one = asyncio.ensure_future(consumer.getone())
    many = asyncio.ensure_future(consumer.getmany(timeout_ms=60_000))
    named = asyncio.ensure_future(consumer.getone(TopicPartition("other", 0)))
    loop = asyncio.ensure_future(_read_for_ever(consumer))
    await asyncio.sleep(1)
    await consumer.stop()
    assert all(each.done() for each in (one, many, named, loop))
    for each in (one, named):
        with pytest.raises(ConsumerStoppedError):
            each.result()
    assert many.result() == {}
    assert loop.result() is None


async def test_after_stop_every_read_is_refused_and_no_loop_begins() -> None:
    consumer = made(broker_with(), "t")
    await consumer.start()
    await consumer.stop()
    with pytest.raises(ConsumerStoppedError):
        await consumer.getone()
    with pytest.raises(ConsumerStoppedError):
        await consumer.getmany(timeout_ms=0)
    with pytest.raises(ConsumerStoppedError):
        aiter(consumer)


# -- errors --------------------------------------------------------------------------------


async def test_without_an_offset_or_a_policy_every_read_says_so_again() -> None:
    async with started(broker_with(), "t", auto_offset_reset="none") as consumer:
        for _ in range(3):
            with pytest.raises(NoOffsetForPartitionError):
                await consumer.getone()
            with pytest.raises(NoOffsetForPartitionError):
                await consumer.getmany(timeout_ms=1000)


async def test_an_offset_out_of_range_is_the_matter_of_its_partition() -> None:
    async with started(broker_with(), "t", auto_offset_reset="none") as consumer:
        consumer.seek(A, 19_999)
        for _ in range(2):
            with pytest.raises(OffsetOutOfRangeError) as caught:
                await consumer.getmany(A, timeout_ms=5000)
            assert caught.value.args[0] == {A: 19_999}
        with pytest.raises(NoOffsetForPartitionError):
            await consumer.getone(B)
        consumer.seek(A, 3)
        assert (await consumer.getone(A)).offset == 3


async def test_reads_raise_for_a_topic_that_may_not_be_read() -> None:
    broker = broker_with()
    async with started(broker, "t") as consumer:
        await consumer.getmany(timeout_ms=1000)
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        broker.answers.error(FetchRequest, code, times=None)
        await consumer.getmany()
        with pytest.raises(TopicAuthorizationFailedError):
            await consumer.getmany(timeout_ms=5000)


async def test_what_ended_the_membership_is_raised_by_every_read() -> None:
    broker = broker_with(0)
    async with started(broker, "t", group_instance_id="one") as consumer:
        waiting = asyncio.ensure_future(consumer.getone())
        await asyncio.sleep(1)
        broker.group("g").fence("one")
        with pytest.raises(FencedInstanceIdError):
            await asyncio.wait_for(waiting, 10)
        for _ in range(2):
            with pytest.raises(FencedInstanceIdError):
                await consumer.getmany()


# -- deserialisers -------------------------------------------------------------------------


def _below_five(data: bytes) -> int:
    if data == b"5":
        raise ZeroDivisionError(data)
    return int(data)


async def test_a_record_that_a_deserialiser_refuses_stays_in_front_of_reads() -> None:
    broker = broker_with(10, t=1)
    async with started(broker, "t", value_deserializer=_below_five) as consumer:
        found = await consumer.getmany(timeout_ms=1000)
        assert [record.value for record in found[A]] == [0, 1, 2, 3, 4]
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                await consumer.getone()
            with pytest.raises(ZeroDivisionError):
                await consumer.getmany(timeout_ms=1000)
        assert await consumer.position(A) == 5
        consumer.seek(A, 6)
        assert (await consumer.getone()).value == 6
    assert broker.group("g").committed == {("t", 0): 7}


async def test_a_bad_record_of_one_partition_does_not_hide_another() -> None:
    broker = broker_with(0)
    fill(broker, B, 3)
    broker.partition(*A).append("5")
    async with started(broker, "t", value_deserializer=_below_five) as consumer:
        await asyncio.sleep(1)
        found = await consumer.getmany()
        assert offsets(found) == {B: [0, 1, 2]}
        with pytest.raises(ZeroDivisionError):
            await consumer.getmany(timeout_ms=1000)
