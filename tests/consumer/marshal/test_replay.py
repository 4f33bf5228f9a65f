"""G8 for the Marshal backend: a play of two members, a move, a cut and an end, in virtual time."""

import sys
from typing import Any

import anyio
import pytest

from kgroup.backends.marshal.backend import MarshalBackend
from kgroup.journal import NullSink
from kgroup.marshal.rules import MarshalSettings
from kgroup.net.cluster import Cluster
from kgroup.testing.broker.server.switchboard import Arrival
from kgroup.types import Leave
from kgroup.wire.messages import FetchRequest, OffsetCommitRequest, ProduceRequest
from tests.consumer.marshal.stage import LOG, coordinated
from tests.consumer.player import Actor, on_other_hashes, performed, transcript
from tests.contracts.marshal_harness import marshal_place
from tests.contracts.replay import Play, ReplayContract

LATENCY = 0.007


def member(name: str, cluster: Cluster) -> MarshalBackend:
    settings = MarshalSettings(
        group_id="g", client_id=name, instance_id="1", started=1, interval=5, write_timeout=2.5
    )
    return MarshalBackend(settings, marshal_place(LOG), cluster, NullSink())


async def perform(seed: int) -> list[str]:
    broker = coordinated(2, nodes=2, t=4)
    for node_id in (1, 2):
        broker.node(node_id).slow(LATENCY)
    one, two = Actor("one", broker, seed, member), Actor("two", broker, seed + 100, member)
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
    asked = (each for each in broker.requests if not isinstance(each.request, FetchRequest))
    return transcript(asked, one, two, shown=with_batches)


def with_batches(seen: Arrival) -> Any:
    """Return a request, or its batches if it has any; their views look different each time."""
    asked = seen.request
    if not isinstance(asked, ProduceRequest):
        return asked
    rows = (row for topic in asked.topic_data for row in topic.partition_data)
    return [bytes(row.records or b"") for row in rows]


def played(backend: str, seed: int) -> list[str]:
    return performed(perform, backend, seed)


@pytest.mark.slow
class TestReplay(ReplayContract):
    @pytest.fixture
    def play(self) -> Play:
        return played


@pytest.mark.slow
def test_the_transcript_does_not_hang_on_the_hashes_of_a_process() -> None:
    found = on_other_hashes("tests.consumer.marshal.test_replay")
    assert len(found) == 1
    assert next(iter(found)).count("\n") > 50


if __name__ == "__main__":
    sys.stdout.write("\n".join(played("asyncio", 1)))
