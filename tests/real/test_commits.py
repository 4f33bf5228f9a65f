"""Commits on a real broker: what is acknowledged, refused, and where the next owner begins."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import CommitFailedError, NotOwnedError
from kgroup.testing.kafka import RealKafka
from kgroup.testing.kafka.in_process import STAND_IN
from kgroup.types import CommitOutcome, CommitStatus, OffsetAndMetadata, OwnershipChange
from tests.real.ground import committed, lay_ground
from tests.real.members import Group, Member, group_on
from tests.real.tuned import tuned

pytestmark = pytest.mark.real

NEVER = 3600.0


async def held_by_the_broker(group: Group) -> dict[int, int]:
    return await anyio.to_thread.run_sync(committed, group.ground.kafka, group.name)


async def test_closing_commits_what_was_read(kafka: RealKafka, tmp_path: Path) -> None:
    ground = await lay_ground(kafka, 3)
    await ground.fill(20)
    async with group_on(ground, tmp_path, auto_commit_interval=NEVER) as group:
        member = await group.join("m1")
        await group.all_read()
        assert await held_by_the_broker(group) == {}
        await group.leave(member)
        assert await held_by_the_broker(group) == ground.sent
        await group.join("m2")
        await ground.fill(20)
        await group.all_read(member)
        await group.end()
    assert (await group.verdict()).total.duplicated == 0


@pytest.fixture(scope="module")
def thrifty(kafka: RealKafka) -> Iterator[RealKafka]:
    """A broker that keeps little text with an offset, so that it refuses some commits."""
    small = replace(STAND_IN, offset_metadata_limit=64)
    with tuned(kafka, small, {"offset.metadata.max.bytes": "64"}) as started:
        yield started


async def test_a_commit_tells_what_became_of_each_partition(
    thrifty: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(thrifty, 3)
    await ground.fill(20)
    async with group_on(ground, tmp_path, enable_auto_commit=False) as group:
        member = await group.join("m1")
        await group.settled(3)
        await group.all_read()
        good, bad = OffsetAndMetadata(5, "a note"), OffsetAndMetadata(7, "x" * 65)
        with pytest.raises(CommitFailedError, match=str(ground.tp(1))) as caught:
            await member.consumer.commit({ground.tp(0): good, ground.tp(1): bad})
        outcome = caught.value.outcome
        assert outcome.partitions[ground.tp(0)].status is CommitStatus.COMMITTED
        refused = outcome.partitions[ground.tp(1)]
        assert refused.status is CommitStatus.REFUSED
        assert refused.code == ErrorCode.OFFSET_METADATA_TOO_LARGE
        assert await held_by_the_broker(group) == {0: 5}
        found = await member.consumer.committed(ground.tp(0), ground.tp(1))
        assert found[ground.tp(1)] is None
        kept = found[ground.tp(0)]
        assert kept is not None
        assert (kept.offset, kept.metadata) == (5, "a note")


async def test_a_commit_of_a_partition_of_somebody_else_sends_nothing(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 2)
    await ground.fill(5)
    async with group_on(ground, tmp_path, enable_auto_commit=False) as group:
        first = await group.join("m1")
        second = await group.join("m2")
        await group.settled(1, 1)
        (mine,), (others,) = first.owned, second.owned
        with pytest.raises(NotOwnedError, match=str(others)):
            await first.consumer.commit({mine: OffsetAndMetadata(1), others: OffsetAndMetadata(1)})
        assert await held_by_the_broker(group) == {}


async def test_a_commit_made_while_revoked_is_where_the_next_owner_begins(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 4)
    await ground.fill(20)
    async with group_on(ground, tmp_path, enable_auto_commit=False) as group:
        first = await group.join("m1")
        await group.settled(4)
        await group.all_read()
        outcomes: list[CommitOutcome] = []
        first.on_revoking = commit_removed(first, outcomes)
        second = await group.join("m2")
        await group.settled(2, 2)
        await ground.fill(20)
        await group.all_read()
        # The survivor's own partitions are read, and committed only now.
        assert (await first.consumer.commit()).ok
        assert (await second.consumer.commit()).ok
        await group.end()
    assert outcomes
    assert all(outcome.ok for outcome in outcomes)
    moved = {tp for outcome in outcomes for tp in outcome.partitions}
    assert second.reads
    assert {read.tp for read in second.reads} <= moved
    assert min(read.offset for read in second.reads) == 20
    assert await held_by_the_broker(group) == ground.sent
    assert (await group.verdict()).total.duplicated == 0


def commit_removed(member: Member, outcomes: list[CommitOutcome]):
    """Return a callback that commits what is being given up, as far as it was read."""

    async def on_revoking(change: OwnershipChange) -> None:
        ends = {read.tp: read.offset + 1 for read in member.reads}
        removed = {claim.tp: OffsetAndMetadata(ends[claim.tp]) for claim in change.removed}
        outcomes.append(await member.consumer.commit(removed))

    return on_revoking
