"""How much is published at a time, at most once, and for how many partitions."""

import anyio
import pytest

from kgroup.marshal.messages import Kind
from kgroup.testing import InProcessBroker
from kgroup.types import TopicPartition
from tests.consumer.ground import fill
from tests.consumer.marshal.claiming import A, claiming, gives, kafka, owns, said
from tests.consumer.marshal.stage import coordinated

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def in_batches_of(size: int) -> InProcessBroker:
    broker = coordinated(t=1)
    fill(broker, A, 10, per_batch=size)
    return broker


@pytest.mark.parametrize(
    ("size", "tails"),
    [(1, [4, 8, 10]), (2, [4, 8, 10]), (3, [3, 6, 10]), (5, [4, 5, 9, 10]), (10, [4, 8, 10])],
)
async def test_a_portion_takes_as_many_batches_of_the_log_as_fit(
    size: int, tails: list[int]
) -> None:
    broker = in_batches_of(size)
    async with claiming(broker, guarantee="at_most_once", at_most_once_records=4) as consumer:
        assert await gives(consumer, 10) == [*range(10)]
    probes = [each.message.tail for each in said(broker, A, Kind.CLAIMING_MESSAGES)]
    assert probes == tails


async def test_ready_portions_of_many_partitions_are_published_together() -> None:
    width = 8
    broker = kafka(width)
    tps = [TopicPartition("t", number) for number in range(width)]
    options = {"guarantee": "at_most_once", "marshal_heartbeat_interval": 60}
    async with claiming(broker, "t", name="one", listener=None, **options) as consumer:
        await owns(consumer, *tps)
        await anyio.sleep(10.0)
        broker.node(1).slow(0.2)
        began = anyio.current_time()
        found = await consumer.getmany(timeout=60.0)
        assert found.keys() == set(tps)
        # Of one: a probe, a commit, a heartbeat, and what was written read back. And the others.
        assert anyio.current_time() - began < 4.0
