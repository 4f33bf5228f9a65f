"""A cooperative change costs two rounds at most while no listener and no batch takes long."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest
from anyio.abc import ByteStream

from kgroup.consumer import Consumer
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from tests.consumer.entered import GROUP, config_for
from tests.consumer.ground import ground
from tests.consumer.wires import Wire, Wires

pytestmark = pytest.mark.anyio

PARTITIONS = 12
WORK = 0.1
"""Seconds that one read takes; those of members end at different times."""
LATE = 0.03
"""Seconds by which all but the first member hear later: it has joined again before they have."""


class Late(Wire):
    """A connection on which answers take longer."""

    async def receive(self, max_bytes: int = 65536) -> bytes:
        found = await super().receive(max_bytes)
        await anyio.sleep(LATE)
        return found


@dataclass
class Crew:
    """Members of one group that read all the time."""

    broker: InProcessBroker
    stop: dict[int, anyio.Event] = field(default_factory=dict)
    gone: dict[int, anyio.Event] = field(default_factory=dict)

    async def live(self, number: int) -> None:
        """Read as a member until stopped, with something of every partition in hand."""
        self.stop[number], self.gone[number] = anyio.Event(), anyio.Event()
        dial = self.broker.dial if number == 0 else self.dial_late
        ports = virtual_ports(dial)
        options = {
            **GROUP,
            "ports": ports,
            "client_id": f"m{number}",
            "max_poll_records": PARTITIONS,
        }
        async with Consumer("t", config=config_for(self.broker, **options)) as consumer:
            while not self.stop[number].is_set():
                await consumer.getmany(timeout=1)
                await anyio.sleep(WORK * (1 + number))
        self.gone[number].set()

    async def dial_late(self, host: str, port: int) -> ByteStream:
        """Connect so that answers take longer."""
        return Late(Wires(self.broker.dial), await self.broker.dial(host, port))

    async def settled(self, members: int) -> int:
        """Wait until so many members share everything and nothing moves; return the generation."""
        group = self.broker.group("g")
        with anyio.fail_after(60):
            before = -1
            while not group.has_settled(members) or group.generation != before:
                before = group.generation if group.has_settled(members) else -1
                await anyio.sleep(5)
        owned = [len(each) for each in group.assignment.values()]
        assert (sum(owned), max(owned) - min(owned)) == (PARTITIONS, 0)
        return group.generation


@asynccontextmanager
async def crew() -> AsyncIterator[Crew]:
    broker = ground(t=PARTITIONS)
    broker.node(1).slow(0.01)
    for number in range(PARTITIONS):
        broker.partition("t", number).append(*(b"%d" % each for each in range(500)))
    yield Crew(broker)


@pytest.mark.parametrize("members", [2, 3])
async def test_a_member_that_joins_costs_two_rounds(members: int) -> None:
    async with crew() as it, anyio.create_task_group() as tasks:
        for number in range(members):
            tasks.start_soon(it.live, number)
        before = await it.settled(members)
        tasks.start_soon(it.live, members)
        assert await it.settled(members + 1) - before == 2
        tasks.cancel_scope.cancel()


async def test_a_member_that_leaves_costs_two_rounds_at_most() -> None:
    async with crew() as it, anyio.create_task_group() as tasks:
        for number in range(4):
            tasks.start_soon(it.live, number)
        before = await it.settled(4)
        it.stop[1].set()
        await it.gone[1].wait()
        assert await it.settled(3) - before <= 2
        tasks.cancel_scope.cancel()
