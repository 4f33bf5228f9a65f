"""What is said about a broker that cannot be reached."""

from contextlib import suppress

import anyio
import pytest

from kgroup.errors import ConnectionLostError, NoBrokerError
from kgroup.net.cluster import Cluster, Lane
from kgroup.testing.scripted_cluster import ScriptedCluster
from kgroup.wire.messages import HeartbeatRequest, HeartbeatResponse
from tests.net.stage import BEAT, running

LANES = (Lane.HEARTBEAT, Lane.FETCH)


@pytest.fixture
def scripted() -> ScriptedCluster:
    scripted = ScriptedCluster(2)
    for broker in scripted.brokers:
        broker.on(HeartbeatRequest, HeartbeatResponse())
    return scripted


async def beat(cluster: Cluster) -> None:
    for lane in LANES:
        with suppress(ConnectionLostError, TimeoutError):
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
    told = [each.getMessage() for each in caplog.records]
    assert len(told) == 2
    assert all("node 2 at broker-2:9092" in line and "refuses connections" in line for line in told)


async def test_a_broker_known_by_two_names_is_warned_of_once(
    scripted: ScriptedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        for broker in scripted.brokers:
            broker.go_down()
        cluster.invalidate()
        await anyio.sleep(60)
    told = [each.getMessage() for each in caplog.records]
    assert len(told) == 2
    assert all(any(broker.address in line for line in told) for broker in scripted.brokers)


async def test_before_anybody_answered_only_the_error_tells_who_is_gone(
    scripted: ScriptedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    for broker in scripted.brokers:
        broker.go_down()
    async with running(scripted) as cluster:
        with pytest.raises(NoBrokerError, match="refuses connections"):
            await cluster.bootstrap(5)
    assert caplog.records == []
