"""A look shows the state of this instant, and changes nothing."""

import anyio
import pytest

from kgroup.testing import BrokerSettings, InProcessBroker
from kgroup.testing.virtual_time import VIRTUAL_BACKENDS, virtual_backend


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> object:
    return virtual_backend(request.param)


@pytest.mark.anyio
async def test_an_election_that_is_due_is_seen_though_no_client_waits() -> None:
    settings = BrokerSettings(election_delay=3.0)
    broker = InProcessBroker(nodes=2, topics={"orders": 1}, settings=settings)
    part, group = broker.partition("orders"), broker.group("g")
    part.move_to(1)
    group.move_to(1)
    broker.node(1).kill()
    await anyio.sleep(2.9)
    assert (part.leader, group.coordinator) == (1, 1)
    await anyio.sleep(0.2)
    assert part.leader == 2
    assert group.coordinator == 2


@pytest.mark.anyio
async def test_the_cluster_itself_is_lent_out_as_it_is_now() -> None:
    broker = InProcessBroker(nodes=2, settings=BrokerSettings(election_delay=3.0))
    broker.node(1).kill()
    await anyio.sleep(3.1)
    assert broker.core.cluster.usable == [2]


def test_a_listener_to_changes_may_look_at_everything() -> None:
    broker = InProcessBroker(topics={"orders": 1})
    part, group, seen = broker.partition("orders"), broker.group("g"), []

    def look() -> None:
        assert broker.core.cluster.nodes[1].alive
        assert not group.has_settled()
        assert len(part.records()) == part.end
        seen.append((part.end, group.state, group.coordinator))

    broker.on_change(look)
    part.append("one")
    part.append("two")
    assert seen == [(1, "Dead", 1), (2, "Dead", 1)]
