"""Leaders that brokers name in answers, and the ends of epochs they are asked for."""

from types import MappingProxyType

import pytest

from kgroup.codes import ApiKey
from kgroup.errors import UnsupportedVersionError
from kgroup.net.cluster import Lane
from kgroup.net.layouts import fit
from kgroup.net.log_offsets import EpochEnd, ask_epoch_ends
from kgroup.net.metadata import BrokerInfo, ClusterView, PartitionInfo, TopicInfo
from kgroup.net.retrying import Leadership, learn_leader, named_broker, with_leader
from kgroup.net.settings import Endpoint
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    OffsetForLeaderEpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from kgroup.wire.schema import encode
from tests.net.stage import running
from tests.search.scripted.cluster import ScriptedCluster

A = TopicPartition("t", 0)
ONE, TWO = BrokerInfo(Endpoint(1, "broker-1", 9092)), BrokerInfo(Endpoint(2, "broker-2", 9092))


def view_of(epoch: int | None) -> ClusterView:
    """Return a view in which broker 1 leads A."""
    partitions = MappingProxyType({0: PartitionInfo(1, epoch, (1, 2), (1, 2), error=6)})
    topics = MappingProxyType({"t": TopicInfo(b"x" * 16, partitions)})
    return ClusterView(brokers=MappingProxyType({1: ONE}), topics=topics)


# -- leaders -----------------------------------------------------------------------------------


def test_a_leader_of_a_newer_epoch_is_believed_with_its_address() -> None:
    view = with_leader(view_of(4), A, Leadership(2, 5, TWO))
    assert (view.leader(A), view.leader_epoch(A)) == (2, 5)
    assert view.brokers == {1: ONE, 2: TWO}
    known = view.partition(A)
    assert known is not None
    assert (known.replicas, known.error) == ((1, 2), 0)


@pytest.mark.parametrize(
    ("epoch", "tp", "news"),
    [
        (4, A, Leadership(2, 4, TWO)),
        (4, A, Leadership(2, 3, TWO)),
        (None, A, Leadership(2, 5, TWO)),
        (4, A, Leadership(2, 5)),
        (4, A, Leadership(-1, 5, TWO)),
        (4, TopicPartition("t", 7), Leadership(2, 5, TWO)),
        (4, TopicPartition("u", 0), Leadership(2, 5, TWO)),
    ],
)
def test_a_leader_that_is_old_or_cannot_be_reached_is_not_believed(
    epoch: int | None, tp: TopicPartition, news: Leadership
) -> None:
    view = view_of(epoch)
    assert with_leader(view, tp, news) is view


@pytest.mark.parametrize(("host", "port", "node_id"), [("", 9092, 2), ("h", 0, 2), ("h", 9092, -1)])
def test_an_address_that_cannot_be_one_names_no_broker(host: str, port: int, node_id: int) -> None:
    assert named_broker(node_id, host, port, None) is None


@pytest.mark.anyio
async def test_a_leader_that_was_learnt_is_in_the_view_until_metadata_knows_better() -> None:
    scripted = ScriptedCluster(2, topics={"t": 1})
    async with running(scripted) as cluster:
        cluster.watch(frozenset({"t"}))
        await cluster.refresh(5)
        assert learn_leader(cluster, A, Leadership(2, 5))
        assert not learn_leader(cluster, A, Leadership(1, 5))
        await cluster.refresh(5)
        assert (cluster.view.leader(A), cluster.view.leader_epoch(A)) == (2, 5)


# -- ends of epochs ----------------------------------------------------------------------------


def answered(*rows: OffsetForLeaderEpochEndOffset) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=(OffsetForLeaderTopicResult(topic="t", partitions=rows),)
    )


ROW = OffsetForLeaderEpochEndOffset(partition=0, leader_epoch=3, end_offset=20)
OTHER = OffsetForLeaderEpochEndOffset(partition=5, leader_epoch=3, end_offset=20)
UNDEFINED = OffsetForLeaderEpochEndOffset(partition=0)
REFUSED = OffsetForLeaderEpochEndOffset(partition=0, error_code=74)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (answered(ROW, OTHER), {A: EpochEnd(3, 20)}),
        (answered(UNDEFINED), {A: EpochEnd(None, None)}),
        (answered(REFUSED), {A: EpochEnd(None, None, 74)}),
        (answered(ROW, ROW), {}),
        (answered(OTHER), {}),
    ],
)
async def test_the_end_of_an_epoch_is_read_from_the_one_row_about_it(
    answer: OffsetForLeaderEpochResponse, found: dict[TopicPartition, EpochEnd]
) -> None:
    scripted = ScriptedCluster(1, topics={"t": 1})
    scripted.broker(1).on(OffsetForLeaderEpochRequest, answer)
    async with running(scripted) as cluster:
        cluster.watch(frozenset({"t"}))
        view = await cluster.refresh(5)
        assert await ask_epoch_ends(cluster, 1, view, {A: 3}, timeout=5) == found
    (request,) = scripted.broker(1).requests(OffsetForLeaderEpochRequest)
    (row,) = request.topics[0].partitions
    assert (request.replica_id, row.leader_epoch, row.current_leader_epoch) == (-1, 3, 0)


@pytest.mark.anyio
async def test_a_broker_that_wants_a_right_on_the_cluster_for_it_is_not_asked() -> None:
    scripted = ScriptedCluster(1, topics={"t": 1})
    broker = scripted.broker(1)
    broker.versions = {**broker.versions, ApiKey.OFFSET_FOR_LEADER_EPOCH: (0, 2)}
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        request = OffsetForLeaderEpochRequest(replica_id=-1, topics=())
        with pytest.raises(UnsupportedVersionError, match="a consumer needs 3"):
            await cluster.send(1, request, lane=Lane.CONTROL, timeout=5)
    assert not broker.requests(OffsetForLeaderEpochRequest)


def test_a_fetch_for_an_old_broker_leaves_out_what_it_cannot_compare() -> None:
    asked = FetchPartition(
        partition=0,
        current_leader_epoch=4,
        fetch_offset=20,
        last_fetched_epoch=3,
        partition_max_bytes=9,
    )
    request = FetchRequest(
        max_wait_ms=1,
        min_bytes=2,
        max_bytes=3,
        isolation_level=1,
        topics=(FetchTopic(topic="t", partitions=(asked,)),),
        rack_id="r",
    )
    old = fit(request, 11)
    assert isinstance(old, FetchRequest)
    (row,) = old.topics[0].partitions
    assert (row.current_leader_epoch, row.fetch_offset, row.last_fetched_epoch) == (4, 20, -1)
    assert (old.max_bytes, old.isolation_level, old.rack_id) == (3, 1, "r")
    assert (old.session_id, old.session_epoch) == (0, -1)
    assert fit(request, 12) is request
    for version in range(4, 12):
        encode(fit(request, version), version)
