"""What users of other clients suffer from, tried on a real Kafka: readers, listeners, bad records.

Each test names the report and the requirement it checks.
"""

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup import ClosedError, Consumer, DeserializationError, FencedError
from kgroup.testing.kafka import RealKafka
from kgroup.types import OwnershipChange, TopicPartition
from tests.real.ground import Ground, eventually, fresh, lay_ground
from tests.real.members import Member, group_on, read_on

pytestmark = pytest.mark.real

Bytes = bytes | None


def reader(ground: Ground, **options: Any) -> Consumer[Bytes, Bytes]:
    settings = {"auto_offset_reset": "earliest", "fetch_max_wait": 0.1, **options}
    return Consumer(bootstrap_servers=ground.kafka.bootstrap, **settings)


async def test_5_pending_and_later_reads_raise_when_the_work_behind_them_has_ended(
    kafka: RealKafka,
) -> None:
    """aiokafka#983 (#1037, #847): fetching stopped in silence when an internal task had ended.

    Required: every pending and later read raises within 1 s.
    """
    ground = await lay_ground(kafka, 1)
    twin = {
        "group_id": fresh("group"),
        "group_instance_id": "one",
        "session_timeout": 6.0,
        "heartbeat_interval": 0.3,
    }
    async with reader(ground, **twin) as older, reader(ground, **twin) as younger:
        older.subscribe(ground.topic)
        await eventually(lambda: older.assignment(), "the older one owns it")
        raised: list[float] = []

        async def pending() -> None:
            with pytest.raises(FencedError, match="one"):
                await older.getone(timeout=20)
            raised.append(time.monotonic())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pending)
            younger.subscribe(ground.topic)
            await eventually(lambda: older.failure, "the older one is fenced")
            failed = time.monotonic()
        assert raised[0] - failed < 1.0
        for _ in range(2):
            with pytest.raises(FencedError):
                await older.getmany()


@pytest.fixture
async def spoilt(kafka: RealKafka) -> Ground:
    """Three records, of which the second is no JSON."""
    ground = await lay_ground(kafka, 1)
    for value in (b"1", b"{", b"3"):
        ground.producer.produce(ground.topic, value, partition=0)
    await ground.stored()
    return ground


def number(data: Bytes) -> int:
    return int(json.loads(data or b"null"))


def counting(ground: Ground, policy: Any) -> Consumer[Bytes, int]:
    return Consumer(
        bootstrap_servers=ground.kafka.bootstrap,
        value=number,
        auto_offset_reset="earliest",
        on_deserialize_error=policy,
    )


async def test_10_a_bad_record_is_raised_at_its_place_until_it_is_skipped(spoilt: Ground) -> None:
    """aiokafka#744 (kafka-python#1141): a bad record raises again and again, and no way on.

    Required: raise, skip or raw; the position is exact in each.
    """
    tp = spoilt.tp(0)
    async with counting(spoilt, "raise") as consumer:
        consumer.assign([tp])
        assert (await consumer.getone(timeout=10)).value == 1
        for _ in range(2):
            with pytest.raises(DeserializationError) as caught:
                await consumer.getone(timeout=10)
            assert (caught.value.tp, caught.value.offset, caught.value.raw) == (tp, 1, b"{")
            assert await consumer.position(tp) == 1
        consumer.seek(tp, caught.value.offset + 1)
        assert (await consumer.getone(timeout=10)).value == 3
        assert await consumer.position(tp) == 3


@pytest.mark.parametrize(("policy", "offsets"), [("skip", [0, 2]), ("raw", [0, 1, 2])])
async def test_10_a_bad_record_is_skipped_or_handed_over(
    spoilt: Ground, policy: str, offsets: list[int]
) -> None:
    """aiokafka#744 (kafka-python#1141): see above."""
    async with counting(spoilt, policy) as consumer:
        consumer.assign([spoilt.tp(0)])
        records = [await consumer.getone(timeout=10) for _ in offsets]
        assert [record.offset for record in records] == offsets
        assert [record.offset for record in records if record.error] == offsets[1:-1]
        assert await consumer.position(spoilt.tp(0)) == 3


class Locked:
    """A listener that takes the application's lock, which the reader holds while it reads."""

    def __init__(self) -> None:
        self.lock = anyio.Lock()
        self.changes = 0

    async def read(self, member: Member) -> None:
        with suppress(ClosedError):
            while True:
                await self._turn(member)
                await anyio.sleep(0.01)

    async def _turn(self, member: Member) -> None:
        async with self.lock:
            for batch in (await member.consumer.getmany(timeout=0.1)).values():
                member.take(batch)

    async def on_revoking(self, change: OwnershipChange) -> None:
        async with self.lock:
            self.changes += len(change.removed)


