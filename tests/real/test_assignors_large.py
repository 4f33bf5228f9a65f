"""A group whose members say so much that dividing it is work: that stops nobody.

The leader's assignor runs off the event loop when there is much to divide, so its heartbeats go
on, and so does its reading, even when dividing takes longer than a session.
"""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import anyio
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kgroup.assignors import BUILT_IN, GroupAssignment, GroupSubscription, RebalanceProtocol
from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind
from tests.real.ground import eventually, fresh, lay_ground
from tests.real.members import Member, group_on

pytestmark = pytest.mark.real

TOPICS, EACH = 80, 2
"""Few partitions, for making and removing thousands keeps the broker from the tests to come; but
with names as long as they may be, so that what members say of them is much to read."""

SESSION, THINKING = 3.0, 3.5


class Thoughtful:
    """Divides like `cooperative-sticky`, after it has computed for seconds if it is told to."""

    name: ClassVar[str] = "thoughtful"
    supported_protocols: ClassVar[Sequence[RebalanceProtocol]] = (RebalanceProtocol.COOPERATIVE,)

    def __init__(self) -> None:
        self.thinking = 0.0
        self.thought: list[tuple[float, float]] = []

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        began, until = time.monotonic(), time.monotonic() + self.thinking
        while time.monotonic() < until:
            sum(range(1000))
        self.thought.append((began, time.monotonic()))
        return BUILT_IN["cooperative-sticky"].assign(group)


@asynccontextmanager
async def many_topics(kafka: RealKafka) -> AsyncIterator[list[str]]:
    """Have topics with long names for one block."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    names = [f"{fresh('many')}-{'x' * 230}" for _ in range(TOPICS)]

    def make() -> None:
        for made in admin.create_topics([NewTopic(name, EACH, 1) for name in names]).values():
            made.result(20)

    def remove() -> None:
        for removed in admin.delete_topics(names).values():
            removed.result(20)

    await anyio.to_thread.run_sync(make)
    try:
        yield names
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(remove)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_leader_that_divides_for_longer_than_a_session_stays_and_reads_on(
    kafka: RealKafka, tmp_path: Path
) -> None:
    own, ground = Thoughtful(), await lay_ground(kafka, 1)
    async with (
        many_topics(kafka) as names,
        group_on(ground, tmp_path, assignors=(own,), session_timeout=SESSION) as group,
    ):
        topics = (ground.topic, *names)
        leader = await group.join("leader", topics=topics)
        await eventually(lambda: len(leader.owned) == TOPICS * EACH + 1, "it owns everything")
        member_id = leader.member_id
        own.thinking = THINKING
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ground.stream)
            other = await group.join("other", topics=topics)
            await eventually(lambda: own.thought[-1][1] - own.thought[-1][0] > THINKING, "thinking")
            own.thinking = 0.0
            await eventually(lambda: halves(leader, other), "each owns its half")
            tasks.cancel_scope.cancel()
        assert leader.member_id == member_id
        assert leader.took(ChangeKind.LOST) == other.took(ChangeKind.LOST) == []
        began, ended = max(own.thought, key=lambda span: span[1] - span[0])
        read_at = [began, *(read.at for read in leader.reads if began < read.at < ended), ended]
        assert longest_pause(read_at) < SESSION / 2
        await group.end()


def halves(*members: Member) -> bool:
    """Tell whether members own everything, each as much as the other, give or take one."""
    sizes = [len(member.owned) for member in members]
    return sum(sizes) == TOPICS * EACH + 1 and max(sizes) - min(sizes) <= 1


def longest_pause(times: Sequence[float]) -> float:
    return max(after - before for before, after in pairwise(times))
