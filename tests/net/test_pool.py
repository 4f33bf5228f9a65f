"""What is said about a broker that cannot be reached."""

import logging
from contextlib import suppress

import anyio
import anyio.lowlevel
import pytest

from kgroup.errors import ClosedError, ConnectionLostError, DecodeError
from kgroup.net.cluster import Cluster, Lane
from kgroup.net.pool import Pool
from kgroup.net.settings import Endpoint, NetSettings
from kgroup.net.trace import NoTrace
from kgroup.testing.virtual_time import virtual_ports
from kgroup.wire.messages import HeartbeatRequest
from tests.net.stage import BEAT, beating, running
from tests.search.scripted.broker import HungUp, Raw
from tests.search.scripted.cluster import ScriptedCluster

LANES = (Lane.HEARTBEAT, Lane.FETCH)


@pytest.fixture
def scripted() -> ScriptedCluster:
    return beating(2)


async def beat(cluster: Cluster) -> None:
    for lane in LANES:
        with suppress(ConnectionLostError, DecodeError, TimeoutError):
            await cluster.send(2, BEAT, lane=lane, timeout=5)


async def test_a_broker_that_is_gone_is_warned_of_once_until_it_has_answered_again(
    scripted: ScriptedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        for _ in range(2):
            await beat(cluster)
            scripted.broker(2).go_down()
            for _ in range(5):
                await beat(cluster)
            scripted.broker(2).come_up()
    logged = [each.getMessage() for each in caplog.records]
    assert len(logged) == 2
    assert all("node 2 at broker-2:9092" in line for line in logged)


async def test_a_connection_cut_after_others_were_served_says_nothing_of_sasl(
    scripted: ScriptedCluster,
) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        scripted.broker(2).on(HeartbeatRequest, HungUp())
        with pytest.raises(ConnectionLostError) as caught:
            await cluster.send(2, BEAT, lane=Lane.HEARTBEAT, timeout=5)
    assert "SASL" not in str(caught.value)


async def test_a_broker_known_by_two_names_is_warned_of_once(
    scripted: ScriptedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        for broker in scripted.brokers:
            broker.go_down()
        cluster.invalidate()
        await anyio.sleep(60)
    logged = [each.getMessage() for each in caplog.records]
    assert len(logged) == 2
    assert all(any(broker.address in line for line in logged) for broker in scripted.brokers)


async def test_answers_that_cannot_be_read_are_warned_of_once_a_minute_with_the_reason(
    scripted: ScriptedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        scripted.broker(2).on(HeartbeatRequest, Raw(b"\xff\xff\xff\xff"))
        for _ in range(10):
            await beat(cluster)
            await anyio.sleep(9)
    logged = [each.getMessage() for each in caplog.records]
    assert len(logged) == 2
    assert all("node 2 at broker-2:9092" in line and "negative" in line for line in logged)


async def test_a_connection_given_up_does_not_end_the_pause_that_another_s_failure_began(
    scripted: ScriptedCluster,
) -> None:
    """1. the broker closes one lane's connection; 2. its user gives the other lane up, too."""
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        await beat(cluster)
        scripted.broker(2).once(HeartbeatRequest, HungUp())
        with pytest.raises(ConnectionLostError):
            await cluster.send(2, BEAT, lane=Lane.FETCH, timeout=5)
        lost_at = anyio.current_time()
        cluster.drop(2, Lane.HEARTBEAT)
        await beat(cluster)
        assert scripted.broker(2).dialled_at[-2] > lost_at


async def test_the_log_says_when_a_connection_opens_and_when_and_why_it_closes(
    scripted: ScriptedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="kgroup.net.pool")
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        caplog.clear()
        await beat(cluster)
        await beat(cluster)
        opened = [each.getMessage() for each in caplog.records]
        caplog.clear()
        cluster.drop(2, Lane.FETCH)
        (closed,) = (each.getMessage() for each in caplog.records)
    apis = len(scripted.broker(2).versions)
    places = [
        f"opened node=2 address=broker-2:9092 lane={lane.value} apis={apis}" for lane in LANES
    ]
    assert [line.partition(" ")[2] for line in opened] == places
    reason = "reason=the connection was dropped by its user"
    assert closed.endswith(f"closed node=2 address=broker-2:9092 lane=fetch {reason}")


async def test_a_connection_that_never_opened_is_logged_as_closed_with_the_reason(
    scripted: ScriptedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        caplog.set_level(logging.DEBUG, logger="kgroup.net.pool")
        scripted.broker(2).go_down()
        await anyio.sleep(0.1)
        caplog.clear()
        await beat(cluster)
        logged = [each.getMessage() for each in caplog.records if each.levelno == logging.DEBUG]
    logged = [line for line in logged if "node=2" in line]
    assert logged
    assert all(" closed " in line and "refuses connections" in line for line in logged)


async def asked_while_it_ends(scripted: ScriptedCluster, later: int) -> None:
    settings = NetSettings(bootstrap=scripted.bootstrap)
    pool = Pool(settings, virtual_ports(scripted), NoTrace(), lambda _: None)
    async with anyio.create_task_group() as tasks:
        await tasks.start(pool.run)
        tasks.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            for _ in range(later):
                await anyio.lowlevel.checkpoint()
            with suppress(ClosedError, ConnectionLostError):
                await pool.connect(Endpoint(1, "broker-1", 9092), Lane.CONTROL)


@pytest.mark.parametrize("later", range(4))
async def test_a_request_for_a_connection_while_the_pool_ends_is_refused_as_closed(
    scripted: ScriptedCluster, later: int
) -> None:
    """1. A cluster is cancelled; 2. its pool takes no more tasks, and is not left yet; 3. somebody
    asks for a connection, and got a RuntimeError of the task group. Trio draws the order of the
    tasks in between."""
    for _ in range(10):
        await asked_while_it_ends(scripted, later)
