"""Offsets by time and the ends of logs, asked of the leaders."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError, UnauthorizedError
from kgroup.net.cluster import Cluster
from kgroup.net.log_offsets import ListedOffset, OffsetSpec, list_offsets
from kgroup.types import IsolationLevel, TopicPartition
from kgroup.wire.messages import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
    MetadataRequest,
)
from tests.net.stage import running
from tests.search.scripted.broker import HungUp
from tests.search.scripted.cluster import ScriptedCluster

TPS = [TopicPartition("orders", n) for n in range(3)]
LATEST = dict.fromkeys(TPS, OffsetSpec.LATEST)


def answer(request: ListOffsetsRequest, code: int = 0, **row) -> ListOffsetsResponse:
    """Answer each partition with 100 + its number."""
    return ListOffsetsResponse(
        topics=tuple(
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=tuple(
                    ListOffsetsPartitionResponse(
                        **{
                            "partition_index": asked.partition_index,
                            "error_code": code,
                            "offset": 100 + asked.partition_index,
                            "leader_epoch": 4,
                            **row,
                        }
                    )
                    for asked in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


@pytest.fixture
def scripted() -> ScriptedCluster:
    scripted = ScriptedCluster(3, topics={"orders": 3})
    for broker in scripted.brokers:
        broker.on(ListOffsetsRequest, answer)
    return scripted


@asynccontextmanager
async def found(scripted: ScriptedCluster) -> AsyncIterator[Cluster]:
    async with running(scripted) as cluster:
        cluster.watch(frozenset({"orders"}))
        await cluster.bootstrap(5)
        yield cluster


async def test_each_leader_is_asked_for_its_partitions(scripted: ScriptedCluster) -> None:
    async with found(scripted) as cluster:
        listed = await list_offsets(cluster, LATEST, timeout=10)
    assert listed.all() == {tp: ListedOffset(100 + tp.partition, None, 4) for tp in TPS}
    for broker in scripted.brokers:
        (request,) = broker.requests(ListOffsetsRequest)
        assert request.topics[0].partitions[0].timestamp == -1


async def test_isolation_and_leader_epoch_are_sent(scripted: ScriptedCluster) -> None:
    scripted.move_leader(TPS[0], 1)
    async with found(scripted) as cluster:
        committed = IsolationLevel.READ_COMMITTED
        wanted = {TPS[0]: 1_700_000_000_000}
        await list_offsets(cluster, wanted, isolation=committed, timeout=10)
    (request,) = scripted.broker(1).requests(ListOffsetsRequest)
    row = request.topics[0].partitions[0]
    assert (request.isolation_level, row.timestamp) == (1, 1_700_000_000_000)
    assert row.current_leader_epoch == 1


async def test_a_time_after_the_last_record_has_no_offset(scripted: ScriptedCluster) -> None:
    scripted.broker(1).on(ListOffsetsRequest, lambda r: answer(r, offset=-1))
    async with found(scripted) as cluster:
        listed = await list_offsets(cluster, {TPS[0]: 5}, timeout=10)
    assert listed.all() == {TPS[0]: None}


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ],
)
async def test_a_leader_that_moved_is_found_again(scripted: ScriptedCluster, code: int) -> None:
    def moved(request: ListOffsetsRequest) -> ListOffsetsResponse:
        scripted.move_leader(TPS[0], 2)
        return answer(request, code)

    scripted.broker(1).once(ListOffsetsRequest, moved)
    async with found(scripted) as cluster:
        listed = await list_offsets(cluster, {TPS[0]: OffsetSpec.EARLIEST}, timeout=10)
    assert listed.all()[TPS[0]] == ListedOffset(100, None, 4)
    assert len(scripted.broker(2).requests(ListOffsetsRequest)) == 1


async def test_topics_that_are_not_watched_are_looked_up(scripted: ScriptedCluster) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        assert len((await list_offsets(cluster, LATEST, timeout=10)).all()) == 3


def looked_up(scripted: ScriptedCluster) -> int:
    return sum(len(broker.requests(MetadataRequest)) for broker in scripted.brokers)


async def test_topics_whose_leaders_the_caller_knows_are_not_looked_up(
    scripted: ScriptedCluster,
) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        known = await cluster.look_up(frozenset({"orders"}), timeout=5)
        before = looked_up(scripted)
        assert len((await list_offsets(cluster, LATEST, view=known, timeout=10)).all()) == 3
        assert looked_up(scripted) == before


async def test_a_leader_that_the_caller_knew_and_that_moved_is_looked_up(
    scripted: ScriptedCluster,
) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        known = await cluster.look_up(frozenset({"orders"}), timeout=5)
        scripted.move_leader(TPS[0], 2)
        not_leader = ErrorCode.NOT_LEADER_OR_FOLLOWER
        scripted.broker(1).on(ListOffsetsRequest, lambda asked: answer(asked, not_leader))
        wanted = {TPS[0]: OffsetSpec.EARLIEST}
        listed = await list_offsets(cluster, wanted, view=known, timeout=10)
    assert listed.all()[TPS[0]] == ListedOffset(100, None, 4)


async def test_a_lost_connection_is_asked_again(scripted: ScriptedCluster) -> None:
    scripted.broker(1).once(ListOffsetsRequest, HungUp())
    async with found(scripted) as cluster:
        assert len((await list_offsets(cluster, LATEST, timeout=10)).all()) == 3


async def test_an_omitted_and_a_doubled_partition_are_asked_again(
    scripted: ScriptedCluster,
) -> None:
    row = ListOffsetsPartitionResponse(partition_index=0, offset=1)
    doubled = ListOffsetsTopicResponse(name="orders", partitions=(row, row))
    scripted.broker(1).once(
        ListOffsetsRequest,
        ListOffsetsResponse(topics=()),
        ListOffsetsResponse(topics=(doubled,)),
    )
    async with found(scripted) as cluster:
        listed = await list_offsets(cluster, {TPS[0]: OffsetSpec.LATEST}, timeout=10)
    assert listed.all()[TPS[0]] == ListedOffset(100, None, 4)


async def test_a_refused_partition_does_not_hide_the_others(scripted: ScriptedCluster) -> None:
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    scripted.broker(2).on(ListOffsetsRequest, lambda r: answer(r, denied))
    async with found(scripted) as cluster:
        listed = await list_offsets(cluster, LATEST, timeout=10)
    assert set(listed.offsets) == {TPS[0], TPS[2]}
    assert isinstance(listed.errors[TPS[1]], UnauthorizedError)
    assert anyio.current_time() < 0.01
    with pytest.raises(UnauthorizedError):
        listed.all()


async def test_the_deadline_keeps_the_last_error_of_each_partition(
    scripted: ScriptedCluster,
) -> None:
    scripted.broker(2).on(ListOffsetsRequest, lambda r: answer(r, ErrorCode.OFFSET_NOT_AVAILABLE))
    scripted.broker(3).mute = True
    async with found(scripted) as cluster:
        listed = await list_offsets(cluster, LATEST, timeout=10)
    assert anyio.current_time() == pytest.approx(10, abs=5)
    assert set(listed.offsets) == {TPS[0]}
    assert isinstance(listed.errors[TPS[1]], BrokerError)
    assert isinstance(listed.errors[TPS[2]], TimeoutError)


async def test_a_partition_that_does_not_exist_is_an_error(scripted: ScriptedCluster) -> None:
    ghost = TopicPartition("orders", 99)
    async with found(scripted) as cluster:
        listed = await list_offsets(cluster, {ghost: OffsetSpec.LATEST}, timeout=3)
    with pytest.raises(BrokerError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        listed.all()


async def test_a_negative_time_is_not_a_place(scripted: ScriptedCluster) -> None:
    async with found(scripted) as cluster:
        with pytest.raises(ValueError, match="OffsetSpec"):
            await list_offsets(cluster, {TPS[0]: -1}, timeout=3)
