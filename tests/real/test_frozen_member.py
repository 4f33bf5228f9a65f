"""A member's process is frozen past its session: on waking it hands out nothing it has lost."""

from pathlib import Path

import anyio
import pytest

from kgroup.journal import Delivered, OwnershipStep
from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind
from tests.real.child import Child, child
from tests.real.ground import eventually, lay_ground
from tests.real.members import group_on

pytestmark = pytest.mark.real

SESSION = 2.0
WORK = 0.02
"""Seconds the frozen member is busy with each record: longer than it takes to write another, so
that it is frozen in the middle of its work, with records in its buffers and the next one due."""
RUN = 5
"""Records it takes in one run, without a turn of its event loop: only the gate, asked at each
hand-out, can stop it in time."""


async def test_a_member_frozen_past_its_session_delivers_nothing_on_waking(
    kafka: RealKafka, tmp_path: Path, anyio_backend_name: str
) -> None:
    ground = await lay_ground(kafka, 6)
    log = tmp_path / "frozen.jsonl"
    async with group_on(ground, tmp_path, session_timeout=SESSION, max_poll_interval=5.0) as group:
        awake = await group.join("awake")
        await group.settled(6)
        options = {**group.options("frozen"), "work": WORK, "max_poll_records": RUN}
        async with child(ground.topic, log, anyio_backend_name, **options) as frozen:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ground.stream, WORK / 2)
                await eventually(lambda: delivered_from(frozen) == 3, "the child reads its half")
                frozen.freeze()
                await eventually(lambda: awake.owned == ground.all_partitions, "all has moved")
                before = len(frozen.entries())
                woken_at = frozen.wake()
                await eventually(
                    lambda: delivered_from(frozen, before) == 3, "the child is a member again"
                )
                tasks.cancel_scope.cancel()
            await frozen.close()
        await ground.stored()
        await group.all_read(frozen)
        await group.end()
    news = frozen.entries()[before:]
    woken = [entry.event for entry in news if entry.at >= woken_at]
    first = next(event for event in woken if isinstance(event, Delivered | OwnershipStep))
    assert isinstance(first, OwnershipStep), f"{first} before the child knew of its loss"
    assert first.kind is ChangeKind.LOST
    await group.verdict()


def delivered_from(member: Child, since: int = 0) -> int:
    """Count the partitions that were delivered from after so many entries of the log."""
    events = (entry.event for entry in member.entries()[since:])
    return len({event.claim.tp for event in events if isinstance(event, Delivered)})
