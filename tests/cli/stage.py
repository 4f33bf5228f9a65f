"""What the tests of the verbs stand on: brokers with logs and one group, all in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from kgroup.cli.connecting import connected
from kgroup.cli.consuming import Wanted, consume, make_plan
from kgroup.cli.printing import Format, Lines
from kgroup.config import ConsumerConfig
from kgroup.net.cluster import Cluster
from kgroup.net.log_offsets import OffsetSpec
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import TopicPartition
from tests.consumer.ground import dial_of
from tests.consumer.shelf import Shelf

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Kept:
    """An output that keeps its lines; it breaks, or blocks, when asked to.

    Args:
        breaks_after: records after which nobody reads any more, None for never.
    """

    def __init__(self, breaks_after: int | None = None) -> None:
        self.lines: list[str] = []
        self.came = anyio.Event()
        self._breaks_after = breaks_after

    async def write(self, lines: bytes, records: int) -> None:
        await anyio.lowlevel.checkpoint()
        if self._breaks_after is not None and len(self.lines) + records > self._breaks_after:
            raise BrokenPipeError
        assert lines.endswith(b"\n")
        self.lines += lines.decode().splitlines()
        assert lines.count(b"\n") == records
        self.came.set()
        self.came = anyio.Event()

    def tick(self) -> None:
        """Nothing is drawn."""

    async def has(self, count: int) -> None:
        """Wait until there are so many lines."""
        with anyio.fail_after(60):
            while len(self.lines) < count:
                await self.came.wait()


def shelf_with(records: int, *, partitions: int = 2) -> Shelf:
    """Return a cluster whose topic `t` holds records in each partition."""
    shelf = Shelf(t=partitions)
    for number in range(partitions):
        if records:
            shelf.fill(TopicPartition("t", number), records)
    return shelf


def config_for(cluster: Shelf | InProcessBroker, **options: Any) -> ConsumerConfig:
    ports = virtual_ports(dial_of(cluster))
    defaults = {"bootstrap_servers": "broker-1:9092", "ports": ports}
    return ConsumerConfig.of({**defaults, **options})


@asynccontextmanager
async def on(shelf: Shelf) -> AsyncIterator[Cluster]:
    """Have a connected cluster."""
    async with connected(config_for(shelf)) as cluster:
        yield cluster


async def read(
    shelf: Shelf | InProcessBroker,
    output: Kept,
    *,
    group: str | None = None,
    reset: str = "earliest",
    **wanted: Any,
) -> int:
    """Consume `t` as the verb does; values only."""
    asked = Wanted(**{"topics": ("t",), "start": OffsetSpec.EARLIEST, **wanted})
    config = config_for(shelf, group_id=group, auto_offset_reset=reset)
    lines = Lines(key=Format.UTF8, values_only=True)
    async with connected(config) as cluster:
        plan = await make_plan(cluster, asked, config, timeout=10)
        return await consume(cluster, asked, config, plan, lines, output)
