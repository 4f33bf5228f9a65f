"""Where a question goes that any broker can answer: a broker that was silent comes last."""

import anyio
import pytest

from kgroup.net.broker_order import in_order
from kgroup.net.cluster import Cluster, Lane
from kgroup.net.settings import Endpoint
from kgroup.wire.messages import FindCoordinatorRequest, HeartbeatRequest, HeartbeatResponse
from tests.net.stage import BEAT, beating, running
from tests.search.scripted.cluster import ScriptedCluster

ASK = FindCoordinatorRequest(coordinator_keys=("g",))
ONE, TWO, THREE = (Endpoint(number, f"broker-{number}", 9092) for number in (1, 2, 3))


@pytest.fixture
def scripted() -> ScriptedCluster:
    return beating(3)


async def fall_silent(scripted: ScriptedCluster, cluster: Cluster, node: int) -> None:
    """Have a broker leave the heartbeat of somebody without an answer."""
    scripted.broker(node).hold(HeartbeatRequest)
    with pytest.raises(TimeoutError):
        await cluster.send(node, BEAT, lane=Lane.HEARTBEAT, timeout=1)


def asked(scripted: ScriptedCluster) -> list[int]:
    return [len(broker.requests(FindCoordinatorRequest)) for broker in scripted.brokers]


def test_a_broker_that_has_just_been_silent_comes_behind_a_broker_that_rests() -> None:
    rests = {ONE: 0.0, TWO: 0.5, THREE: 0.0}
    ordered = in_order([ONE, TWO, THREE], rests.__getitem__, {ONE.address})
    assert ordered == [THREE, TWO, ONE]


def test_the_turn_decides_among_brokers_that_are_as_likely_to_answer() -> None:
    assert in_order([TWO, THREE, ONE], lambda _: 0.0, ()) == [TWO, THREE, ONE]
    assert in_order([TWO, THREE, ONE], lambda _: 0.0, {TWO.address, THREE.address})[0] == ONE


async def test_a_question_for_any_broker_does_not_go_to_one_that_has_just_been_silent(
    scripted: ScriptedCluster,
) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        await fall_silent(scripted, cluster, 2)
        for _ in range(6):
            await cluster.send_any(ASK, timeout=5)
    assert asked(scripted)[1] == 0


async def test_a_silent_broker_is_asked_when_no_other_is_there(scripted: ScriptedCluster) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        await fall_silent(scripted, cluster, 2)
        scripted.broker(1).go_down()
        scripted.broker(3).go_down()
        await cluster.send_any(ASK, timeout=5)
    assert asked(scripted) == [0, 1, 0]


async def test_a_broker_that_answers_again_has_its_turn_again(scripted: ScriptedCluster) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        await fall_silent(scripted, cluster, 2)
        scripted.broker(2).on(HeartbeatRequest, HeartbeatResponse())
        cluster.drop(2, Lane.HEARTBEAT)
        await cluster.send(2, BEAT, lane=Lane.HEARTBEAT, timeout=1)
        for _ in range(6):
            await cluster.send_any(ASK, timeout=5)
    assert asked(scripted) == [2, 2, 2]


async def test_a_silence_is_forgotten_after_a_while(scripted: ScriptedCluster) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        await fall_silent(scripted, cluster, 2)
        await anyio.sleep(31)
        for _ in range(6):
            await cluster.send_any(ASK, timeout=5)
    assert asked(scripted) == [2, 2, 2]
