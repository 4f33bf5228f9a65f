"""The leader of the coordination partition dies: no member owns what another has or hangs."""

from functools import partial
from pathlib import Path

import anyio
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind
from tests.real.claiming import ClaimLog, all_owned, claiming
from tests.real.ground import Ground, eventually, fresh, lay_ground
from tests.real.members import Group, Member, group_on

pytestmark = pytest.mark.real

STREAM = 0.05
PATIENCE = 40.0
OUTLIVES, RUNS_OUT = 30, 1
"""Heartbeat intervals, seconds: a lease that outlives an election, and one that does not."""


async def led_by(kafka: RealKafka, leader: int) -> ClaimLog:
    """Make a coordination topic with a leader of our choice, and a second replica elsewhere."""
    topic, follower = fresh("claims"), others(kafka, leader)[0]
    config = {"min.insync.replicas": "1", "message.timestamp.type": "LogAppendTime"}
    placed = NewTopic(topic, 1, replica_assignment=[[leader, follower]], config=config)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    await anyio.to_thread.run_sync(admin.create_topics([placed])[topic].result, PATIENCE)
    return ClaimLog(kafka, topic, append_time=True)


def others(kafka: RealKafka, leader: int) -> list[int]:
    return [node for node in kafka.nodes if node != leader]


async def apart_from(kafka: RealKafka, leader: int) -> Ground:
    """Make a topic that has nothing on that broker."""
    one, other = others(kafka, leader)
    return await lay_ground(kafka, 4, replicas=[[one, other], [other, one]] * 2)


@pytest.mark.parametrize(
    ("kafka_cluster_of_module", "anyio_backend"),
    [("4.3.1", "asyncio"), ("3.9.1", "trio")],
    indirect=["kafka_cluster_of_module"],
)
async def test_claims_survive_the_leader_of_their_log(
    kafka_cluster: RealKafka, tmp_path: Path
) -> None:
    """A lease that outlives the election costs nothing; one that does not is lost, and had anew.

    Two groups see the same broker die. While nobody can write into the log nobody can claim:
    between the end of a lease and the next claim nobody hands anything out.
    """
    victim = kafka_cluster.nodes[0]
    groups = [Bereft(kafka_cluster, victim, interval) for interval in (OUTLIVES, RUNS_OUT)]
    async with anyio.create_task_group() as tasks:
        for each in groups:
            tasks.start_soon(each.play, made(tmp_path / f"every-{each.interval}-s"))
        for each in groups:
            await each.is_at_work.wait()
        await anyio.to_thread.run_sync(kafka_cluster.kill, victim)
        for each in groups:
            each.is_killed.set()


class Bereft:
    """A group whose log of claims loses its leader.

    Args:
        kafka: the brokers.
        victim: leads the coordination partition, and nothing else of the group's.
        interval: between heartbeats.
    """

    def __init__(self, kafka: RealKafka, victim: int, interval: int) -> None:
        self.interval = interval
        self.is_at_work, self.is_killed = anyio.Event(), anyio.Event()
        self._kafka, self._victim = kafka, victim

    async def play(self, folder: Path) -> None:
        """Be at work, lose the leader, and be at work again."""
        ground = await apart_from(self._kafka, self._victim)
        log = await led_by(self._kafka, self._victim)
        options = claiming(log, marshal_heartbeat_interval=self.interval)
        async with group_on(ground, folder, **options) as group:
            async with anyio.create_task_group() as tasks:
                for name in ("m1", "m2"):
                    tasks.start_soon(partial(group.join, name, group_instance_id=name))
            await all_owned(group, timeout=PATIENCE)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ground.stream, STREAM)
                await group.all_read_more(timeout=PATIENCE)
                self.is_at_work.set()
                await self.is_killed.wait()
                await self._outlast(group)
                tasks.cancel_scope.cancel()
            await ground.stored()
            await group.all_read()
            members = list(group.members)
            assert [member.failure for member in members] == [None, None]
            assert bool(lost(members)) is (self.interval == RUNS_OUT)
            await group.end()
        total = (await group.verdict()).total
        assert (total.lost, total.two_owners, total.not_owned) == (0, 0, 0)
        assert total.duplicated == 0 or self.interval == RUNS_OUT

    async def _outlast(self, group: Group) -> None:
        if self.interval == RUNS_OUT:
            await eventually(lambda: lost(group.members), "leases run out", timeout=PATIENCE)
        await all_claim_or_keep(group)
        await group.all_read_more(timeout=PATIENCE)


def made(folder: Path) -> Path:
    """Make a folder."""
    folder.mkdir()
    return folder


def lost(members: list[Member]) -> list[ChangeKind]:
    return [kind for member in members for kind in member.took(ChangeKind.LOST)]


async def all_claim_or_keep(group: Group) -> None:
    """Wait until commits are read back again, under whatever claims."""
    await all_owned(group, timeout=PATIENCE)
    with anyio.fail_after(PATIENCE):
        for member in group.members:
            while not (await member.consumer.commit()).ok:  # noqa: ASYNC110 - as it may
                await anyio.sleep(0.1)
