"""`kgroup consume --health-port` says how the consumer is."""

import json
import socket
import urllib.request
from typing import Any

import anyio
import pytest

from kgroup.cli.connecting import connected
from kgroup.cli.consuming import Wanted, consume, make_plan
from kgroup.cli.printing import Format, Lines
from kgroup.config import ConsumerConfig
from kgroup.net.log_offsets import OffsetSpec
from kgroup.testing import InProcessBroker
from tests.cli.stage import Kept


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Real time: the server is asked over a socket."""
    return str(request.param)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def asked(port: int, path: str) -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
        return json.load(answer)


async def when_it_has_looked(port: int) -> Any:
    """Return what it says once it knows of partitions; it looks several times a second."""
    with anyio.fail_after(60):
        while not (body := await anyio.to_thread.run_sync(asked, port, "/live"))["partitions"]:
            pass
    return body


@pytest.mark.anyio
@pytest.mark.parametrize("group", [None, "g"])
async def test_it_answers_while_records_are_printed(group: str | None) -> None:
    broker, kept, port = InProcessBroker(topics={"t": 1}), Kept(), free_port()
    broker.partition("t", 0).append("a")
    lines = Lines(key=Format.UTF8, values_only=True)
    wanted = Wanted(topics=("t",), start=OffsetSpec.EARLIEST, health_port=port)
    with broker.serve() as served:
        config = ConsumerConfig(
            bootstrap_servers=served.bootstrap, group_id=group, auto_offset_reset="earliest"
        )
        async with connected(config) as cluster, anyio.create_task_group() as tasks:
            plan = await make_plan(cluster, wanted, config, timeout=10)
            tasks.start_soon(consume, cluster, wanted, config, plan, lines, kept)
            await kept.has(1)
            body = await when_it_has_looked(port)
            tasks.cancel_scope.cancel()
    assert (body["live"], list(body["partitions"])) == (True, ["t-0"])
