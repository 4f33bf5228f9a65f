"""G7: cancelling any call leaves a usable backend."""

from collections.abc import Awaitable, Callable

import anyio

from kgroup.types import CommitStatus, Leave, MemberState, OffsetAndMetadata
from tests.contracts.application import until
from tests.contracts.harness import Harness, Stage, joined


async def _cut_short(harness: Harness, call: Callable[[], Awaitable[object]]) -> None:
    """Make a call over and over, and cancel it at every moment of the profile."""
    for moment in harness.profile.moments:
        with anyio.move_on_after(moment):
            await call()


class CancellationContract:
    """G7, for any backend."""

    async def test_a_cancelled_commit_leaves_the_queue_in_order(self, stage: Stage) -> None:
        async with joined(stage, "one") as (harness, (one,)):
            claim = one.backend.membership.claims[0]
            offsets = iter(range(1, 1000))

            async def commit() -> None:
                await one.backend.commit({claim: OffsetAndMetadata(next(offsets))})

            await _cut_short(harness, commit)
            last = next(offsets)
            outcome = await one.backend.commit({claim: OffsetAndMetadata(last)})
            assert outcome.partitions[claim.tp].status is CommitStatus.COMMITTED
            assert await harness.committed(claim.tp) == last

    async def test_a_cancelled_committed_can_be_asked_again(self, stage: Stage) -> None:
        async with joined(stage, "one") as (harness, (one,)):
            tp = min(harness.partitions)
            await one.backend.commit({one.application.claim(tp): OffsetAndMetadata(3)})
            await _cut_short(harness, lambda: one.backend.committed({tp}, timeout=5.0))
            read = await one.backend.committed({tp}, timeout=5.0)
            assert read == {tp: OffsetAndMetadata(3)}

    async def test_cancelled_waits_miss_no_change(self, stage: Stage) -> None:
        async with joined(stage, "one") as (harness, (one,)):
            changes = len(one.application.heard)
            seen = one.backend.membership
            await _cut_short(harness, lambda: one.backend.membership_changed(seen))
            await _cut_short(harness, one.backend.next_change)
            two = await harness.start("two")
            await _cut_short(harness, one.backend.next_change)
            await _cut_short(harness, lambda: one.backend.membership_changed(seen))
            await harness.settle(one, two)
            assert len(one.application.heard) > changes
            assert await one.backend.membership_changed(seen) == one.backend.membership

    async def test_a_cancelled_leave_leaves_all_the_same(self, stage: Stage) -> None:
        async with stage() as harness:
            for moment in harness.profile.moments[:3]:
                one = await harness.start("one")
                await harness.settle(one)
                with anyio.move_on_after(moment):
                    await one.backend.leave(Leave.LEAVE, "cancelled", timeout=5.0)
                assert one.backend.membership.state is MemberState.LEFT
                await one.backend.leave(Leave.LEAVE, "once more", timeout=5.0)
                assert one.backend.membership.state is MemberState.LEFT
                # It has left: the next member need not wait for a session to end.
                two = await harness.start("two")
                begun_at = harness.now()
                await harness.settle(two)
                assert harness.now() - begun_at < harness.profile.session
                await two.backend.leave(Leave.LEAVE, "the next one", timeout=5.0)

    async def test_a_member_cancelled_while_it_joins_holds_nobody_up_for_long(
        self, stage: Stage
    ) -> None:
        async with joined(stage, "one") as (harness, (one,)):
            for moment in harness.profile.moments:
                two = await harness.start("two")
                with anyio.move_on_after(moment):
                    await until(lambda: two.application.settled(), 5.0, "two is in")  # noqa: B023
                await harness.silence(two)
            await harness.settle(one)
