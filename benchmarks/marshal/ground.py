"""What the benchmarks with a broker stand on.

Decides: how a connection is made and ended.
Never: measures.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from kgroup.net.cluster import Cluster
from kgroup.net.ports import system_ports
from kgroup.net.settings import NetSettings


@asynccontextmanager
async def connected(bootstrap: str) -> AsyncIterator[Cluster]:
    """Have connections for a block.

    Args:
        bootstrap: `host:port`, several separated by commas.
    """
    pairs = (each.rpartition(":") for each in bootstrap.split(","))
    addresses = tuple((host, int(port)) for host, _, port in pairs)
    async with anyio.create_task_group() as tasks:
        cluster = Cluster(NetSettings(bootstrap=addresses), system_ports())
        await tasks.start(cluster.run)
        await cluster.bootstrap(10.0)
        yield cluster
        tasks.cancel_scope.cancel()
