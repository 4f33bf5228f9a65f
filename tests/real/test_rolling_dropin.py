"""Members of aiokafka are replaced by its drop-in, one by one, and back again.

The group goes on: nobody is refused, nothing is lost, and no partition waits for longer than one
rebalance. Everybody is eager, so a change takes one round. What goes and what comes list the same
assignor, which the member of kgroup's own lists beside another.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from kgroup.compat.aiokafka import AIOKafkaConsumer
from kgroup.testing.kafka import RealKafka
from tests.real.ground import Ground, lay_ground
from tests.real.members import group_on
from tests.real.peers import AiokafkaPeer, Peer
from tests.real.rolling import PARTITIONS, rolling

pytestmark = pytest.mark.real

ROUNDS = 2
"""Of one replacement: one when the old one leaves, one when the new one joins."""

Make = Callable[[Ground, str], Peer]


def aiokafka(assignor: str) -> tuple[Make, Make]:
    """Return what makes a member of aiokafka, and what makes one of its drop-in."""
    return (
        lambda ground, group: AiokafkaPeer(ground, group, assignor),
        lambda ground, group: AiokafkaPeer(ground, group, assignor, AIOKafkaConsumer),
    )


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("library", "assignor"),
    [
        pytest.param(aiokafka("roundrobin"), "roundrobin", id="aiokafka"),
        pytest.param(aiokafka("sticky"), "sticky", id="aiokafka-sticky"),
    ],
)
async def test_members_are_replaced_by_the_drop_in_and_back(
    kafka: RealKafka, tmp_path: Path, library: tuple[Make, Make], assignor: str
) -> None:
    """Who is replaced first has led; what it had goes on where it stopped."""
    ground = await lay_ground(kafka, PARTITIONS)
    theirs, drop_in = (partial(make, ground) for make in library)
    lists = ("cooperative-sticky", assignor)
    async with group_on(ground, tmp_path, assignors=lists) as group:
        async with rolling(group, theirs) as (rollout, counting):
            began = await rollout.quiet(counting)
            old = [each for each in rollout.here if each is not counting]
            await rollout.there_and_back(old, drop_in, theirs, assignor)
            ended = await rollout.quiet(counting)
        await rollout.judge(generations=ended - began, at_most=4 * ROUNDS)
    assert (await group.judged()).total.two_owners == 0
