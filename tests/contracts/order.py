"""G6: per partition changes are settled in order; lost may interrupt."""

from collections import defaultdict

import anyio

from kgroup.types import ChangeKind, Claim, OwnershipChange
from tests.contracts.application import Application, until
from tests.contracts.harness import Stage


def _disorder(application: Application) -> list[str]:
    """Describe what is out of order: each claim is gained once, then given up or lost once."""
    found = []
    steps: dict[Claim, list[str]] = defaultdict(list)
    for heard in application.heard:
        for claim in heard.change.added:
            steps[claim].append("gained")
        for claim in heard.change.removed:
            steps[claim].append("gone")
    for claim, seen in steps.items():
        if seen not in (["gained"], ["gained", "gone"]):
            found.append(f"{claim}: {seen}")
    serials = [heard.change.serial for heard in application.heard]
    if serials != sorted(set(serials)):
        found.append(f"serials {serials}")
    return found


class OrderContract:
    """G6, for any backend."""

    async def test_the_same_change_is_returned_until_it_is_settled(self, stage: Stage) -> None:
        async with stage() as harness:
            asked: list[OwnershipChange] = []

            async def looks_again(change: OwnershipChange) -> None:
                asked.append(change)
                asked.append(await one.backend.next_change())
                asked.append(await one.backend.next_change())

            one = await harness.start("one", looks_again)
            await harness.settle(one)
            assert asked[0] == asked[1] == asked[2]
            assert not any(
                one.backend.may_deliver(claim) and heard.settled_at is None
                for heard in one.application.heard
                for claim in heard.change.added
            )

    async def test_nothing_is_delivered_before_its_assignment_is_settled(
        self, stage: Stage
    ) -> None:
        async with stage() as harness:
            early: list[bool] = []

            async def delivers(change: OwnershipChange) -> None:
                await anyio.sleep(2 * harness.profile.heartbeat)
                early.extend(one.backend.may_deliver(claim) for claim in change.added)

            one = await harness.start("one", delivers)
            await harness.settle(one)
            assert early == [False] * len(harness.partitions)

    async def test_changes_come_in_order_for_every_partition(self, stage: Stage) -> None:
        async with stage() as harness:

            async def dawdles(_change: OwnershipChange) -> None:
                await anyio.sleep(harness.profile.heartbeat)

            one = await harness.start("one", dawdles)
            two = await harness.start("two", dawdles)
            await harness.settle(one, two)
            three = await harness.start("three", dawdles)
            await harness.settle(one, two, three)
            await harness.silence(three)
            await harness.settle(one, two)
            for seat in (one, two, three):
                assert _disorder(seat.application) == []

    async def test_lost_interrupts_a_revoke_that_is_not_settled(self, stage: Stage) -> None:
        async with stage() as harness:
            go = anyio.Event()

            async def hangs(change: OwnershipChange) -> None:
                if change.kind is ChangeKind.REVOKED:
                    await go.wait()

            one = await harness.start("one", hangs)
            await harness.settle(one)
            await harness.start("two")
            await until(
                lambda: one.application.of_kind(ChangeKind.REVOKED),
                harness.profile.handover,
                "one is asked to give something up",
            )
            held = one.application.gained()
            harness.cut(one)
            session = harness.profile.session
            await until(lambda: not one.backend.membership.claims, session, "all is lost")
            assert not any(one.backend.may_deliver(claim) for claim in held)
            go.set()
            settled = lambda: {*one.application.ended()} == {*held}  # noqa: E731
            await until(settled, session, "one hears that everything is over")
            assert _disorder(one.application) == []
