"""G3: if no message is lost, no member owns a partition before its former owner gave it up."""

import anyio

from kgroup.types import ChangeKind, Leave, OwnershipChange
from tests.contracts.application import overlaps, until
from tests.contracts.harness import Seat, Stage, joined


def _judge(*seats: Seat) -> None:
    assert overlaps({seat.name: seat.application for seat in seats}) == []


class HandoverContract:
    """G3, for any backend."""

    async def test_a_newcomer_waits_until_the_former_owner_has_settled(self, stage: Stage) -> None:
        async with stage() as harness:
            go = anyio.Event()

            async def holds(change: OwnershipChange) -> None:
                if change.kind is ChangeKind.REVOKED:
                    await go.wait()

            one = await harness.start("one", holds)
            await harness.settle(one)
            two = await harness.start("two")
            revoked = lambda: one.application.of_kind(ChangeKind.REVOKED)  # noqa: E731
            await until(revoked, harness.profile.handover, "one is asked to give something up")
            given_up = {claim.tp for claim in revoked()[0].change.removed}
            await anyio.sleep(4 * harness.profile.heartbeat)
            assert not given_up & two.backend.membership.partitions
            go.set()
            await harness.settle(one, two)
            _judge(one, two)

    async def test_members_that_come_and_go_never_own_a_partition_at_once(
        self, stage: Stage
    ) -> None:
        async with joined(stage, "one") as (harness, (one,)):
            two = await harness.start("two")
            three = await harness.start("three")
            await harness.settle(one, two, three)
            await one.backend.leave(Leave.LEAVE, "the test is over for one", timeout=5.0)
            await harness.settle(two, three)
            four = await harness.start("four")
            await harness.silence(two)
            await harness.settle(three, four)
            _judge(one, three, four)
            assert one.application.of_kind(ChangeKind.LOST) == []

    async def test_a_member_that_leaves_hands_everything_back_first(self, stage: Stage) -> None:
        async with joined(stage, "one") as (_, (one,)):
            held = set(one.backend.membership.claims)
            await one.backend.leave(Leave.LEAVE, "closing", timeout=5.0)
            last = one.application.heard[-1]
            assert last.change.kind is ChangeKind.REVOKED
            assert set(last.change.removed) == held
            assert one.backend.membership.claims == ()
