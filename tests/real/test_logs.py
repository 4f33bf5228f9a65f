"""What a consumer can ask of a real broker's logs, and where it can go in them."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka import TopicPartition as Row

from kgroup import Consumer, Generation, OffsetAndMetadata, TopicPartition
from kgroup.errors import BrokerError
from kgroup.testing.kafka import RealKafka
from tests.real.ground import PATIENCE, Ground, committed, eventually, fresh, lay_ground

pytestmark = pytest.mark.real


def reader(ground: Ground, **options: Any) -> Consumer[bytes | None, bytes | None]:
    """Make a consumer that begins at the start and looks often."""
    defaults = {"auto_offset_reset": "earliest", "fetch_max_wait": 0.1}
    return Consumer(bootstrap_servers=ground.kafka.bootstrap, **{**defaults, **options})


@contextmanager
def transaction(ground: Ground, count: int) -> Iterator[Producer]:
    """Write records to partition 0 in a transaction that the block ends."""
    producer = Producer(
        {"bootstrap.servers": ground.kafka.bootstrap, "transactional.id": fresh("txn")}
    )
    producer.init_transactions()
    producer.begin_transaction()
    for _ in range(count):
        producer.produce(ground.topic, b"in doubt", partition=0)
    producer.flush()
    yield producer


@pytest.mark.parametrize("kafka", ["4.3.1", "3.9.1"], indirect=True)
async def test_logs_tell_their_ends_and_what_was_written_when(kafka: RealKafka) -> None:
    ground = await lay_ground(kafka, 2)
    await ground.fill(3)
    await anyio.sleep(0.05)
    between = datetime.now(tz=UTC)
    await anyio.sleep(0.05)
    await ground.fill(2, partitions=[0])
    first, second = ground.tp(0), ground.tp(1)
    async with reader(ground) as consumer:
        assert await consumer.beginning_offsets(first, second) == {first: 0, second: 0}
        assert await consumer.end_offsets(first, second) == {first: 5, second: 3}
        found = await consumer.offsets_for_times({first: between, second: between})
        later = await consumer.offsets_for_times({first: between + timedelta(hours=1)})
        topics = await consumer.topics()
    at = found[first]
    assert at is not None
    assert at.offset == 3
    assert at.timestamp >= between.timestamp() * 1000
    assert at.leader_epoch == 0
    assert found[second] is None
    assert later == {first: None}
    assert ground.topic in topics


async def test_a_partition_that_does_not_exist_is_named(kafka: RealKafka) -> None:
    ground = await lay_ground(kafka, 1)
    missing = TopicPartition(ground.topic, 7)
    async with reader(ground) as consumer:
        with pytest.raises((BrokerError, TimeoutError), match=str(missing)):
            await consumer.end_offsets(missing, timeout=2)


async def nothing_until(consumer: Consumer[Any, Any], tp: TopicPartition, offset: int) -> None:
    """Read on to an offset without being handed anything: what was aborted is skipped."""
    with anyio.fail_after(PATIENCE):
        while await consumer.position(tp) < offset:
            with pytest.raises(TimeoutError):
                await consumer.getone(timeout=1)


@pytest.mark.parametrize("kafka", ["4.3.1", "3.9.1"], indirect=True)
async def test_an_open_transaction_bounds_what_is_stable_and_the_lag(kafka: RealKafka) -> None:
    ground = await lay_ground(kafka, 1)
    await ground.fill(4)
    tp = ground.tp(0)
    async with (
        reader(ground, isolation_level="read_committed") as strict,
        reader(ground) as loose,
    ):
        strict.assign([tp])
        loose.assign([tp])
        with transaction(ground, 3) as producer:
            assert len((await strict.getmany(timeout=5))[tp]) == 4
            assert await strict.end_offsets(tp) == {tp: 4}
            assert await loose.end_offsets(tp) == {tp: 7}
            await strict.getmany(timeout=0.3)
            assert (strict.last_stable_offset(tp), strict.highwater(tp)) == (4, 7)
            assert strict.lag(tp) == 0
            await anyio.to_thread.run_sync(producer.abort_transaction)
        await nothing_until(strict, tp, 8)
        assert strict.last_stable_offset(tp) == 8
        got = await loose.getmany(timeout=5)
        assert len(got[tp]) == 7
        assert await loose.getmany(timeout=0.5) == {}
        assert (loose.lag(tp), loose.highwater(tp)) == (0, 8)


async def test_a_consumer_seeks_to_both_ends_and_to_what_is_committed(kafka: RealKafka) -> None:
    ground = await lay_ground(kafka, 2)
    await ground.fill(5)
    group = fresh("seeker")
    async with reader(ground, group_id=group, enable_auto_commit=False) as consumer:
        consumer.assign(ground.all_partitions)
        first, second = ground.tp(0), ground.tp(1)
        await consumer.commit({first: 2})
        assert await consumer.seek_to_end() == {first: 5, second: 5}
        with pytest.raises(TimeoutError):
            await consumer.getone(timeout=0.5)
        found = await consumer.seek_to_committed()
        assert found == {first: OffsetAndMetadata(2, "", None), second: None}
        assert (await consumer.getone(timeout=5)).offset == 2
        assert await consumer.seek_to_beginning(second) == {second: 0}
        assert (await consumer.getone(second, timeout=5)).offset == 0
    assert committed(kafka, group) == {0: 2}


async def test_a_paused_partition_waits_for_its_resume_and_the_others_go_on(
    kafka: RealKafka,
) -> None:
    ground = await lay_ground(kafka, 2)
    await ground.fill(5)
    first, second = ground.tp(0), ground.tp(1)
    async with reader(ground) as consumer:
        consumer.assign([first, second])
        assert (await consumer.getone(first, timeout=5)).offset == 0
        consumer.pause(first)
        got = [await consumer.getone(timeout=5) for _ in range(5)]
        assert {record.tp for record in got} == {second}
        with pytest.raises(TimeoutError):
            await consumer.getone(timeout=1)
        consumer.resume(first)
        assert [(await consumer.getone(timeout=5)).offset for _ in range(4)] == [1, 2, 3, 4]


async def test_a_transaction_commits_under_the_identity_of_the_member_and_no_other(
    kafka: RealKafka,
) -> None:
    ground = await lay_ground(kafka, 1)
    group, tp = fresh("fenced"), ground.tp(0)
    async with reader(ground, group_id=group, enable_auto_commit=False) as consumer:
        consumer.subscribe(ground.topic)
        await eventually(lambda: consumer.owns(tp), "it owns all")
        identity = consumer.group_metadata()
        assert identity is not None
        stale = replace(identity, generation_id=identity.generation_id + 1)
        with transaction(ground, 1) as producer:
            await commit_within(producer, tp, 7, identity)
            await anyio.to_thread.run_sync(producer.commit_transaction)
        with transaction(ground, 1) as producer:
            with pytest.raises(KafkaException, match="generation"):
                await commit_within(producer, tp, 9, stale)
            await anyio.to_thread.run_sync(producer.abort_transaction)
        found = (await consumer.committed(tp))[tp]
    assert found is not None
    assert found.offset == 7


async def commit_within(
    producer: Producer, tp: TopicPartition, offset: int, identity: Generation
) -> None:
    """Have a transaction commit an offset, fenced by an identity (KIP-447)."""
    names = f"{identity.group_id}\0{identity.member_id}\0".encode()
    # As librdkafka writes it down: generation, names, and that there is no instance id.
    metadata = b"CGMDv2:" + struct.pack("=i", identity.generation_id) + names + b"\1"
    row = Row(tp.topic, tp.partition, offset)
    send = producer.send_offsets_to_transaction
    await anyio.to_thread.run_sync(send, [row], metadata, 10)


async def test_the_identity_for_transactions_is_the_generation_of_the_member(
    kafka: RealKafka,
) -> None:
    ground = await lay_ground(kafka, 1)
    group = fresh("fenced")
    async with reader(ground, group_id=group, session_timeout=6.0) as consumer:
        consumer.subscribe(ground.topic)
        assert consumer.group_metadata() is None
        await eventually(lambda: consumer.assignment() == ground.all_partitions, "it owns all")
        found = consumer.group_metadata()
        assert found is not None
        assert (found.group_id, found.generation_id) == (group, 1)
        assert found.member_id.startswith("kgroup-")
        assert consumer.rebalances == 1
