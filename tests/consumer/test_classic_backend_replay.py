"""G8 for the classic backend: a play of two members, a move, a cut and an end, in virtual time."""

import sys

import anyio
import pytest

from kgroup.backends.classic.backend import ClassicBackend
from kgroup.journal import NullSink
from kgroup.net.cluster import Cluster
from kgroup.testing import InProcessBroker
from kgroup.types import Leave
from kgroup.wire.messages import JoinGroupRequest, OffsetCommitRequest
from tests.consumer.player import Actor, on_other_hashes, performed, transcript
from tests.consumer.scene import settings
from tests.contracts.replay import Play, ReplayContract

LATENCY = 0.007


def member(_: str, cluster: Cluster) -> ClassicBackend:
    return ClassicBackend(settings(), cluster, NullSink())


async def perform(seed: int) -> list[str]:
    broker = InProcessBroker(nodes=2, topics={"t": 6})
    group = broker.group("g")
    for node_id in (1, 2):
        broker.node(node_id).slow(LATENCY)
    group.move_to(1)
    one, two = Actor("one", broker, seed, member), Actor("two", broker, seed + 100, member)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one.run)
        await anyio.sleep(5.03)
        tasks.start_soon(two.run)
        await anyio.sleep(5.05)
        await one.commit(1)
        broker.answers.hang_up(OffsetCommitRequest)
        await two.commit(2)
        group.move_to(2)
        await anyio.sleep(7.01)
        broker.answers.hang_up(JoinGroupRequest)
        group.rebalance()
        await anyio.sleep(5.02)
        broker.node(2).kill()
        await anyio.sleep(21.04)
        broker.node(2).start()
        await anyio.sleep(9.0)
        await two.backend.leave(Leave.LEAVE, "the play is over for two", timeout=5.0)
        await anyio.sleep(6.0)
        tasks.cancel_scope.cancel()
    return transcript(broker.requests, one, two)


def played(backend: str, seed: int) -> list[str]:
    return performed(perform, backend, seed)


class TestReplay(ReplayContract):
    @pytest.fixture
    def play(self) -> Play:
        return played


@pytest.mark.slow
def test_the_transcript_does_not_hang_on_the_hashes_of_a_process() -> None:
    found = on_other_hashes("tests.consumer.test_classic_backend_replay")
    assert len(found) == 1
    assert next(iter(found)).count("\n") > 50


if __name__ == "__main__":
    sys.stdout.write("\n".join(played("asyncio", 1)))
