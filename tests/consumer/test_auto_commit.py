"""Committing in the background: when it ends, and what is not worth saying."""

import logging

import anyio
import pytest

from kgroup.errors import GroupError
from kgroup.types import CommitStatus
from tests.consumer.entered import A, B, Stage, entered
from tests.consumer.refused import refused_in_the_middle
from tests.consumer.test_committing import full

pytestmark = pytest.mark.anyio


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]


async def with_something_done(stage: Stage) -> None:
    """Have records of two partitions done, and not committed yet."""
    await stage.give(A, B)
    for batch in (await stage.consumer.getmany(timeout=1)).values():
        batch.done()


async def test_nothing_is_committed_once_the_consumer_cannot_go_on() -> None:
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


async def test_refused_credentials_are_told_once_and_no_commit_of_ours_repeats_them(
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


async def test_a_refusal_of_what_is_still_owned_is_warned_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with entered(full(), auto_commit_interval=1.0) as stage:
        await with_something_done(stage)
        stage.group.commit_status = CommitStatus.REFUSED
        await anyio.sleep(10)
        (told,) = warnings(caplog)
        assert told.startswith("auto-commit partitions=t-0, t-1 refused")
        stage.group.commit_status = CommitStatus.COMMITTED
