"""What the tutorial waits for: settled groups, members by name, moving coordinators."""

from typing import Any

import anyio
import pytest

from kgroup import Consumer
from kgroup.testing import InProcessBroker
from kgroup.testing.requests import SyncGroupRequest
from kgroup.testing.virtual_time import VIRTUAL_BACKENDS, virtual_backend, virtual_ports

pytestmark = pytest.mark.anyio


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> object:
    return virtual_backend(request.param)


def member(broker: InProcessBroker, name: str) -> Consumer[Any, Any]:
    return Consumer(
        "orders",
        group_id="g",
        client_id=name,
        bootstrap_servers=broker.bootstrap_servers,
        assignors=["cooperative-sticky"],
        ports=virtual_ports(broker.dial),
    )


@pytest.mark.slow
async def test_a_group_has_settled_when_nothing_is_on_its_way_to_another_member() -> None:
    broker = InProcessBroker(topics={"orders": 2})
    group = broker.group("g")
    assert not group.has_settled()
    async with member(broker, "A"):
        await broker.until(group.has_settled)
        assert not group.has_settled(members=2)
        async with member(broker, "B"):
            held = broker.answers.hold(SyncGroupRequest, client_id="A")
            await broker.until(lambda: held.count == 1, timeout=20)
            assert (group.state, len(group.members)) == ("Stable", 2)
            assert not group.has_settled(members=2)  # what A gives up waits for another round
            held.release()
            await broker.until(lambda: group.has_settled(members=2), timeout=20)
            assert [len(group.member(name).partitions) for name in "AB"] == [1, 1]
            group.rebalance()
            assert not group.has_settled()
    assert not group.has_settled(members=0)


async def test_partitions_that_are_added_unsettle_a_group() -> None:
    broker = InProcessBroker(topics={"orders": 1})
    group = broker.group("g")
    async with member(broker, "A"):
        await broker.until(group.has_settled)
        broker.add_partitions("orders", 2)
        assert not group.has_settled()


async def test_a_coordinator_moves_to_the_next_broker_that_is_up() -> None:
    broker = InProcessBroker(nodes=3)
    group = broker.group("g")
    group.move_to(1)
    broker.node(2).kill()
    assert [group.move(), group.move()] == [3, 1]
    assert group.coordinator == 1


async def test_committed_offsets_compare_with_plain_values() -> None:
    broker = InProcessBroker(topics={"orders": 1})
    broker.partition("orders").append("tea")
    async with member(broker, "A") as consumer:
        await broker.until(broker.group("g").has_settled)
        await consumer.seek_to_beginning()
        await consumer.getone()
        await consumer.commit()
        await anyio.lowlevel.checkpoint()
    assert broker.group("g").committed == {("orders", 0): 1}
