"""A broker that stands still for six seconds under a bare `commit()` in a KIP-848 group.

A frozen broker takes connections and answers nothing, so a member cannot tell it from a slow one.
With a session that is longer nobody may notice; with a shorter one the lease ends first, and what
lies in the buffer must stay there.
"""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from kgroup.errors import CommitFailedError
from kgroup.testing.kafka import RealKafka
from kgroup.testing.kafka.local import LocalKafka, start_local
from kgroup.testing.kafka.supply import find_program
from kgroup.types import ChangeKind, CommitStatus
from tests.real.consumer_groups import CONSUMER, shared, tune
from tests.real.ground import committed, eventually, lay_ground
from tests.real.members import SLACK, Member, group_on

pytestmark = [pytest.mark.real, pytest.mark.faults]

VERSION = "4.3.1"
FROZEN = 6.0
DEPTH = 300
"""Records that lie in each partition: more than a member takes while the broker stands still."""


@pytest.fixture(scope="module")
def own_broker() -> Iterator[LocalKafka]:
    """Start a broker of its own, since nobody else could read while it is frozen."""
    kafka = start_local(find_program(VERSION), VERSION, 1)
    try:
        yield kafka
    finally:
        kafka.close()


async def frozen(kafka: LocalKafka) -> tuple[float, float]:
    """Have the broker stand still; return when that began and ended."""
    for pid in kafka.pids.values():
        os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    try:
        await anyio.sleep(FROZEN)
    finally:
        over = time.monotonic()
        for pid in kafka.pids.values():
            os.kill(pid, signal.SIGCONT)
    return began, over


class Committing:
    """Work of a member that takes record after record, and commits bare in a task beside."""

    def __init__(self) -> None:
        self.fates: list[tuple[float, float, frozenset[CommitStatus]]] = []

    async def read(self, member: Member) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._commit, member)
            async for batch in member.consumer.batches():
                member.take(batch)
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()

    async def _commit(self, member: Member) -> None:
        while True:
            began = time.monotonic()
            try:
                outcome = await member.consumer.commit()
            except CommitFailedError as error:
                outcome = error.outcome
            statuses = frozenset(each.status for each in outcome.partitions.values())
            self.fates.append((began, time.monotonic(), statuses))
            await anyio.sleep(0.05)

    def committed_some(self) -> bool:
        """Tell whether anything was there to commit, and was committed."""
        return any(CommitStatus.COMMITTED in statuses for _, _, statuses in self.fates)

    def across(self, began: float) -> frozenset[CommitStatus]:
        """Return the fate of the commit that was under way when the broker stopped."""
        return next(statuses for _, ended, statuses in self.fates if ended > began + SLACK)


@pytest.mark.parametrize(
    ("session", "ends", "anyio_backend"),
    [
        pytest.param(30.0, False, "asyncio", id="within"),
        pytest.param(4.0, True, "trio", id="beyond"),
    ],
)
async def test_a_broker_that_stands_still_under_a_bare_commit_loses_nothing_and_tells_its_fate(
    own_broker: LocalKafka, tmp_path: Path, session: float, ends: bool
) -> None:
    ground = await lay_ground(RealKafka(own_broker), 4)
    await ground.fill(DEPTH)
    work = Committing()
    options = {**CONSUMER, "enable_auto_commit": False, "max_poll_records": 1}
    async with group_on(ground, tmp_path, **options) as group:
        tune(ground.kafka, group.name, session=session)
        one = await group.join("one", work.read)
        await shared(group, 4)
        await eventually(lambda: len(one.reads) > 40 and work.committed_some(), "one commits")
        began, over = await frozen(own_broker)
        told = await eventually(lambda: work.fates[-1][0] > over, "commits go on", timeout=40.0)
        assert told < 30.0
        meanwhile = [read.at for read in one.reads if began < read.at < over]
        assert meanwhile, "the buffer is read on within the lease"
        if ends:
            assert max(meanwhile) < began + session + SLACK
        # After a longer session the coordinator may still take it before it looks at its clock.
        statuses = work.across(began)
        assert statuses
        assert ends or statuses == {CommitStatus.COMMITTED}
        await group.all_read()
        everything = ground.sent
        await eventually(lambda: committed(ground.kafka, group.name) == everything, "all is stored")
        assert bool(one.took(ChangeKind.LOST)) is ends
    assert (await group.verdict()).total.lost == 0
