"""G2: no two periods of ownership share a claim."""

from tests.contracts.harness import Stage, joined


class ClaimContract:
    """G2, for any backend."""

    async def test_every_period_of_ownership_has_a_claim_of_its_own(self, stage: Stage) -> None:
        async with joined(stage, "one", "two") as (harness, (one, two)):
            await harness.another_round(one, two)
            await harness.silence(two)
            await harness.settle(one)
            gained = one.application.gained()
            assert len(gained) > len(harness.partitions)
            assert len(set(gained)) == len(gained)

    async def test_a_claim_that_is_over_stays_over_when_its_partition_comes_back(
        self, stage: Stage
    ) -> None:
        async with joined(stage, "one", "two") as (harness, (one, two)):
            await harness.silence(two)
            await harness.settle(one)
            ended = one.application.ended()
            assert {claim.tp for claim in ended} <= one.backend.membership.partitions
            assert ended
            assert not any(one.backend.may_deliver(claim) for claim in ended)
            assert all(one.backend.may_deliver(claim) for claim in one.backend.membership.claims)