async def test_11_a_listener_that_takes_the_lock_of_the_reader_does_not_deadlock(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """aiokafka#335: a listener that takes the application's lock deadlocks with getmany.

    Required: no internal lock is held while the application's code runs.
    """
    ground = await lay_ground(kafka, 4)
    await ground.fill(50)
    async with group_on(ground, tmp_path) as group:
        application = Locked()
        first = await group.join("m1", application.read)
        first.on_revoking = application.on_revoking
        await group.settled(4)
        await group.join("m2")
        await group.settled(2, 2)
        await group.all_read()
        assert application.changes == 2
        await group.end()
    assert (await group.verdict()).total.lost == 0


@pytest.mark.faults
async def test_14_a_partition_whose_position_cannot_be_checked_stalls_no_other(
    kafka_cluster: RealKafka,
) -> None:
    """kafka-python#3106: reading stops after one batch; a pending validation blocks fetching.

    Required: such a partition asks again with backoff, says why, and never stalls others.
    """
    dead, alive = kafka_cluster.nodes[:2]
    ground = await lay_ground(kafka_cluster, 2, replicas=[[dead], [alive]])
    await ground.fill(5)
    gone, there = ground.tp(0), ground.tp(1)
    async with reader(ground, metadata_max_age=1.0) as consumer:
        consumer.assign(ground.all_partitions)
        await read_to(consumer, {gone: 5, there: 5})
        await anyio.to_thread.run_sync(kafka_cluster.kill, dead)
        await ground.fill(5, partitions=[1])
        await read_to(consumer, {there: 10})
        await anyio.to_thread.run_sync(kafka_cluster.restart, dead)
        await ground.fill(5, partitions=[0])
        await read_to(consumer, {gone: 10})


@pytest.mark.faults
async def test_16_reading_goes_on_after_errors_and_other_assignments(
    kafka_cluster: RealKafka,
) -> None:
    """kafka-python#2575: no records came with fetch sessions, out of step after an error.

    Required: any fetch error or assignment is survived.
    """
    ground = await lay_ground(kafka_cluster, 3)
    await ground.fill(5)
    first, second, third = (ground.tp(number) for number in range(3))
    async with reader(ground) as consumer:
        consumer.assign([first, second])
        await read_to(consumer, {first: 5, second: 5})
        for node in kafka_cluster.nodes:
            await anyio.to_thread.run_sync(kafka_cluster.kill, node)
            await anyio.to_thread.run_sync(kafka_cluster.restart, node)
        consumer.assign([second, third])
        await ground.fill(5)
        await read_to(consumer, {second: 10, third: 10})
        consumer.assign([first, second, third])
        consumer.seek(first, 5)
        await read_to(consumer, {first: 10})


async def read_to(consumer: Consumer[Bytes, Bytes], ends: dict[TopicPartition, int]) -> None:
    """Read until partitions are read up to offsets, each record once and in order."""
    places = {tp: await consumer.position(tp, timeout=20) for tp in ends}
    with anyio.fail_after(40):
        while places != ends:
            found = await consumer.getmany(*ends, timeout=1)
            for record in (record for batch in found.values() for record in batch):
                assert record.offset == places[record.tp], f"{record.tp}: one is missing"
                places[record.tp] += 1


async def test_25_a_listener_that_never_returns_is_cut_off_and_logged_once(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """confluent-kafka-python#939: one cannot await in on_revoke.

    Required: an awaited listener is bounded by the rebalance timeout; ownership changes then all
    the same, and the application hears of it.
    """
    ground = await lay_ground(kafka, 4)
    await ground.fill(20)
    async with group_on(ground, tmp_path, max_poll_interval=3.0) as group:
        claim_log = Reported()
        first = await group.join("m1", claim_log.work)
        await group.settled(4)
        first.on_revoking = never_returns
        began = time.monotonic()
        second = await group.join("m2", read_on)
        await eventually(lambda: len(second.owned) == 2, "the other one owns its share")
        assert 2.0 < time.monotonic() - began < 12.0
        await eventually(lambda: claim_log.errors, "the error is heard")
        await ground.fill(20)
        await group.all_read()
        first.on_revoking = None
        await group.end()
    assert [type(error) for error in claim_log.errors] == [TimeoutError]
    assert "on_revoked" in str(claim_log.errors[0])


async def never_returns(change: OwnershipChange) -> None:
    await anyio.sleep(3600)


class Reported:
    """Work of a member that reads on after what its listener did was reported."""

    def __init__(self) -> None:
        self.errors: list[Exception] = []

    async def work(self, member: Member) -> None:
        batches = member.consumer.batches()
        while True:
            try:
                member.take(await anext(batches))
            except StopAsyncIteration:
                return
            except TimeoutError as error:
                self.errors.append(error)
