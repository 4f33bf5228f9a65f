"""Auto-commit: when it ends, and which failures are logged."""

import logging
from functools import partial

import anyio
import pytest

from kgroup.consumer.reads.batch import Batch
from kgroup.errors import GroupError
from kgroup.types import CommitStatus, TopicPartition
from tests.consumer.entered import A, B, Stage, entered
from tests.consumer.refused import refused_in_the_middle
from tests.consumer.shelf import full

pytestmark = pytest.mark.anyio


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]


async def with_something_done(stage: Stage) -> None:
    """Have records of two partitions done, and not committed yet."""
    await stage.give(A, B)
    for batch in (await stage.consumer.getmany(timeout=1)).values():
        batch.done()


async def test_auto_commit_ends_with_a_fatal_failure() -> None:
    async with entered(full(), auto_commit_interval=1.0) as stage:
        await with_something_done(stage)
        stage.group.commit_status = CommitStatus.REFUSED
        await anyio.sleep(1.5)
        stage.group.fail(GroupError("the test ends it"))
        await anyio.sleep(0.1)
        before = len(stage.group.commits)
        await anyio.sleep(10)
        assert (before > 0, len(stage.group.commits)) == (True, before)


async def test_a_commit_that_a_fatal_failure_overtakes_is_not_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with entered(full(), auto_commit_interval=1.0) as stage:
        await with_something_done(stage)
        stage.group.commit_status, stage.group.commit_seconds = CommitStatus.REFUSED, 2.0
        await anyio.sleep(1.5)
        stage.group.fail(GroupError("the test ends it"))
        await anyio.sleep(10)
    assert warnings(caplog) == []


async def test_refused_credentials_are_not_repeated_by_auto_commit_warnings(
    caplog: pytest.LogCaptureFixture,
) -> None:
    await refused_in_the_middle()
    assert warnings(caplog) == []


async def test_partitions_lost_under_a_commit_are_not_warned_of_as_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with entered(full(), auto_commit_interval=1.0) as stage:
        await with_something_done(stage)
        stage.group.commit_seconds = 2.0
        await anyio.sleep(1.5)
        stage.group.lose()
        await anyio.sleep(10)
        assert stage.group.commits[-1] == {}
    assert warnings(caplog) == []


async def test_a_refused_auto_commit_of_an_owned_partition_is_warned_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with entered(full(), auto_commit_interval=1.0) as stage:
        await with_something_done(stage)
        stage.group.commit_status = CommitStatus.REFUSED
        await anyio.sleep(10)
        (line,) = warnings(caplog)
        assert line.startswith("auto-commit partitions=t-0, t-1 refused")
        stage.group.commit_status = CommitStatus.COMMITTED


@pytest.mark.parametrize(("commit", "stored"), [(True, {A: 50, B: 50}), (False, {})])
async def test_closing_commits_done_records_unless_commit_is_false(
    commit: bool, stored: dict[TopicPartition, int]
) -> None:
    async with entered(full()) as stage:
        await with_something_done(stage)
        await stage.consumer.close(commit=commit)
    assert stage.group.offsets == stored


async def test_a_consumer_that_closes_without_a_commit_commits_nothing_while_it_waits() -> None:
    """A batch in hand is waited for, and auto-commit comes round several times meanwhile."""
    async with entered(full(), auto_commit_interval=0.2) as stage:
        await stage.give(A, B)
        found = await stage.consumer.getmany(timeout=1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_hold, found[B])
            tasks.start_soon(partial(stage.consumer.close, commit=False))
            await anyio.sleep(0.1)
            found[A].done()
    assert set(stage.group.offsets.values()) <= {0}  # where reading began


async def _hold(batch: Batch[bytes | None, bytes | None]) -> None:
    async with batch:
        await anyio.sleep(1)
