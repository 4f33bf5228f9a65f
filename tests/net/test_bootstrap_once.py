"""A bootstrap time of nothing: each address has one try, and then it is said why."""

import anyio
import pytest

from kgroup.errors import NoBrokerError
from tests.net.stage import running
from tests.search.scripted.cluster import ScriptedCluster


@pytest.fixture
def scripted() -> ScriptedCluster:
    return ScriptedCluster(3)


async def test_each_address_that_refuses_is_tried_once(scripted: ScriptedCluster) -> None:
    for broker in scripted.brokers[:2]:
        broker.refuses = True
    addresses = (*scripted.bootstrap[:2], ("nowhere", 9092))
    async with running(scripted, bootstrap=addresses) as cluster:
        with pytest.raises(NoBrokerError) as caught:
            await cluster.bootstrap(0)
    assert list(caught.value.tried) == ["broker-1:9092", "broker-2:9092", "nowhere:9092"]
    assert [len(broker.dialled_at) for broker in scripted.brokers] == [1, 1, 0]
    assert anyio.current_time() < 1


async def test_one_address_that_answers_is_enough(scripted: ScriptedCluster) -> None:
    scripted.broker(1).refuses = True
    scripted.broker(2).mute = True
    async with running(scripted, bootstrap=scripted.bootstrap) as cluster:
        view = await cluster.bootstrap(0)
    assert len(view.brokers) == 3
    assert anyio.current_time() < 5


async def test_silence_is_borne_as_long_as_for_any_request(scripted: ScriptedCluster) -> None:
    scripted.broker(1).mute = True
    async with running(scripted, bootstrap=scripted.bootstrap[:1], request_timeout=7) as cluster:
        with pytest.raises(NoBrokerError, match="within 7 s"):
            await cluster.bootstrap(0)
    assert anyio.current_time() == pytest.approx(7)
