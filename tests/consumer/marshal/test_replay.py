"""G8 for the Marshal backend: a play of two members, a move, a cut and an end, in virtual time."""

import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from kgroup.consumer.coordination.marshal.backend import MarshalBackend
from kgroup.journal import NullSink
from kgroup.marshal.settings import MarshalSettings
from kgroup.net.cluster import Cluster
from kgroup.net.settings import NetSettings
from kgroup.testing import InProcessBroker
from kgroup.testing.broker.server.switchboard import Arrival
from kgroup.testing.virtual_time import virtual_backend, virtual_ports
from kgroup.types import Leave, OffsetAndMetadata, Subscription
from kgroup.wire.messages import FetchRequest, OffsetCommitRequest, ProduceRequest
from tests.consumer.marshal.stage import LOG, coordinated
from tests.contracts.application import Application, Told, no_listener
from tests.contracts.marshal_harness import marshal_place
from tests.contracts.replay import Play, ReplayContract

LATENCY = 0.007


class Actor:
    """One member of the play."""

    def __init__(self, name: str, broker: InProcessBroker, seed: int) -> None:
        self.name = name
        net = NetSettings(bootstrap=broker.bootstrap, client_id=name)
        self.cluster = Cluster(net, virtual_ports(broker.dial, seed=seed))
        settings = MarshalSettings(
            group_id="g", client_id=name, instance_id="1", started=1, interval=5, write_timeout=2.5
        )
        self.backend = MarshalBackend(settings, marshal_place(LOG), self.cluster, NullSink())
        self.backend.subscribe(Subscription(topics=frozenset({"t"})))
        self.application = Application(
            self.backend, anyio.current_time, poll_interval=15.0, listener=no_listener
        )

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            await tasks.start(self.cluster.run)
            tasks.start_soon(self.application.run)
            await self.backend.run(task_status=anyio.TASK_STATUS_IGNORED)
            tasks.cancel_scope.cancel()

    async def commit(self, offset: int) -> None:
        claims = self.backend.membership.claims
        await self.backend.commit({claim: OffsetAndMetadata(offset) for claim in claims})


async def perform(seed: int) -> list[str]:
    broker = coordinated(2, nodes=2, t=4)
    for node_id in (1, 2):
        broker.node(node_id).slow(LATENCY)
    one, two = Actor("one", broker, seed), Actor("two", broker, seed + 100)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one.run)
        await anyio.sleep(5.03)
        tasks.start_soon(two.run)
        await anyio.sleep(25.05)
        await one.commit(1)
        broker.answers.hang_up(ProduceRequest)
        broker.answers.hang_up(OffsetCommitRequest)
        await two.commit(2)
        broker.partition(LOG, 0).move_to(2)
        broker.partition(LOG, 1).move_to(2)
        await anyio.sleep(7.01)
        broker.node(2).kill()
        await anyio.sleep(11.04)
        broker.node(2).start()
        await anyio.sleep(9.0)
        await two.backend.leave(Leave.LEAVE, "the play is over for two", timeout=5.0)
        await anyio.sleep(6.0)
        tasks.cancel_scope.cancel()
    asked = (line(each) for each in broker.requests if not isinstance(each.request, FetchRequest))
    told = (change(each, told) for each in (one, two) for told in each.application.told)
    return [text for _, text in sorted([*asked, *told])]


def line(seen: Arrival) -> tuple[float, str]:
    at, asked = round(seen.at, 6), seen.request
    words = repr(written(asked) if isinstance(asked, ProduceRequest) else asked)
    return at, f"{at:.6f} {seen.client_id} v{seen.version} {words}"


def written(asked: ProduceRequest) -> list[bytes]:
    """Return the batches of a request; it has views, which look different each time."""
    rows = (row for topic in asked.topic_data for row in topic.partition_data)
    return [bytes(row.records or b"") for row in rows]


def change(actor: Actor, told: Told) -> tuple[float, str]:
    at = round(told.told_at, 6)
    return at, f"{at:.6f} {actor.name} is told {told.change!r}"


def played(backend: str, seed: int) -> list[str]:
    name, options = virtual_backend(backend)
    return anyio.run(perform, seed, backend=name, backend_options=dict(options))


@pytest.mark.slow
class TestReplay(ReplayContract):
    @pytest.fixture
    def play(self) -> Play:
        return played


@pytest.mark.slow
def test_the_transcript_does_not_hang_on_the_hashes_of_a_process() -> None:
    found = set()
    for hashes in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-m", "tests.consumer.marshal.test_replay"],
            cwd=Path(__file__).parents[3],
            env={"PYTHONHASHSEED": hashes},
            capture_output=True,
            check=True,
            text=True,
        )
        found.add(run.stdout)
    assert len(found) == 1
    assert next(iter(found)).count("\n") > 50


if __name__ == "__main__":
    sys.stdout.write("\n".join(played("asyncio", 1)))
