"""kgroup's own consumer on an in-process cluster in memory, in virtual time."""

from typing import Any

import anyio
import pytest

from kgroup import Consumer
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import VIRTUAL_BACKENDS, virtual_backend, virtual_ports

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
