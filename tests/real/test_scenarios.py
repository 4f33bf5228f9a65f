"""Scenarios of the group protocol on real brokers: commits, heartbeats and ids in rounds."""

from pathlib import Path

import anyio
import pytest

from kgroup.journal import JoinIssued, MemorySink
from kgroup.testing.kafka import RealKafka
from kgroup.types import MemberState, OffsetAndMetadata
from tests.real.ground import committed, eventually, lay_ground
from tests.real.members import BOTH, ENDING, group_on
from tests.real.straggler import Straggler

pytestmark = [pytest.mark.real, pytest.mark.faults]


@BOTH
async def test_a_commit_is_taken_before_the_barrier_and_behind_it_in_the_next_generation(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """Offset commits and heartbeats during a rebalance: both go on while others are waited for;
    between the join and the sync a commit waits, and goes out in the new generation."""
    ground = await lay_ground(kafka, 1)
    async with (
        group_on(ground, tmp_path, enable_auto_commit=False, max_poll_interval=15.0) as group,
        Straggler(kafka, group.name) as straggler,
    ):
        member = await group.join("m1")
        await group.settled(1)
        await straggler.take_part()
        await eventually(lambda: member.is_in(MemberState.STABLE), "the round is over")
        await group.steady()
        generation = member.generation_id
        member.consumer.enforce_rebalance("a round that the straggler holds up")
        await eventually(lambda: member.is_in(MemberState.JOINING), "it waits in the round")
        assert (await member.consumer.commit({ground.tp(0): OffsetAndMetadata(5)})).ok
        stored = await anyio.to_thread.run_sync(committed, kafka, group.name)
        assert (stored[0], member.generation_id) == (5, generation)
        await anyio.sleep(7.0)
        assert member.is_in(MemberState.JOINING), "heartbeats have kept it beyond its session"
        assert member.owned == ground.all_partitions
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(straggler.join)
            assert (await member.consumer.commit({ground.tp(0): OffsetAndMetadata(6)})).ok
            await eventually(lambda: member.generation_id != generation, "the round is over")
        await straggler.sync()
        await eventually(lambda: member.is_in(MemberState.STABLE), "the new generation stands")
        assert (await member.consumer.commit({ground.tp(0): OffsetAndMetadata(7)})).ok
        stored = await anyio.to_thread.run_sync(committed, kafka, group.name)
        assert stored[0] == 7
        assert member.took(*ENDING) == []


@BOTH
async def test_a_member_id_is_assigned_once(kafka: RealKafka, tmp_path: Path) -> None:
    """KIP-394: an empty id is answered with one, under which the member joins and stays."""
    ground = await lay_ground(kafka, 1)
    sink = MemorySink()
    async with group_on(ground, tmp_path) as group:
        member = await group.join("m1", journal=sink)
        await group.settled(1)
        for _ in range(2):
            before = member.consumer.rebalances
            member.consumer.enforce_rebalance("the test wants a round")
            await eventually(lambda: member.consumer.rebalances > before, "a round")  # noqa: B023
        ids = [event.member_id for event in sink.events if isinstance(event, JoinIssued)]
        assert ids == [None, *[member.member_id] * 3]
        assert ids[-1] is not None
        assert ids[-1].startswith("m1-")
