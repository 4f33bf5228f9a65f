"""G1: a commit under an ended claim or a stale generation never moves an offset, and says so."""

import anyio

from kgroup.types import ChangeKind, Claim, CommitStatus, OffsetAndMetadata
from tests.contracts.application import until
from tests.contracts.harness import Harness, Seat, Stage, joined


async def commit(seat: Seat, claim: Claim, offset: int) -> CommitStatus:
    outcome = await seat.backend.commit({claim: OffsetAndMetadata(offset)})
    return outcome.partitions[claim.tp].status


def moved(before: Seat, now: Seat) -> Claim:
    """A claim of `before` whose partition `now` owns."""
    mine = now.backend.membership.partitions
    return next(claim for claim in reversed(before.application.gained()) if claim.tp in mine)


class CommitContract:
    """G1, for any backend."""

    async def test_a_commit_of_the_owner_moves_the_offset(self, stage: Stage) -> None:
        async with joined(stage, "one") as (harness, (one,)):
            claim = one.backend.membership.claims[0]
            assert await commit(one, claim, 7) is CommitStatus.COMMITTED
            assert await harness.committed(claim.tp) == 7
            read = await one.backend.committed({claim.tp}, timeout=10.0)
            assert read == {claim.tp: OffsetAndMetadata(7)}

    async def test_a_commit_under_an_ended_claim_moves_nothing_and_says_so(
        self, stage: Stage
    ) -> None:
        async with joined(stage, "one", "two") as (harness, (one, two)):
            old = moved(one, two)
            assert await commit(two, two.application.claim(old.tp), 9) is CommitStatus.COMMITTED
            assert await commit(one, old, 5) is CommitStatus.REFUSED
            assert await harness.committed(old.tp) == 9

    async def test_a_good_partition_is_committed_beside_a_bad_one(self, stage: Stage) -> None:
        async with joined(stage, "one", "two") as (harness, (one, two)):
            bad, good = moved(one, two), one.backend.membership.claims[0]
            offsets = {bad: OffsetAndMetadata(5), good: OffsetAndMetadata(6)}
            outcome = await one.backend.commit(offsets)
            assert set(outcome.failed()) == {bad.tp}
            assert await harness.committed(good.tp) == 6

    async def test_a_stale_commit_that_arrives_late_moves_nothing(self, stage: Stage) -> None:
        """1. one writes a commit, and the network keeps it; 2. one's session ends, two takes over
        and commits; 3. the network lets one's commit through."""
        async with joined(stage, "one", "two") as (harness, (one, two)):
            claim = one.backend.membership.claims[0]
            async with anyio.create_task_group() as tasks:
                said: list[CommitStatus] = []

                async def late() -> None:
                    said.append(await commit(one, claim, 5))

                harness.cut(one)
                tasks.start_soon(late)
                await harness.settle(two)
                mine = two.application.claim(claim.tp)
                assert await commit(two, mine, 9) is CommitStatus.COMMITTED
                await harness.mend(one)
                await until(lambda: said, harness.profile.session, "the late commit has an outcome")
            assert said != [CommitStatus.COMMITTED]
            await harness.settle(one, two)
            assert await harness.committed(claim.tp) == 9

    async def test_a_commit_without_an_answer_is_unknown_and_never_sent_again(
        self, stage: Stage
    ) -> None:
        """1. one is connected; 2. it commits 5, the answer is swallowed; 3. its outcome is UNKNOWN;
        4. later 9 is committed; 5 must not come after it."""
        async with joined(stage, "one") as (harness, (one,)):
            claim = one.backend.membership.claims[0]
            assert await commit(one, claim, 3) is CommitStatus.COMMITTED
            harness.cut(one, answers_only=True)
            assert await commit(one, claim, 5) is CommitStatus.UNKNOWN
            await harness.mend(one)
            await harness.settle(one)
            assert await self._commit_held(harness, one, claim, 9) is CommitStatus.COMMITTED
            await harness.settle(one)
            await until(lambda: _rounds_on(one), harness.profile.handover, "another round")
            assert await harness.committed(claim.tp) == 9

    async def _commit_held(
        self, harness: Harness, seat: Seat, old: Claim, offset: int
    ) -> CommitStatus:
        """Commit under the claim that is valid now, whether or not the old one survived."""
        if old not in seat.backend.membership.claims:
            assert old in seat.application.ended()
            assert await commit(seat, old, 5) is CommitStatus.REFUSED
        await harness.another_round(seat)
        return await commit(seat, seat.application.claim(old.tp), offset)


def _rounds_on(seat: Seat) -> bool:
    return (
        bool(seat.application.of_kind(ChangeKind.ASSIGNED))
        and seat.backend.membership.rebalances > 1
    )
