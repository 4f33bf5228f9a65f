"""The network side on real brokers of two versions: what scripts cannot prove."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import anyio
import pytest

from kgroup.admin.groups import committed_offsets, delete_group
from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError
from kgroup.net.admin import NewTopic, create_partitions, create_topics, delete_topics
from kgroup.net.cluster import Cluster, Lane
from kgroup.net.group_description import describe_group
from kgroup.net.log_offsets import OffsetSpec, list_offsets
from kgroup.net.ports import system_ports
from kgroup.net.producer import Producer
from kgroup.net.settings import NetSettings
from kgroup.testing.kafka import RealKafka
from kgroup.types import OffsetAndMetadata, TopicPartition
from kgroup.wire.messages import (
    HeartbeatRequest,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kgroup.wire.records import NewRecord
from tests.net.stage import Heard

pytestmark = [
    pytest.mark.real,
    pytest.mark.parametrize("kafka", ["4.3.1", "3.9.1"], indirect=True),
]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Real sockets need real time."""
    backend: str = request.param
    return backend


@asynccontextmanager
async def running(kafka: RealKafka, heard: Heard | None = None) -> AsyncIterator[Cluster]:
    host, _, port = kafka.bootstrap.split(",")[0].rpartition(":")
    cluster = Cluster(NetSettings(bootstrap=((host, int(port)),)), system_ports(), heard)
    async with anyio.create_task_group() as tasks:
        await tasks.start(cluster.run)
        await cluster.bootstrap(30)
        yield cluster
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def with_topic(kafka: RealKafka) -> AsyncIterator[tuple[Cluster, str]]:
    name = f"net-{uuid4().hex[:12]}"
    async with running(kafka) as cluster:
        assert await create_topics(cluster, [NewTopic(name, 2, 1)], timeout=30) == {name}
        yield cluster, name
        await delete_topics(cluster, [name], timeout=30)


async def test_batches_are_stored_in_order_and_offsets_found_by_time(kafka: RealKafka) -> None:
    async with with_topic(kafka) as (cluster, name):
        tp, other = TopicPartition(name, 0), TopicPartition(name, 1)
        producer = Producer(cluster)
        for first in (0, 2, 4):
            records = [NewRecord(b"k", b"v", (), 1000 * (first + n + 1)) for n in range(2)]
            assert await producer.send(tp, records) == first
        latest = await list_offsets(
            cluster, dict.fromkeys([tp, other], OffsetSpec.LATEST), timeout=30
        )
        assert {tp: found.offset if found else None for tp, found in latest.all().items()} == {
            tp: 6,
            other: 0,
        }
        by_time = (await list_offsets(cluster, {tp: 3500, other: 3500}, timeout=30)).all()
        found = by_time[tp]
        assert found is not None
        assert (found.offset, found.timestamp) == (3, 4000)
        assert by_time[other] is None


async def test_a_topic_is_made_once_and_widened(kafka: RealKafka) -> None:
    async with with_topic(kafka) as (cluster, name):
        assert await create_topics(cluster, [NewTopic(name, 2, 1)], timeout=30) == frozenset()
        await create_partitions(cluster, name, 5, timeout=30)
        view = await cluster.look_up(frozenset({name}), 30)
        assert len(view.partitions_of(name)) == 5
        assert view.topic_id(name) is not None
        with pytest.raises(BrokerError) as caught:
            await create_partitions(cluster, name, 3, timeout=30)
        assert caught.value.code == ErrorCode.INVALID_PARTITIONS


async def test_a_group_is_committed_to_described_and_deleted(kafka: RealKafka) -> None:
    group = f"net-{uuid4().hex[:12]}"
    async with with_topic(kafka) as (cluster, name):
        coordinator = (await describe_group(cluster, group, timeout=60)).coordinator
        cluster.watch(frozenset({name}))
        view = await cluster.refresh(30)
        row = OffsetCommitRequestPartition(
            partition_index=0, committed_offset=7, committed_metadata="seven"
        )
        topic = OffsetCommitRequestTopic(
            name=name, topic_id=view.topic_id(name) or bytes(16), partitions=(row,)
        )
        answer = await cluster.send(
            coordinator,
            OffsetCommitRequest(group_id=group, topics=(topic,)),
            lane=Lane.HEARTBEAT,
            timeout=30,
        )
        assert (answer.topics[0].name, answer.topics[0].partitions[0].error_code) == (name, 0)
        tps = [TopicPartition(name, 0), TopicPartition(name, 1)]
        expected = {tps[0]: OffsetAndMetadata(7, "seven"), tps[1]: None}
        assert await committed_offsets(cluster, group, tps, timeout=30) == expected
        everything = await committed_offsets(cluster, group, timeout=30)
        assert everything == {tps[0]: OffsetAndMetadata(7, "seven")}
        assert (await describe_group(cluster, group, timeout=30)).state == "Empty"
        await delete_group(cluster, group, timeout=30)
        assert (await describe_group(cluster, group, timeout=30)).state == "Dead"


async def test_requests_in_flight_are_answered_in_order_on_one_connection(
    kafka: RealKafka,
) -> None:
    heard = Heard()
    codes: list[int] = []

    async def beat(node_id: int) -> None:
        request = HeartbeatRequest(group_id="nobody", generation_id=1, member_id="m")
        codes.append(
            (await cluster.send(node_id, request, lane=Lane.HEARTBEAT, timeout=30)).error_code
        )

    async with running(kafka, heard) as cluster:
        (node_id, *_) = cluster.view.brokers
        async with anyio.create_task_group() as tasks:
            for _ in range(100):
                tasks.start_soon(beat, node_id)
    assert len(codes) == 100
    lanes = {(e.connection.endpoint.node_id, e.connection.lane) for e in heard.asked}
    opened = [identity for identity in heard.opened if identity.endpoint.node_id is not None]
    assert len(opened) == len({lane for lane in lanes if lane[0] is not None})


async def test_a_version_the_broker_lacks_is_never_sent(kafka: RealKafka) -> None:
    heard = Heard()
    async with running(kafka, heard) as cluster:
        await cluster.look_up(frozenset({"none-such"}), 30)
    metadata = {exchange.version for exchange in heard.asked if exchange.api.name == "METADATA"}
    assert metadata == ({13} if kafka.version == "4.3.1" else {12})
