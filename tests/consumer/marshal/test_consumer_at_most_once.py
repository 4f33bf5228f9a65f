"""At most once, as the reader sees it: no record is handed out twice, and only records that were
about to be handed out may be lost."""

from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.errors import ConfigError, UnsupportedError
from kgroup.marshal.messages import Kind
from kgroup.testing import InProcessBroker
from kgroup.types import OffsetAndMetadata
from kgroup.wire.messages import OffsetCommitRequest, ProduceRequest
from tests.consumer.marshal.claiming import (
    LEASE,
    A,
    claiming,
    foreign,
    gives,
    kafka,
    owns,
    said,
    says,
)
from tests.contracts.application import until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PROBE, HEARTBEAT, RELEASE = Kind.CLAIMING_MESSAGES, Kind.HEARTBEAT, Kind.RELEASING_PARTITION
PORTION = 4

C = Consumer[Any, Any]


def careful(broker: InProcessBroker, **options: Any) -> AbstractAsyncContextManager[C]:
    """Enter a consumer that is handed four records at most of each admission."""
    chosen = {"guarantee": "at_most_once", "at_most_once_records": PORTION, **options}
    return claiming(broker, **chosen)


async def rest(consumer: C, timeout: float = 3 * LEASE) -> list[int]:
    """Read until nothing comes any more; return the offsets."""
    found: list[int] = []
    while records := await consumer.getmany(timeout=timeout):
        found += [record.offset for part in records.values() for record in part]
    return found


async def test_a_portion_is_probed_committed_and_published_before_its_first_record() -> None:
    broker = kafka()
    async with careful(broker) as consumer:
        assert await gives(consumer, 1) == [0]
        assert [each.words for each in said(broker, A)][-2:] == [(PROBE, 4), (HEARTBEAT, 4)]
        assert broker.group("g").offsets[A].offset == 4


@pytest.mark.parametrize("count", [1, 3, 4, 5, 500])
async def test_portions_follow_each_other_without_a_gap(count: int) -> None:
    broker = kafka()
    async with careful(broker, at_most_once_records=count) as consumer:
        assert await gives(consumer, 10) == [*range(10)]
    ends = [each.message.tail for each in said(broker, A, PROBE)]
    assert ends == [min(end, 10) for end in range(count, 10 + count, count)]
    assert said(broker, A)[-1].words == (RELEASE, 10)


async def test_a_batch_is_no_larger_than_a_portion_and_its_values_are_all_there() -> None:
    broker = kafka()
    values: list[Any] = []
    async with careful(broker) as consumer:
        async for batch in consumer.batches():
            assert len(batch) <= PORTION
            values += batch.values()
            batch.done()
            if len(values) == 10:
                break
    assert values == [b"%d" % offset for offset in range(10)]


async def test_there_is_nothing_to_commit() -> None:
    broker = kafka()
    async with careful(broker) as consumer:
        record = await consumer.getone(timeout=30)
        with pytest.raises(UnsupportedError, match="there is nothing to commit"):
            await consumer.commit(record)
        with pytest.raises(UnsupportedError, match="there is nothing to commit"):
            consumer.commit_soon(record)
        assert (await consumer.committed(A))[A] == OffsetAndMetadata(4)


def test_a_classic_group_cannot_be_at_most_once() -> None:
    with pytest.raises(ConfigError, match="guarantee"):
        Consumer("t", group_id="g", guarantee="at_most_once")


async def test_a_read_cancelled_during_admission_gets_its_records_later_and_once() -> None:
    """1. A reader waits, its records are being admitted; 2. it is cancelled; 3. they are admitted;
    4. the next reader gets them, and they do not come again."""
    broker = kafka()
    async with careful(broker) as consumer:
        await owns(consumer, A)
        held = broker.answers.hold_request(OffsetCommitRequest)
        with anyio.move_on_after(0.5) as scope:
            await consumer.getone()
        assert scope.cancelled_caught
        held.release()
        assert await rest(consumer) == [*range(10)]


@pytest.mark.parametrize("moment", [n * 0.013 for n in range(6)])
async def test_a_reader_cancelled_at_any_moment_loses_and_doubles_nothing(moment: float) -> None:
    broker = kafka()
    found: list[int] = []
    async with careful(broker) as consumer:
        await owns(consumer, A)
        while len(found) < 10:
            with anyio.move_on_after(moment):
                found.append((await consumer.getone()).offset)
            with anyio.move_on_after(5.0):
                found.append((await consumer.getone()).offset)
            assert anyio.current_time() < 200
        assert found == [*range(10)]


async def test_a_seek_during_admission_hands_out_only_the_sought_records() -> None:
    broker = kafka()
    async with careful(broker) as consumer:
        await owns(consumer, A)
        await consumer.position(A)
        held = broker.answers.hold_request(OffsetCommitRequest)
        async with anyio.create_task_group() as tasks:
            found: list[int] = []

            async def read() -> None:
                found.extend(await gives(consumer, 3))

            tasks.start_soon(read)
            await until(lambda: held.count, 5.0, "a portion is being admitted")
            consumer.seek(A, 6)
            held.release()
        assert found == [6, 7, 8]


async def test_a_lease_that_ends_during_admission_loses_the_portion() -> None:
    """1. The portion is committed, its heartbeat does not arrive; 2. the lease ends: nobody gets
    it; 3. the next claim begins behind it, because it may have been handed out."""
    broker = kafka()
    async with careful(broker) as consumer:
        await owns(consumer, A)
        lost = broker.answers.ignore(ProduceRequest, where=says(HEARTBEAT), times=None)
        found = await consumer.getmany(timeout=1.2 * LEASE)
        assert found == {}
        assert broker.group("g").offsets[A].offset == 4
        lost.cancel()
        assert await rest(consumer, 6 * LEASE) == [*range(4, 10)]


async def test_a_takeover_during_admission_hands_out_nothing() -> None:
    broker = kafka()
    async with careful(broker) as consumer:
        await owns(consumer, A)
        held = broker.answers.hold_request(OffsetCommitRequest)
        async with anyio.create_task_group() as tasks:
            found: list[Any] = []

            async def read() -> None:
                found.append(await consumer.getmany(timeout=LEASE / 2))

            tasks.start_soon(read)
            await until(lambda: held.count, 5.0, "a portion is being admitted")
            foreign(broker).take(0)
            await anyio.sleep(0.5)
            held.release()
        assert found == [{}]


async def test_a_reader_without_patience_gets_everything_once() -> None:
    broker = kafka()
    found: list[int] = []
    async with careful(broker) as consumer:
        for _ in range(500):
            records = await consumer.getmany(timeout=0)
            found += [record.offset for part in records.values() for record in part]
            await anyio.sleep(0.005)
        assert found == [*range(10)]
