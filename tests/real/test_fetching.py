"""Fetching while logs change under the reader: truncated, made anew, widened, read close by."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio
import pytest
from anyio.abc import ByteStream
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kgroup import Consumer, TopicPartition
from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal import AnswerReceived, FetchIssued, MemorySink, PositionMove, PositionMoved
from kgroup.net.ports import system_ports
from kgroup.testing.kafka import RealKafka, create_topic
from kgroup.wire.frames import decode_request, encode_request
from kgroup.wire.messages import FetchRequest
from tests.real.ground import Ground, eventually, fresh, lay_ground

pytestmark = pytest.mark.real

Reader = Consumer[bytes | None, bytes | None]
PATIENCE = 40.0


def reader(kafka: RealKafka, **options: Any) -> Reader:
    """Make a consumer that looks often."""
    defaults: dict[str, Any] = {
        "auto_offset_reset": "earliest",
        "fetch_max_wait": 0.1,
        "metadata_max_age": 1.0,
        "request_timeout": 10.0,
    }
    return Consumer(bootstrap_servers=kafka.bootstrap, **defaults | options)


async def read(consumer: Reader, count: int) -> list[tuple[int, bytes | None]]:
    """Read some records; return their offsets and values."""
    found = []
    for _ in range(count):
        record = await consumer.getone(timeout=PATIENCE)
        found.append((record.offset, record.value))
    return found


def moves(sink: MemorySink) -> list[tuple[int, PositionMove]]:
    return [(e.offset, e.move) for e in sink.events if isinstance(e, PositionMoved)]


# -- truncation --------------------------------------------------------------------------------


def make_topic(kafka: RealKafka, replicas: Sequence[int]) -> str:
    """Make a topic of one partition that prefers to live on over losing nothing."""
    topic = fresh("unclean")
    config = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    placed = NewTopic(topic, 1, replica_assignment=[list(replicas)], config=config)
    admin.create_topics([placed])[topic].result(10.0)
    return topic


def write(kafka: RealKafka, topic: str, values: Sequence[bytes]) -> None:
    """Write records that only the leader must have."""
    options = {"bootstrap.servers": kafka.bootstrap, "acks": 1, "log_level": 0}
    producer = Producer(options)
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(PATIENCE) == 0


def in_sync(kafka: RealKafka, topic: str) -> set[int]:
    """Return the replicas in sync with the leader of a topic's only partition."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    return set(admin.list_topics(topic, timeout=PATIENCE).topics[topic].partitions[0].isrs)


@pytest.mark.faults
@pytest.mark.no_stand_in("its elections are never unclean")
async def test_reading_goes_on_where_logs_part_after_an_unclean_election(
    kafka_cluster: RealKafka,
) -> None:
    kafka, sink = kafka_cluster, MemorySink()
    first, second, _ = kafka.nodes
    topic = await anyio.to_thread.run_sync(make_topic, kafka, (first, second))
    tp = TopicPartition(topic, 0)
    kept = [b"kept %d" % n for n in range(10)]
    lost = [b"lost %d" % n for n in range(10)]
    new = [b"new %d" % n for n in range(15)]
    await anyio.to_thread.run_sync(write, kafka, topic, kept)
    async with reader(kafka, journal=sink) as consumer:
        consumer.assign([tp])
        assert await read(consumer, 10) == list(enumerate(kept))
        # All replicas in sync have what was read.
        await eventually(lambda: in_sync(kafka, topic) == {first, second}, "both have it")
        await anyio.to_thread.run_sync(kafka.kill, second)
        await anyio.to_thread.run_sync(write, kafka, topic, lost)
        assert await read(consumer, 10) == list(enumerate(lost, start=10))
        await anyio.to_thread.run_sync(kafka.kill, first)
        await anyio.to_thread.run_sync(kafka.restart, second)
        await anyio.to_thread.run_sync(write, kafka, topic, new)
        assert await read(consumer, 15) == list(enumerate(new, start=10))
    assert moves(sink)[-1] == (10, PositionMove.TRUNCATED)


# -- replicas close by (KIP-392) ---------------------------------------------------------------


async def test_records_come_from_the_replica_in_the_readers_rack(
    kafka_cluster: RealKafka,
) -> None:
    leader, near, third = kafka_cluster.nodes
    ground = await lay_ground(kafka_cluster, 1, replicas=[[leader, near, third]])
    await ground.fill(5)
    sink = MemorySink()
    async with reader(kafka_cluster, client_rack=f"rack-{near}", journal=sink) as consumer:
        consumer.assign([ground.tp(0)])
        assert [offset for offset, _ in await read(consumer, 5)] == list(range(5))
        await ground.fill(5)
        assert [offset for offset, _ in await read(consumer, 5)] == list(range(5, 10))
    asked = [event.node_id for event in sink.events if isinstance(event, FetchIssued)]
    assert asked[0] == leader
    assert asked.count(near) > 1
    assert moves(sink) == [(0, PositionMove.RESET)]


# -- sessions (KIP-227) ------------------------------------------------------------------------


class Overheard(ByteStream):
    """A connection whose Fetch requests are noted; each is written in one piece."""

    def __init__(self, stream: ByteStream, fetches: list[FetchRequest]) -> None:
        self._stream = stream
        self._fetches = fetches

    async def send(self, item: bytes) -> None:
        if int.from_bytes(item[4:6], "big") == ApiKey.FETCH:
            _, request = decode_request(item[4:])
            assert isinstance(request, FetchRequest)
            self._fetches.append(request)
        await self._stream.send(item)

    async def receive(self, max_bytes: int = 65536) -> bytes:
        return await self._stream.receive(max_bytes)

    async def send_eof(self) -> None:
        await self._stream.send_eof()

    async def aclose(self) -> None:
        await self._stream.aclose()

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        return self._stream.extra_attributes


