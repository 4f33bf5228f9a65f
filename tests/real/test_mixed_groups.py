"""Groups of members of different libraries: each partition has one owner, and everybody reads.

Who comes first leads: it computes everybody's assignment, so each library is judged in both roles.
"""

from pathlib import Path

import anyio
import pytest

from kgroup.testing.kafka import RealKafka
from tests.real.ground import Ground, committed, describe, eventually, lay_ground
from tests.real.members import Group, Member, group_on
from tests.real.peers import AiokafkaPeer, ConfluentPeer, Peer

pytestmark = pytest.mark.real

PARTITIONS = 6
WAVE = 20
COOPERATIVE = "cooperative-sticky"


async def share(group: Group, peer: Peer, assignor: str, *, we_lead: bool) -> None:
    """Have both read a topic, then end the peer, and judge what each did."""
    ground = group.ground
    await ground.fill(WAVE)
    async with anyio.create_task_group() as tasks:
        if not we_lead:
            await tasks.start(peer.run)
            await eventually(lambda: len(peer.owned) == PARTITIONS, "the peer owns all")
        ours = await group.join("ours")
        if we_lead:
            await group.settled(PARTITIONS)
            await tasks.start(peer.run)
        await eventually(lambda: shared(ground, ours, peer), "each owns its half")
        assert ours.consumer.membership.leader is we_lead
        await read_by_both(ground, ours, peer)
        await anyio.to_thread.run_sync(check_description, group, assignor)
        peer.stop()
    await group.settled(PARTITIONS)
    await ground.fill(WAVE)
    await eventually(
        lambda: {*ours.seen, *peer.seen} == ground.expected(), "all is read by whom is left"
    )
    await group.end()
    found = await anyio.to_thread.run_sync(committed, ground.kafka, group.name)
    assert found == ground.sent


def shared(ground: Ground, ours: Member, peer: Peer) -> bool:
    """Tell whether every partition is owned once, and each has half of them."""
    return (
        ours.owned | peer.owned == ground.all_partitions
        and len(ours.owned) == len(peer.owned) == PARTITIONS // 2
    )


async def read_by_both(ground: Ground, ours: Member, peer: Peer) -> None:
    """Write a wave and wait until it is read: each place by the one who owns it."""
    before = ground.expected()
    await ground.fill(WAVE)
    await eventually(lambda: {*ours.seen, *peer.seen} == ground.expected(), "all is read")
    for member in (ours, peer):
        news = [place for place in member.seen if place not in before]
        assert {tp for tp, _ in news} == member.owned
        assert len(news) == len(set(news)) == WAVE * len(member.owned)


def check_description(group: Group, assignor: str) -> None:
    """Hear the coordinator's own word on it."""
    described = describe(group.ground.kafka, group.name)
    assert (described.group_state, described.protocol_data) == ("Stable", assignor)
    assert len(described.members) == 2


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
