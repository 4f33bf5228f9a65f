"""Assignors written for aiokafka and kafka-python run groups of kgroup, and mixed groups.

They are given as their packages have them, as classes; kgroup wraps them. Each library is judged
as the leader, which divides, and as the follower, whose user data the other one reads.
"""

from pathlib import Path

import pytest

from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind
from tests.assignors.peers_packages import (
    AiokafkaRange,
    AiokafkaRobin,
    AiokafkaSticky,
    KafkaCooperative,
    KafkaRange,
    KafkaRobin,
    KafkaSticky,
    OfAiokafka,
    OfKafkaPython,
)
from tests.real.ground import lay_ground
from tests.real.members import group_on
from tests.real.peers import AiokafkaPeer, KafkaPythonPeer
from tests.real.sharing import PARTITIONS, share

pytestmark = pytest.mark.real

EVERY = (
    (AiokafkaRange, "asyncio"),
    (AiokafkaRobin, "trio"),
    (AiokafkaSticky, "trio"),
    (KafkaRange, "trio"),
    (KafkaRobin, "asyncio"),
    (KafkaSticky, "asyncio"),
)


@pytest.mark.parametrize(("assignor", "anyio_backend"), EVERY)
async def test_another_clients_assignor_divides_a_group_of_ours(
    kafka: RealKafka, tmp_path: Path, assignor: type[OfAiokafka | OfKafkaPython]
) -> None:
    """A member joins, one leaves: each time every partition has one owner, and all is read once."""
    ground = await lay_ground(kafka, PARTITIONS)
    async with group_on(ground, tmp_path, assignors=(assignor,)) as group:
        first, _ = await group.join("m1"), await group.join("m2")
        await group.settled(3, 3)
        before = first.owned
        await ground.fill(10)
        third = await group.join("m3")
        await group.settled(2, 2, 2)
        if assignor in (AiokafkaSticky, KafkaSticky):
            assert first.owned < before
        await ground.fill(10)
        await group.all_read()
        await group.leave(third)
        await group.settled(3, 3)
        await group.end()
    total = (await group.verdict()).total
    assert (total.lost, total.duplicated) == (0, 0)


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_kafka_pythons_cooperative_assignor_has_only_what_moves_revoked(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """It says so of itself (`supported_protocols`), and the two-phase rule is kept."""
    ground = await lay_ground(kafka, PARTITIONS)
    async with group_on(ground, tmp_path, assignors=(KafkaCooperative,)) as group:
        first = await group.join("m1")
        await group.settled(PARTITIONS)
        before = frozenset(first.consumer.membership.claims)
        second = await group.join("m2")
        await group.settled(3, 3)
        assert frozenset(first.consumer.membership.claims) < before
        assert first.heard(ChangeKind.REVOKED) == second.owned
        await ground.fill(10)
        await group.all_read()
        await group.leave(first)
        await group.settled(PARTITIONS)
        await group.end()
    total = (await group.verdict()).total
    assert (total.lost, total.duplicated, total.two_owners) == (0, 0, 0)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("leader", ["kgroup", "aiokafka"])
async def test_aiokafkas_sticky_assignor_is_shared_with_aiokafka(
    kafka: RealKafka, tmp_path: Path, leader: str
) -> None:
    ground = await lay_ground(kafka, PARTITIONS)
    async with group_on(ground, tmp_path, assignors=(AiokafkaSticky,)) as group:
        peer = AiokafkaPeer(ground, group.name, "sticky")
        await share(group, peer, "sticky", we_lead=leader == "kgroup")


@pytest.mark.parametrize(
    ("leader", "anyio_backend"), [("kgroup", "asyncio"), ("kafka-python", "trio")]
)
async def test_kafka_pythons_cooperative_assignor_is_shared_with_kafka_python(
    kafka: RealKafka, tmp_path: Path, leader: str
) -> None:
    ground = await lay_ground(kafka, PARTITIONS)
    async with group_on(ground, tmp_path, assignors=(KafkaCooperative,)) as group:
        peer = KafkaPythonPeer(ground, group.name, KafkaCooperative)
        await share(group, peer, KafkaCooperative.name, we_lead=leader == "kgroup")


@pytest.mark.parametrize(
    ("leader", "anyio_backend"), [("kgroup", "trio"), ("kafka-python", "asyncio")]
)
async def test_our_cooperative_assignor_gets_along_with_kafka_pythons(
    kafka: RealKafka, tmp_path: Path, leader: str
) -> None:
    """Each with its own `cooperative-sticky`: the leader's is what counts."""
    ground = await lay_ground(kafka, PARTITIONS)
    async with group_on(ground, tmp_path) as group:
        peer = KafkaPythonPeer(ground, group.name, KafkaCooperative)
        await share(group, peer, KafkaCooperative.name, we_lead=leader == "kgroup")
