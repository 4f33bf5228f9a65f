"""kgroup's own consumer on an in-process cluster in memory, in virtual time."""

from typing import Any

import anyio
import pytest

from kgroup import Consumer
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import VIRTUAL_BACKENDS, virtual_backend, virtual_ports
from kgroup.types import TopicPartition

pytestmark = pytest.mark.anyio


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> object:
    return virtual_backend(request.param)


def consumer(broker: InProcessBroker, name: str, **options: Any) -> Consumer[Any, Any]:
    defaults: dict[str, Any] = {
        "group_id": "g",
        "client_id": name,
        "bootstrap_servers": ",".join(f"{host}:{port}" for host, port in broker.bootstrap),
        "auto_offset_reset": "earliest",
        "ports": virtual_ports(broker.dial),
    }
    return Consumer("orders", **{**defaults, **options})


async def read_for(seconds: float, member: Consumer[Any, Any]) -> list[bytes]:
    values: list[bytes] = []
    with anyio.move_on_after(seconds):
        async for record in member:
            values.append(record.value)
    return values


async def test_a_consumer_reads_what_was_appended() -> None:
    broker = InProcessBroker(topics={"orders": 2})
    broker.partition("orders", 0).append("a", ("k", "b"))
    broker.partition("orders", 1).append("c")
    async with consumer(broker, "A") as member:
        assert sorted(await read_for(1, member)) == [b"a", b"b", b"c"]


async def test_two_members_share_the_partitions_and_leave_an_empty_group() -> None:
    broker = InProcessBroker(topics={"orders": 6})
    group = broker.group("g")
    async with consumer(broker, "A") as first, consumer(broker, "B"):
        await read_for(10, first)
        assert group.state == "Stable"
        assert sorted(len(each) for each in group.assignment.values()) == [3, 3]
    assert group.state == "Empty"


async def test_the_death_of_the_coordinator_costs_no_member_its_partitions() -> None:
    broker = InProcessBroker(nodes=2, topics={"orders": 2})
    group = broker.group("g")
    async with consumer(broker, "A") as member:
        await read_for(5, member)
        coordinator = group.coordinator
        assert coordinator is not None
        broker.node(coordinator).kill()
        await read_for(20, member)
        assert (group.state, group.generation) == ("Stable", 1)
        assert group.coordinator not in (None, coordinator)
        broker.partition("orders", 0).append("later")
        assert await read_for(5, member) == [b"later"]


async def test_an_expired_member_joins_again() -> None:
    broker = InProcessBroker(topics={"orders": 2})
    group = broker.group("g")
    async with consumer(broker, "A") as member:
        await read_for(5, member)
        before = group.view().members
        group.expire("A")
        assert group.state == "Empty"
        await read_for(10, member)
        after = group.view().members
        assert [len(before), len(after)] == [1, 1]
        assert after[0].member_id != before[0].member_id
        assert after[0].partitions == (TopicPartition("orders", 0), TopicPartition("orders", 1))


async def test_a_cluster_tells_of_changes_and_can_be_lent_out_for_one() -> None:
    broker = InProcessBroker(topics={"orders": 1})
    group, states = broker.group("g"), ["Dead"]

    def look() -> None:
        shard = broker.core.coordinators.shard_of("g")
        state = shard.groups["g"].phase.value if "g" in shard.groups else "Dead"
        if state != states[-1]:
            states.append(state)

    broker.on_change(look)
    async with consumer(broker, "A") as first:
        await read_for(5, first)
        with broker.changing() as core:
            core.coordinators.shard_of("g").forget("g")
        assert group.members == ()
    rounds = ["Empty", "PreparingRebalance", "CompletingRebalance", "Stable"]
    assert states[:6] == ["Dead", *rounds, "Dead"]
