"""Committed offsets that cannot be read: the next broker that a member asks, and when."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.errors import KGroupError, UnauthorizedError
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import TopicPartition
from kgroup.wire.messages import FindCoordinatorRequest, OffsetFetchRequest, OffsetFetchResponse
from kgroup.wire.schema import replace

pytestmark = pytest.mark.anyio

A = TopicPartition("t", 0)


@asynccontextmanager
async def member(broker: InProcessBroker) -> AsyncIterator[Consumer[Any, Any]]:
    """Enter a member of a group whose heartbeats say nothing for a minute."""
    async with Consumer(
        "t",
        bootstrap_servers=broker.bootstrap_servers,
        ports=virtual_ports(broker.dial),
        group_id="g",
        auto_offset_reset="earliest",
        session_timeout=180.0,
        heartbeat_interval=60.0,
    ) as consumer:
        yield consumer


def cluster(nodes: int = 1) -> InProcessBroker:
    broker = InProcessBroker(nodes=nodes, topics={"t": 1})
    broker.partition("t").append("a")
    return broker


async def test_not_coordinator_to_offset_fetch_starts_a_search() -> None:
    """Found by the matrix: the same broker was asked again until a heartbeat was due."""
    broker = cluster()
    broker.answers.error(OffsetFetchRequest, 16, times=3)
    async with member(broker) as consumer:
        await consumer.getone(timeout=10.0)
        assert len(broker.requests_of(FindCoordinatorRequest)) == 4


async def test_not_coordinator_of_one_partition_starts_a_search() -> None:
    broker = cluster()

    def elsewhere(_: OffsetFetchRequest, answer: OffsetFetchResponse) -> OffsetFetchResponse:
        (group,) = answer.groups
        (topic,) = group.topics
        (row,) = topic.partitions
        refused = replace(topic, partitions=(replace(row, error_code=16),))
        return replace(answer, groups=(replace(group, topics=(refused,)),))

    broker.answers.rewrite(OffsetFetchRequest, elsewhere)
    async with member(broker) as consumer:
        await consumer.getone(timeout=10.0)
        assert len(broker.requests_of(FindCoordinatorRequest)) == 2


async def test_unanswered_committed_offsets_are_asked_for_with_growing_pauses() -> None:
    """Found by the matrix: ten times a second, for ever."""
    broker = cluster()
    broker.answers.error(OffsetFetchRequest, 14, times=None)
    async with member(broker) as consumer:
        await consumer.getmany(timeout=20.0)
        assert 15 < len(broker.requests_of(OffsetFetchRequest)) < 50


async def test_unauthorized_topics_are_raised_and_asked_for_at_a_bounded_pace() -> None:
    broker = cluster()

    def closed(_: OffsetFetchRequest, answer: OffsetFetchResponse) -> OffsetFetchResponse:
        (group,) = answer.groups
        return replace(answer, groups=(replace(group, error_code=29, topics=()),))

    rule = broker.answers.rewrite(OffsetFetchRequest, closed, times=None)
    async with member(broker) as consumer:
        with pytest.raises(UnauthorizedError) as caught:
            await consumer.getone(timeout=10.0)
        assert caught.value.resources == ("t",)
        before, began = rule.count, anyio.current_time()
        while anyio.current_time() < began + 10.0:
            with pytest.raises(KGroupError):
                await consumer.getmany(timeout=1.0)
            await anyio.sleep(0.5)
        assert rule.count - before < 20
        rule.cancel()
        await anyio.sleep(2.0)
        assert (await consumer.getone(timeout=10.0)).offset == 0
