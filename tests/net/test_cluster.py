"""The cluster: finding it, routing to it, and its end."""

from contextlib import suppress

import anyio
import anyio.lowlevel
import pytest

from kgroup.errors import ClosedError, ConnectionLostError, DecodeError, NoBrokerError
from kgroup.net.cluster import Cluster, Lane
from kgroup.net.metadata import EMPTY_VIEW
from kgroup.net.settings import NetSettings
from kgroup.testing.virtual_time import virtual_ports
from kgroup.wire.messages import (
    ApiVersionsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    MetadataRequest,
    MetadataResponseBroker,
)
from tests.net.stage import BEAT, beating, metadata_requests, running
from tests.search.scripted.broker import HungUp, Raw, ScriptedBroker
from tests.search.scripted.cluster import ScriptedCluster

ASK = FindCoordinatorRequest(coordinator_keys=("g",))


@pytest.fixture
def scripted() -> ScriptedCluster:
    return beating(3, orders=3, returns=1)


# -- finding the cluster -------------------------------------------------------------------------


async def test_bootstrap_finds_the_brokers_behind_one_address(scripted: ScriptedCluster) -> None:
    async with running(scripted, bootstrap=(("broker-2", 9092),)) as cluster:
        view = await cluster.bootstrap(5)
    assert sorted(view.brokers) == [1, 2, 3]
    assert view.cluster_id == "scripted"


async def test_a_dead_bootstrap_address_does_not_hide_a_live_one(
    scripted: ScriptedCluster,
) -> None:
    scripted.broker(1).refuses = True
    scripted.broker(2).mute = True
    async with running(scripted) as cluster:
        await cluster.bootstrap(10)
    assert anyio.current_time() < 5


async def test_a_dead_bootstrap_lists_every_address_and_why(scripted: ScriptedCluster) -> None:
    scripted.broker(1).refuses = True
    scripted.broker(2).mute = True
    addresses = (*scripted.bootstrap[:2], ("nowhere", 9092))
    async with running(scripted, bootstrap=addresses) as cluster:
        with pytest.raises(NoBrokerError) as caught:
            await cluster.bootstrap(30)
    tried = caught.value.tried
    assert list(tried) == ["broker-1:9092", "broker-2:9092", "nowhere:9092"]
    assert "refuses connections" in tried["broker-1:9092"]
    assert "nowhere: name or service not known" in tried["nowhere:9092"]
    assert "30 s" in str(caught.value)
    assert anyio.current_time() == pytest.approx(30)


async def test_every_address_has_its_turn_however_short_the_time(
    scripted: ScriptedCluster,
) -> None:
    for broker in scripted.brokers[:2]:
        broker.mute = True
    async with running(scripted, bootstrap=scripted.bootstrap) as cluster:
        await cluster.bootstrap(0.5)
    assert scripted.broker(3).dialled_at


async def test_an_address_whose_turn_did_not_come_is_not_called_silent(
    scripted: ScriptedCluster,
) -> None:
    for broker in scripted.brokers:
        broker.mute = True
    async with running(scripted) as cluster:
        cluster.invalidate()
        await anyio.sleep(0.1)  # the first is being asked, by nobody in a hurry
        with pytest.raises(NoBrokerError) as caught:
            await cluster.bootstrap(1)
    reasons = sorted(caught.value.tried.values())
    assert reasons == ["its turn did not come", "its turn did not come", "no answer yet"]


