"""Groups of members of different libraries: each partition has one owner, and everybody reads.

The first member leads: it computes everybody's assignment, so each library is judged in both roles.
"""

from pathlib import Path

import pytest

from kgroup.testing.kafka import RealKafka
from tests.real.ground import lay_ground
from tests.real.java_peer import JavaPeer
from tests.real.members import group_on
from tests.real.peers import AiokafkaPeer, ConfluentPeer
from tests.real.sharing import PARTITIONS, share

pytestmark = pytest.mark.real

COOPERATIVE = "cooperative-sticky"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("assignor", ["range", "roundrobin"])
@pytest.mark.parametrize("leader", ["kgroup", "aiokafka"])
async def test_aiokafka_and_kgroup_share_a_topic(
    kafka: RealKafka, tmp_path: Path, assignor: str, leader: str
) -> None:
    ground = await lay_ground(kafka, PARTITIONS)
    async with group_on(ground, tmp_path, assignors=(assignor,)) as group:
        peer = AiokafkaPeer(ground, group.name, assignor)
        await share(group, peer, assignor, we_lead=leader == "kgroup")


@pytest.mark.parametrize("leader", ["kgroup", "confluent-kafka"])
async def test_confluent_kafka_and_kgroup_share_a_topic(
    kafka: RealKafka, tmp_path: Path, leader: str
) -> None:
    ground = await lay_ground(kafka, PARTITIONS)
    async with group_on(ground, tmp_path, assignors=(COOPERATIVE,)) as group:
        peer = ConfluentPeer(ground, group.name, COOPERATIVE)
        await share(group, peer, COOPERATIVE, we_lead=leader == "kgroup")


@pytest.mark.parametrize(
    ("assignor", "leader", "anyio_backend"),
    [
        ("cooperative-sticky", "kgroup", "asyncio"),
        ("cooperative-sticky", "Java", "trio"),
        ("sticky", "kgroup", "trio"),
        ("sticky", "Java", "asyncio"),
    ],
)
async def test_a_java_client_and_two_of_ours_share_a_topic(
    kafka: RealKafka, tmp_path: Path, assignor: str, leader: str
) -> None:
    """The sticky ones look at what each member says it had: both read each other's bytes."""
    ground = await lay_ground(kafka, PARTITIONS)
    async with group_on(ground, tmp_path, assignors=(assignor,)) as group:
        peer = JavaPeer(ground, group.name, assignor)
        await share(group, peer, assignor, we_lead=leader == "kgroup", count=2)
    assert _troubles(peer) == []


def _troubles(peer: JavaPeer) -> list[str]:
    """What Java complains of; that a round began amid its SyncGroup is news to it, with the name of
    an exception."""
    grave = [line for line in peer.said if " INFO " not in line]
    return [line for line in grave if "ERROR" in line or "Exception" in line]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_java_client_changes_over_with_ours(kafka: RealKafka, tmp_path: Path) -> None:
    """KIP-429, in the middle of the second restart: Java still lists both and is eager, ours are
    cooperative already; Java leads, and no member owns what another one does."""
    ground = await lay_ground(kafka, PARTITIONS)
    async with group_on(ground, tmp_path, assignors=(COOPERATIVE,)) as group:
        peer = JavaPeer(ground, group.name, COOPERATIVE, "range")
        await share(group, peer, COOPERATIVE, we_lead=False, count=2)
