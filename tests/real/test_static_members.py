"""Static members on a real broker (KIP-345): a restart nobody notices, and a twin that fences."""

from pathlib import Path

import anyio
import pytest

from kgroup.audit import ProblemKind
from kgroup.errors import FencedError
from kgroup.testing.kafka import RealKafka
from tests.real.ground import eventually, lay_ground
from tests.real.members import group_on

pytestmark = pytest.mark.real


@pytest.mark.parametrize("restarted", ["leader", "follower"])
async def test_a_restart_within_the_session_is_not_noticed(
    kafka: RealKafka, tmp_path: Path, restarted: str
) -> None:
    ground = await lay_ground(kafka, 6)
    await ground.fill(10)
    async with group_on(ground, tmp_path) as group:
        leader = await group.join("leader", group_instance_id="one")
        await group.settled(6)
        follower = await group.join("follower", group_instance_id="two")
        await group.settled(3, 3)
        await group.all_read()
        ending, staying = (leader, follower) if restarted == "leader" else (follower, leader)
        instance = "one" if ending is leader else "two"
        held, generation, told = ending.owned, staying.generation_id, len(staying.changes)
        await group.leave(ending)
        await ground.fill(10)
        back = await group.join("again", group_instance_id=instance)
        await group.settled(3, 3)
        await group.all_read(ending)
        assert back.owned == held
        assert staying.generation_id == back.generation_id == generation
        assert len(staying.changes) == told
        await group.end()
    assert (await group.verdict()).total.duplicated == 0


async def test_the_older_of_two_twins_is_fenced_and_reads_nothing_more(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 4)
    async with group_on(ground, tmp_path) as group:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ground.stream)
            older = await group.join("older", group_instance_id="one")
            other = await group.join("other", group_instance_id="two")
            await group.settled(2, 2)
            told = len(other.changes)
            younger = await group.join("younger", group_instance_id="one")
            ended = older.finished.is_set
            took = await eventually(ended, "the older one ends", timeout=5)
            assert isinstance(older.failure, FencedError), older.failure
            assert took < 2.0, f"heard of it after {took:.2f} s, heartbeats come every 0.3 s"
            last = len(older.reads)
            await group.leave(older)
            await group.settled(2, 2)
            before = len(younger.reads)
            await eventually(lambda: len(younger.reads) > before + 20, "the younger one reads on")
            assert len(older.reads) == last
            assert len(other.changes) == told
            tasks.cancel_scope.cancel()
        await ground.stored()
        await group.all_read(older)
        await group.end()
    # Until its next heartbeat the older twin cannot know, so both owned the same for that long:
    # the audit says so, and finds nothing else.
    verdict = await group.judged()
    assert {problem.kind for problem in verdict.problems} <= {ProblemKind.TWO_OWNERS}
    assert verdict.total.lost == 0