async def test_a_reason_is_not_forgotten_while_another_attempt_runs(
    scripted: ScriptedCluster,
) -> None:
    broker = scripted.broker(1)
    broker.refuses = True

    async def fall_silent() -> None:
        await anyio.sleep(5)
        broker.refuses, broker.mute = False, True

    bootstrap = (("broker-1", 9092),)
    async with (
        running(scripted, bootstrap=bootstrap) as cluster,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(fall_silent)
        with pytest.raises(NoBrokerError, match="refuses connections"):
            await cluster.bootstrap(8)


async def test_a_web_server_at_the_bootstrap_address_is_recognised(
    scripted: ScriptedCluster,
) -> None:
    scripted.broker(1).on(ApiVersionsRequest, Raw(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
    async with running(scripted, bootstrap=(("broker-1", 9092),)) as cluster:
        with pytest.raises(NoBrokerError, match="web server"):
            await cluster.bootstrap(5)


async def test_bootstrap_goes_on_until_a_broker_comes_up(scripted: ScriptedCluster) -> None:
    for broker in scripted.brokers:
        broker.refuses = True
    async with running(scripted) as cluster, anyio.create_task_group() as tasks:
        tasks.start_soon(cluster.bootstrap, 60)
        await anyio.sleep(40)
        scripted.broker(3).come_up()
    assert anyio.current_time() < 42


async def test_a_permanent_refusal_is_never_a_storm(scripted: ScriptedCluster) -> None:
    for broker in scripted.brokers:
        broker.refuses = True
    async with running(scripted) as cluster:
        with pytest.raises(NoBrokerError):
            await cluster.bootstrap(60)
    dials = sorted(at for broker in scripted.brokers for at in broker.dialled_at)
    busiest = max(sum(1 for at in dials if start <= at < start + 1) for start in dials)
    assert busiest <= 20
    assert len(dials) < 60 * 5


async def test_a_handshake_that_always_fails_is_never_a_storm(scripted: ScriptedCluster) -> None:
    for broker in scripted.brokers:
        broker.on(MetadataRequest, HungUp())
    async with running(scripted) as cluster:
        with pytest.raises(NoBrokerError):
            await cluster.bootstrap(60)
    times = sorted(entry.at for broker in scripted.brokers for entry in broker.seen)
    assert max(sum(1 for at in times if start <= at < start + 1) for start in times) <= 20
    assert len(times) < 60 * 10


async def test_callers_of_a_dead_broker_share_its_pause(scripted: ScriptedCluster) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        dead = scripted.broker(2)
        dead.go_down()
        dead.dialled_at.clear()

        async def retry() -> None:
            with anyio.move_on_after(30):
                while True:
                    with pytest.raises((ConnectionLostError, TimeoutError)):
                        await cluster.send(2, BEAT, lane=Lane.FETCH, timeout=5)

        async with anyio.create_task_group() as tasks:
            for _ in range(25):
                tasks.start_soon(retry)
        assert len(dead.dialled_at) < 3 * 30


async def test_lanes_that_fail_together_count_as_one_failure(scripted: ScriptedCluster) -> None:
    dead = scripted.broker(2)

    async def fail(lane: Lane) -> None:
        with pytest.raises(ConnectionLostError):
            await cluster.send(2, BEAT, lane=lane, timeout=5)

    async with running(scripted, bootstrap=(("broker-1", 9092),)) as cluster:
        await cluster.bootstrap(5)
        dead.go_down()
        dead.dialled_at.clear()
        async with anyio.create_task_group() as tasks:
            for lane in Lane:
                tasks.start_soon(fail, lane)
        await fail(Lane.FETCH)
    assert len(dead.dialled_at) == len(Lane) + 1
    assert dead.dialled_at[-1] - dead.dialled_at[0] <= 0.06


async def test_a_broker_that_serves_again_is_forgiven(scripted: ScriptedCluster) -> None:
    broker = scripted.broker(2)
    async with running(scripted, bootstrap=(("broker-1", 9092),)) as cluster:
        await cluster.bootstrap(5)
        broker.go_down()
        for _ in range(10):
            with pytest.raises(ConnectionLostError):
                await cluster.send(2, BEAT, lane=Lane.FETCH, timeout=5)
        broker.come_up()
        await cluster.send(2, BEAT, lane=Lane.FETCH, timeout=5)
        broker.hang_up()
        await anyio.lowlevel.checkpoint()
        lost_at = anyio.current_time()
        with anyio.move_on_after(0.1):
            await served(cluster)
        assert anyio.current_time() - lost_at < 0.09


async def served(cluster: Cluster) -> None:
    """Wait until node 2 answers."""
    while True:
        with suppress(ConnectionLostError):
            await cluster.send(2, BEAT, lane=Lane.FETCH, timeout=5)
            return


# -- routing -------------------------------------------------------------------------------------


async def test_each_lane_has_one_connection_of_its_own(scripted: ScriptedCluster) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        before = len(scripted.broker(2).connections())
        for lane in (Lane.JOIN, Lane.HEARTBEAT, Lane.FETCH) * 2:
            await cluster.send(2, BEAT, lane=lane, timeout=5)
        assert len(scripted.broker(2).connections()) - before == 3


async def test_a_parked_lane_does_not_hold_up_another(scripted: ScriptedCluster) -> None:
    scripted.broker(2).hold(HeartbeatRequest)
    async with running(scripted) as cluster, anyio.create_task_group() as tasks:
        await cluster.bootstrap(5)
        with anyio.move_on_after(60):
            tasks.start_soon(_parked, cluster)
            await anyio.sleep(1)
            await cluster.send(2, BEAT, lane=Lane.HEARTBEAT, timeout=5)
            tasks.cancel_scope.cancel()
    assert anyio.current_time() < 2


async def _parked(cluster) -> None:
    await cluster.send(2, BEAT, lane=Lane.JOIN, timeout=60)


async def test_a_dropped_lane_gets_a_new_connection(scripted: ScriptedCluster) -> None:
    broker = scripted.broker(2)
    broker.hold(HeartbeatRequest)
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        with pytest.raises(TimeoutError):
            await cluster.send(2, BEAT, lane=Lane.JOIN, timeout=5)
        cluster.drop(2, Lane.JOIN)
        await cluster.send(2, BEAT, lane=Lane.JOIN, timeout=5)
    first, second = broker.seen_of(HeartbeatRequest)
    assert first.connection != second.connection
    assert second.at == pytest.approx(5)


async def test_a_lost_connection_is_made_again(scripted: ScriptedCluster) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        scripted.broker(2).once(HeartbeatRequest, HungUp())
        with pytest.raises(ConnectionLostError):
            await cluster.send(2, BEAT, lane=Lane.HEARTBEAT, timeout=5)
        await cluster.send(2, BEAT, lane=Lane.HEARTBEAT, timeout=5)
        assert anyio.current_time() < 0.1


async def test_a_lost_connection_makes_metadata_stale(scripted: ScriptedCluster) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        await anyio.sleep(60)
        before = metadata_requests(scripted)
        scripted.broker(2).once(HeartbeatRequest, HungUp())
        with pytest.raises(ConnectionLostError):
            await cluster.send(2, BEAT, lane=Lane.HEARTBEAT, timeout=5)
        await anyio.sleep(1)
        assert metadata_requests(scripted) > before


async def test_an_unknown_node_cannot_be_sent_to_until_it_is_learned(
    scripted: ScriptedCluster,
) -> None:
    scripted.listed = {1}
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        with pytest.raises(ConnectionLostError, match="node 3: no address is known"):
            await cluster.send(3, BEAT, lane=Lane.HEARTBEAT, timeout=5)
        cluster.learn_node(3, "broker-3", 9092)
        await cluster.send(3, BEAT, lane=Lane.HEARTBEAT, timeout=5)


@pytest.mark.parametrize(("host", "port"), [("", 9092), ("broker-1", 0), ("broker-1", 70_000)])
async def test_an_impossible_address_is_not_learned(
    scripted: ScriptedCluster, host: str, port: int
) -> None:
    async with running(scripted) as cluster:
        with pytest.raises(DecodeError):
            cluster.learn_node(3, host, port)


async def test_a_question_for_anybody_goes_round_the_brokers(scripted: ScriptedCluster) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        for _ in range(6):
            await cluster.send_any(ASK, timeout=5)
    asked = [len(broker.requests(FindCoordinatorRequest)) for broker in scripted.brokers]
    assert asked == [2, 2, 2]


async def test_a_question_for_anybody_passes_over_dead_brokers(
    scripted: ScriptedCluster,
) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        scripted.broker(1).go_down()
        scripted.broker(3).go_down()
        for _ in range(6):
            await cluster.send_any(ASK, timeout=5)
    assert len(scripted.broker(2).requests(FindCoordinatorRequest)) == 6
    assert anyio.current_time() < 0.01


async def test_a_question_for_anybody_is_sent_once(scripted: ScriptedCluster) -> None:
    for broker in scripted.brokers:
        broker.on(FindCoordinatorRequest, HungUp())
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        with pytest.raises(ConnectionLostError):
            await cluster.send_any(ASK, timeout=5)
    assert sum(len(broker.requests(FindCoordinatorRequest)) for broker in scripted.brokers) == 1


async def test_a_question_nobody_can_take_names_everybody(scripted: ScriptedCluster) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        for broker in scripted.brokers:
            broker.go_down()
        with pytest.raises(NoBrokerError) as caught:
            await cluster.send_any(ASK, timeout=20)
    assert set(caught.value.tried) == {"broker-1:9092", "broker-2:9092", "broker-3:9092"}


# -- the end -------------------------------------------------------------------------------------


async def test_the_end_closes_every_socket_and_fails_every_caller(
    scripted: ScriptedCluster,
) -> None:
    scripted.broker(2).hold(HeartbeatRequest)
    failures: list[str] = []

    async def expect_closed(call) -> None:
        with pytest.raises(ClosedError):
            await call()
        failures.append("closed")

    async with anyio.create_task_group() as callers, running(scripted) as cluster:
        view = await cluster.bootstrap(5)
        for call in (
            lambda: cluster.send(2, BEAT, lane=Lane.JOIN, timeout=60),
            lambda: cluster.changed(view),
        ):
            callers.start_soon(expect_closed, call)
        await anyio.sleep(1)
    assert failures == ["closed", "closed"]
    assert not [stream for broker in scripted.brokers for stream in broker.connections()]
    with pytest.raises(ClosedError):
        await cluster.send(1, BEAT, lane=Lane.JOIN, timeout=5)


async def test_nothing_can_be_sent_before_it_runs() -> None:
    broker = ScriptedBroker()
    settings = NetSettings(bootstrap=(("broker-1", 9092),))
    cluster = Cluster(settings, virtual_ports(broker))
    assert cluster.view == EMPTY_VIEW
    with pytest.raises(ClosedError):
        await cluster.send_any(ASK, timeout=5)
    assert not broker.dialled_at


async def test_a_row_of_metadata_names_its_broker(scripted: ScriptedCluster) -> None:
    answer = scripted.metadata(MetadataRequest(topics=()))
    assert answer.brokers[0] == MetadataResponseBroker(node_id=1, host="broker-1", port=9092)
