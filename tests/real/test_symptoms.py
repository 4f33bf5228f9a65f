"""What users of other clients suffer from, tried on a real Kafka: reading, handing over, resetting.

Each test names the report and the requirement it checks. The member's own are in
`test_symptoms_member`.
"""

from collections import defaultdict
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup import Batch, Consumer, MemberState, OffsetAndMetadata
from kgroup.testing.kafka import RealKafka
from kgroup.types import TopicPartition
from tests.real.ground import committed, coordinator_of, eventually, fresh, lay_ground
from tests.real.members import Member, group_on

pytestmark = pytest.mark.real


def _in_a_round(member: Member) -> bool:
    membership = member.consumer.membership
    return membership.state is MemberState.JOINING or membership.rebalances > 0


class OneBatch:
    """Work of a member that keeps its first batch of each partition until asked, and commits it."""

    def __init__(self) -> None:
        self.batch: Batch[bytes | None, bytes | None] | None = None
        self.go = anyio.Event()
        self.committed = anyio.Event()

    async def work(self, member: Member) -> None:
        async for batch in member.consumer.batches():
            member.take(batch)
            if self.batch is not None:
                continue
            self.batch = batch
            await self.go.wait()
            assert member.consumer.owns(batch.partition)
            end = OffsetAndMetadata(batch.next_offset)
            assert (await member.consumer.commit({batch.partition: end})).ok
            batch.done()
            self.committed.set()


@pytest.mark.parametrize("kafka", ["4.3.1", "3.9.1"], indirect=True)
@pytest.mark.parametrize("assignor", ["cooperative-sticky", "range"])
async def test_a_commit_after_a_batch_succeeds_although_a_round_began_meanwhile(
    kafka: RealKafka, tmp_path: Path, assignor: str
) -> None:
    """Symptom: aiokafka issue 929 (933; franz-go 587, 924): the commit after a batch fails.

    Requirement: no partition is given up while its batch is in hand, within the rebalance
    timeout; the commit for it succeeds.
    """
    ground = await lay_ground(kafka, 1)
    await ground.fill(10)
    options: dict[str, Any] = {
        "assignors": (assignor,),
        "max_poll_interval": 20.0,
        "enable_auto_commit": False,
    }
    async with group_on(ground, tmp_path, **options) as group:
        claim_log = OneBatch()
        first = await group.join("m1", claim_log.work)
        await eventually(lambda: claim_log.batch is not None, "a batch is in hand")
        before = first.consumer.rebalances
        second = await group.join("m2")
        await eventually(lambda: _in_a_round(second), "m2 asks to join")
        await anyio.sleep(1.0)
        claim_log.go.set()
        with anyio.fail_after(10):
            await claim_log.committed.wait()
        await group.settled(0, 1)
        assert first.consumer.rebalances > before
        assert (await anyio.to_thread.run_sync(committed, kafka, group.name))[0] >= 10
        await group.all_read()
        await group.end()
    assert (await group.verdict()).total.duplicated == 0


async def test_two_sticky_groups_in_one_process_do_not_disturb_each_other(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """Symptom: aiokafka issue 1175: sticky state on the class is shared by two groups.

    Requirement: their assignments are independent; churn in one moves nothing in the other.
    """
    quiet_ground, busy_ground = await lay_ground(kafka, 6), await lay_ground(kafka, 6)
    folders = tmp_path / "quiet", tmp_path / "busy"
    for folder in folders:
        folder.mkdir()
    async with (
        group_on(quiet_ground, folders[0], assignors=("sticky",)) as quiet,
        group_on(busy_ground, folders[1], assignors=("sticky",)) as busy,
    ):
        members = [await quiet.join("q1"), await quiet.join("q2")]
        await quiet.settled(3, 3)
        held = [member.owned for member in members]
        rounds = [member.consumer.rebalances for member in members]
        stays = await busy.join("b1")
        for label in ("b2", "b3", "b4"):
            passing = await busy.join(label)
            await busy.settled(3, 3)
            kept = stays.owned
            await busy.leave(passing)
            await busy.settled(6)
            assert kept <= stays.owned
        assert [member.owned for member in members] == held
        assert [member.consumer.rebalances for member in members] == rounds


@pytest.mark.faults
async def test_records_written_while_no_coordinator_answers_are_not_skipped(
    kafka_cluster: RealKafka,
) -> None:
    """Symptom: platformatic/kafka issue 267: a failed OffsetFetch fell through to "latest".

    Requirement: the reset policy acts only on a successful "no committed offset".
    """
    group = fresh("group")
    victim = await anyio.to_thread.run_sync(coordinator_of, kafka_cluster, group)
    other = next(node for node in kafka_cluster.nodes if node != victim)
    ground = await lay_ground(kafka_cluster, 1, replicas=[[other]])
    await ground.fill(10)
    options: dict[str, Any] = {
        "bootstrap_servers": kafka_cluster.bootstrap,
        "group_id": group,
        "auto_offset_reset": "latest",
        "retry_backoff": 0.05,
    }
    tp = ground.tp(0)
    async with Consumer(**options, enable_auto_commit=False) as before:
        before.assign([tp])
        await before.commit({tp: 4})
    await anyio.to_thread.run_sync(kafka_cluster.kill, victim)
    async with Consumer(**options) as consumer:
        consumer.assign([tp])
        record = await consumer.getone(timeout=30)
    assert record.offset == 4


@pytest.mark.faults
async def test_a_slow_consumer_holds_up_nobody_and_reads_everything(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """Scenario of the 0.9 design: slow consumer.

    Requirement: while it works within max_poll_interval it stays a member, whatever the session
    timeout; its backlog is bounded and no other member waits for it.
    """
    ground = await lay_ground(kafka, 2)
    await ground.fill(200)
    async with group_on(ground, tmp_path, max_poll_records=20, max_poll_interval=30.0) as group:
        slow = await group.join("slow", _slowly)
        quick = await group.join("quick")
        await group.settled(1, 1)
        rounds = slow.consumer.rebalances
        mine = next(iter(quick.owned))
        await eventually(lambda: _count(quick)[mine] == 200, "the quick one is through", timeout=10)
        behind = next(iter(slow.owned))
        assert _count(slow)[behind] < 200
        await ground.fill(50, partitions=[mine.partition])
        await eventually(lambda: _count(quick)[mine] == 250, "and goes on", timeout=10)
        await group.all_read()
        assert slow.consumer.rebalances == rounds
        # What it has in hand when it closes would be read again by the members that are left.
        await group.leave(quick)
        await group.end()
    assert (await group.verdict()).total.duplicated == 0


async def _slowly(member: Member) -> None:
    async for batch in member.consumer.batches():
        member.take(batch)
        await anyio.sleep(0.7)


def _count(member: Member) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = defaultdict(int)
    for read in member.reads:
        found[read.tp] += 1
    return found
