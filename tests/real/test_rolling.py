"""Members of aiokafka and kafka-python are replaced by their drop-ins, one by one, and back again.

The group goes on: nobody is refused, nothing is lost, and no partition waits for longer than one
rebalance. What goes and what comes list the same assignor, and so does the member of kgroup's own,
where there is one: it counts the rounds. In other tests originals and drop-ins are alone, up to a
group of drop-ins only. Eager members take one round for a change, cooperative ones take two
(KIP-429).
"""

from collections.abc import Callable
from functools import partial
from itertools import cycle
from pathlib import Path

import pytest

from kgroup.compat.aiokafka import AIOKafkaConsumer
from kgroup.compat.kafka_python import KafkaConsumer
from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind, TopicPartition
from tests.assignors.peers_packages import KafkaCooperative, KafkaRange
from tests.real.ground import Ground, lay_ground
from tests.real.java_peer import JavaPeer
from tests.real.members import Member, group_on
from tests.real.peers import AiokafkaPeer, ConfluentPeer, KafkaPythonPeer, Peer
from tests.real.rolling import PARTITIONS, Gaps, among_themselves, rolling

COOPERATIVE = "cooperative-sticky"

Make = Callable[[Ground, str], Peer]


def aiokafka(assignor: str) -> tuple[Make, Make]:
    """Return what makes a member of aiokafka, and what makes one of its drop-in."""
    return (
        lambda ground, group: AiokafkaPeer(ground, group, assignor),
        lambda ground, group: AiokafkaPeer(ground, group, assignor, AIOKafkaConsumer),
    )


def kafka_python(assignor: type) -> tuple[Make, Make]:
    """Return what makes a member of kafka-python, and what makes one of its drop-in."""
    return (
        lambda ground, group: KafkaPythonPeer(ground, group, assignor),
        lambda ground, group: KafkaPythonPeer(ground, group, assignor, KafkaConsumer),
    )


EACH_LIBRARY = pytest.mark.parametrize(
    ("library", "assignor"),
    [
        pytest.param(aiokafka("roundrobin"), "roundrobin", id="aiokafka"),
        pytest.param(aiokafka("sticky"), "sticky", id="aiokafka-sticky"),
        pytest.param(kafka_python(KafkaRange), "range", id="kafka-python"),
        pytest.param(kafka_python(KafkaCooperative), COOPERATIVE, id="kafka-python-cooperative"),
    ],
)


@pytest.mark.real
@pytest.mark.faults
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@EACH_LIBRARY
async def test_members_are_replaced_by_the_drop_in_and_back(
    kafka: RealKafka, tmp_path: Path, library: tuple[Make, Make], assignor: str
) -> None:
    """The member that is replaced first has led; what it had goes on where it stopped.

    Each of the four replacements is a change when the old one leaves, and one when the new one
    joins; both may come in one round.
    """
    ground = await lay_ground(kafka, PARTITIONS)
    theirs, drop_in = (partial(make, ground) for make in library)
    rounds = 2 if assignor == COOPERATIVE else 1
    async with group_on(ground, tmp_path, assignors=(assignor,)) as group:
        async with rolling(group, theirs) as (rollout, counting):
            began = await rollout.quiet(counting)
            old = [each for each in rollout.here if each is not counting]
            await rollout.there_and_back(old, drop_in, theirs, assignor)
            ended = await rollout.quiet(counting)
        await rollout.judge(generations=ended - began, at_most=4 * 2 * rounds)
    assert (await group.judged()).total.two_owners == 0


@pytest.mark.real
@pytest.mark.faults
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@EACH_LIBRARY
async def test_originals_and_drop_ins_are_enough_for_themselves_there_and_back(
    kafka: RealKafka, tmp_path: Path, library: tuple[Make, Make], assignor: str
) -> None:
    """No other is in the group: every round is led by an original or by a drop-in.

    All three are replaced, so that in the middle there are drop-ins only.
    """
    ground = await lay_ground(kafka, PARTITIONS)
    theirs, drop_in = (partial(make, ground) for make in library)
    rounds = 2 if assignor == COOPERATIVE else 1
    async with group_on(ground, tmp_path) as group:
        async with among_themselves(group, theirs, size=3) as rollout:
            await rollout.there_and_back(tuple(rollout.here), drop_in, theirs, assignor)
        assert len(rollout.everybody) == 9
        await rollout.judge(at_most=6 * 2 * rounds)


@pytest.mark.real
@pytest.mark.faults
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_static_members_are_replaced_by_the_drop_in_and_back_without_a_round(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """KIP-345: a member with the same group_instance_id takes over what the one before had."""
    ground = await lay_ground(kafka, PARTITIONS)
    names = cycle(("till-1", "till-2"))  # the one that has been away longest comes

    def theirs(group: str) -> Peer:
        return AiokafkaPeer(ground, group, "roundrobin", instance_id=next(names))

    def drop_in(group: str) -> Peer:
        return AiokafkaPeer(ground, group, "roundrobin", AIOKafkaConsumer, next(names))

    async with group_on(ground, tmp_path, assignors=("roundrobin",)) as group:
        async with rolling(group, theirs, static=True) as (rollout, counting):
            began = await rollout.quiet(counting)
            old = [each for each in rollout.here if each is not counting]
            await rollout.there_and_back(old, drop_in, theirs, "roundrobin")
            assert await rollout.quiet(counting) == began
        await rollout.judge(generations=0, at_most=0, absences=2)


# -- rolling native -------------------------------------------------------------------------------
#
# Members of librdkafka and of Java are replaced by kgroup's own, one by one, and back again.
#
# The group goes on: no member is refused, nothing is lost, and no partition waits for longer than
# one rebalance. All of it is cooperative (KIP-429), so a change takes two rounds at most: one in
# which what moves is given up, one in which it is given away.


ROUNDS = 4
"""Of one replacement: two when the old one leaves, two when the new one joins."""


def confluent(ground: Ground, group: str) -> Peer:
    return ConfluentPeer(ground, group, COOPERATIVE)


def java(ground: Ground, group: str) -> Peer:
    return JavaPeer(ground, group, COOPERATIVE)


@pytest.mark.real
@pytest.mark.faults
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
    """The member that is replaced first has led; what it had goes on where it stopped."""
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


# -- gaps ---------------------------------------------------------------------------------------
#
# What a replacement costs is counted to its end: a gap counts though nothing came after it.


A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def test_a_gap_that_is_over_counts_from_its_beginning() -> None:
    gaps = Gaps()
    for now in (1.0, 1.5):
        gaps.gone(A, now)
    gaps.back(A, 3.0)
    gaps.back(B, 9.0)
    assert (gaps.longest, gaps.count) == (2.0, {A: 1})


def test_what_is_away_when_nobody_looks_any_more_counts_up_to_then() -> None:
    gaps = Gaps()
    gaps.gone(A, 1.0)
    gaps.back(A, 2.0)
    gaps.gone(A, 10.0)
    gaps.gone(B, 12.0)
    gaps.end(15.0)
    assert (gaps.longest, gaps.since) == (5.0, {})
    assert gaps.most == 2
