"""Members of librdkafka and of Java are replaced by kgroup's own, one by one, and back again.

The group goes on: nobody is refused, nothing is lost, and no partition waits for longer than one
rebalance. All of it is cooperative (KIP-429), so a change takes two rounds at most: one in which
what moves is given up, one in which it is given away.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind
from tests.real.ground import Ground, lay_ground
from tests.real.java_peer import JavaPeer
from tests.real.members import Member, group_on
from tests.real.peers import ConfluentPeer, Peer
from tests.real.rolling import PARTITIONS, rolling

pytestmark = [pytest.mark.real, pytest.mark.faults]

COOPERATIVE = "cooperative-sticky"
ROUNDS = 4
"""Of one replacement: two when the old one leaves, two when the new one joins."""


def confluent(ground: Ground, group: str) -> Peer:
    return ConfluentPeer(ground, group, COOPERATIVE)


def java(ground: Ground, group: str) -> Peer:
    return JavaPeer(ground, group, COOPERATIVE)


@pytest.mark.parametrize(
    ("library", "replaced", "anyio_backend"),
    [
        pytest.param(confluent, 2, "asyncio", id="confluent-kafka"),
        pytest.param(java, 1, "trio", id="Java"),  # the other one stays, and was the second
    ],
)
async def test_members_are_replaced_by_ours_and_back(
    kafka: RealKafka, tmp_path: Path, library: Callable[[Ground, str], Peer], replaced: int
) -> None:
    """Who is replaced first has led; what it had goes on where it stopped."""
    ground = await lay_ground(kafka, PARTITIONS)
    make = partial(library, ground)
    async with group_on(ground, tmp_path, assignors=(COOPERATIVE,)) as group:
        async with rolling(group, make) as (rollout, counting):
            began = await rollout.quiet(counting)
            old = rollout.here[:replaced]
            came = await rollout.there_and_back(old, None, make, COOPERATIVE)
            ended = await rollout.quiet(counting)
        await rollout.judge(generations=ended - began, at_most=2 * replaced * ROUNDS)
        ours = [each for each in (*came, counting) if isinstance(each, Member)]
        assert [each.took(ChangeKind.LOST) for each in ours] == [[]] * (replaced + 1)
        assert no_refusal(rollout.everybody)
    assert (await group.judged()).total.two_owners == 0


def no_refusal(everybody: list[Peer | Member]) -> bool:
    """Tell whether no Java client was refused; the others raise."""
    said = (line for each in everybody if isinstance(each, JavaPeer) for line in each.said)
    return not any("InconsistentGroupProtocol" in line for line in said)
