"""Places in logs by name, asked of the leaders."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError
from kgroup.net.log_offsets import OffsetSpec
from kgroup.net.log_places import Bounds, FromEnd, Offset, Place, Time, find_places, log_bounds
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tests.net.stage import running
from tests.search.scripted.cluster import ScriptedCluster

TPS = [TopicPartition("orders", n) for n in range(2)]
BEGIN, END = 10, 100


@pytest.fixture
def scripted() -> ScriptedCluster:
    """Logs from 10 to 100; the record at offset n was written at n seconds."""
    scripted = ScriptedCluster(2, topics={"orders": 2})
    for broker in scripted.brokers:
        broker.on(ListOffsetsRequest, answer)
    return scripted


def answer(request: ListOffsetsRequest) -> ListOffsetsResponse:
    topics = []
    for topic in request.topics:
        rows = []
        for asked in topic.partitions:
            at = asked.timestamp
            written = -1 if at >= END * 1000 else max(BEGIN, -(-at // 1000))
            offset = {-1: END, -2: BEGIN}.get(at, written)
            row = ListOffsetsPartitionResponse(partition_index=asked.partition_index, offset=offset)
            rows.append(row)
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=tuple(rows)))
    return ListOffsetsResponse(topics=tuple(topics))


@pytest.mark.parametrize(
    ("place", "offset"),
    [
        (OffsetSpec.EARLIEST, BEGIN),
        (OffsetSpec.LATEST, END),
        (Offset(42), 42),
        (Offset(3), BEGIN),
        (Offset(1_000), END),
        (FromEnd(1), END - 1),
        (FromEnd(0), END),
        (FromEnd(1_000), BEGIN),
        (Time(41_500), 42),
        (Time(0), BEGIN),
        (Time(1_000_000), END),
    ],
)
async def test_each_place_is_an_offset_within_its_log(
    scripted: ScriptedCluster, place: Place, offset: int
) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        assert await find_places(cluster, TPS, place, timeout=10) == dict.fromkeys(TPS, offset)


def refused(request: ListOffsetsRequest) -> ListOffsetsResponse:
    row = ListOffsetsPartitionResponse(
        partition_index=1, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED
    )
    return ListOffsetsResponse(topics=(ListOffsetsTopicResponse(name="orders", partitions=(row,)),))


async def test_bounds_of_one_partition_do_not_hang_on_another(scripted: ScriptedCluster) -> None:
    scripted.broker(2).on(ListOffsetsRequest, refused)
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        bounds = await log_bounds(cluster, TPS, timeout=10)
    assert bounds[TPS[0]] == Bounds(BEGIN, END)
    assert (bounds[TPS[1]].begin, bounds[TPS[1]].end) == (None, None)
    assert isinstance(bounds[TPS[1]].error, BrokerError)


async def test_a_place_needs_every_partition(scripted: ScriptedCluster) -> None:
    scripted.broker(2).on(ListOffsetsRequest, refused)
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        with pytest.raises(BrokerError, match="orders-1"):
            await find_places(cluster, TPS, Offset(1), timeout=10)