def named(fetch: FetchRequest) -> set[int]:
    """Return the partitions a Fetch names."""
    return {row.partition for topic in fetch.topics for row in topic.partitions}


async def end_session(kafka: RealKafka, session_id: int) -> None:
    """End a session of somebody else."""
    host, _, port = kafka.bootstrap.split(",")[0].rpartition(":")
    request = FetchRequest(
        max_wait_ms=0, min_bytes=0, session_id=session_id, session_epoch=-1, topics=()
    )
    async with await anyio.connect_tcp(host, int(port)) as stream:
        await stream.send(encode_request(request, 12, 0, "another"))
        await stream.receive()


async def test_a_session_that_the_broker_ends_is_begun_anew(kafka: RealKafka) -> None:
    ground = await lay_ground(kafka, 3)
    sink, fetches = MemorySink(), list[FetchRequest]()

    async def dial(host: str, port: int) -> ByteStream:
        return Overheard(await anyio.connect_tcp(host, port), fetches)

    ports = replace(system_ports(), dial=dial)
    async with reader(kafka, ports=ports, journal=sink) as consumer:
        consumer.assign([ground.tp(number) for number in range(3)])
        await eventually(lambda: fetches and fetches[-1].session_epoch > 3, "a session goes on")
        began = len(fetches)
        await ground.fill(2, partitions=[0])
        assert [offset for offset, _ in await read(consumer, 2)] == [0, 1]
        assert all(fetch.session_epoch > 0 for fetch in fetches[began:])
        assert all(named(fetch) <= {0} for fetch in fetches[began:])
        session = fetches[-1].session_id
        await end_session(kafka, session)
        await eventually(
            lambda: fetches[-1].session_epoch > 3 and fetches[-1].session_id != session,
            "another session goes on",
        )
        await ground.fill(2, partitions=[1])
        assert [offset for offset, _ in await read(consumer, 2)] == [0, 1]
    answers = [each for each in sink.events if isinstance(each, AnswerReceived)]
    errors = {each.error for each in answers if each.api == ApiKey.FETCH}
    assert errors == {0, ErrorCode.FETCH_SESSION_ID_NOT_FOUND}


# -- topics that change ------------------------------------------------------------------------


def recreate(ground: Ground) -> None:
    """Delete the topic and make it anew."""
    admin = AdminClient({"bootstrap.servers": ground.kafka.bootstrap})
    admin.delete_topics([ground.topic])[ground.topic].result(10.0)
    create_topic(ground.kafka.bootstrap, ground.topic, ground.partitions)


async def test_a_topic_made_anew_is_read_from_its_beginning(kafka: RealKafka) -> None:
    ground = await lay_ground(kafka, 1)
    await ground.fill(8)
    sink = MemorySink()
    async with reader(kafka, journal=sink, auto_offset_reset="latest") as consumer:
        consumer.assign([ground.tp(0)])
        consumer.seek(ground.tp(0), 3)
        assert [offset for offset, _ in await read(consumer, 5)] == list(range(3, 8))
        await made_anew(ground)
        again = await lay_again(ground)
        await again.fill(12)
        assert [offset for offset, _ in await read(consumer, 12)] == list(range(12))
    assert moves(sink)[-1] == (0, PositionMove.RECREATED)


async def made_anew(ground: Ground) -> None:
    """Make the topic anew; the broker needs a moment between the two."""
    await anyio.to_thread.run_sync(recreate, ground)


async def lay_again(ground: Ground) -> Ground:
    """Return the same topic with nothing written, and a producer that knows only this one."""
    fresh_producer = Producer({"bootstrap.servers": ground.kafka.bootstrap, "linger.ms": 2})
    return Ground(ground.kafka, ground.topic, ground.partitions, fresh_producer)


async def test_a_deleted_topic_holds_up_no_other_one(kafka: RealKafka) -> None:
    ground, other = await lay_ground(kafka, 1), await lay_ground(kafka, 1)
    await ground.fill(2)
    await other.fill(2)
    async with reader(kafka) as consumer:
        consumer.assign([ground.tp(0), other.tp(0)])
        await read(consumer, 4)
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        deleted = admin.delete_topics([ground.topic])[ground.topic]
        await anyio.to_thread.run_sync(deleted.result, 10.0)
        for _ in range(3):
            await anyio.sleep(1.0)
            await other.fill(2)
            assert len(await read(consumer, 2)) == 2


async def test_a_partition_added_under_latest_is_read_from_its_beginning(
    kafka: RealKafka,
) -> None:
    ground = await lay_ground(kafka, 1)
    await ground.fill(5)
    options = {"group_id": fresh("group"), "auto_offset_reset": "latest"}
    async with reader(kafka, **options) as consumer:
        consumer.subscribe(ground.topic)
        await eventually(lambda: ground.tp(0) in consumer.assignment(), "it owns the first")
        assert await consumer.position(ground.tp(0)) == 5
        await ground.widen(2)
        await ground.fill(3, partitions=[1])
        found = [await consumer.getone(timeout=PATIENCE) for _ in range(3)]
        assert [(record.partition, record.offset) for record in found] == [(1, 0), (1, 1), (1, 2)]
