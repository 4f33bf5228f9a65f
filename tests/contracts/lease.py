"""G4: a member that cannot confirm its session reports lost before the session ends."""

from kgroup.types import Cause, ChangeKind
from tests.contracts.application import overlaps, until
from tests.contracts.harness import Stage, joined


class LeaseContract:
    """G4, for any backend."""

    async def test_a_member_that_is_cut_off_loses_everything_before_its_session_ends(
        self, stage: Stage
    ) -> None:
        async with joined(stage, "one", "two") as (harness, (one, two)):
            held = set(one.backend.membership.claims)
            cut_at = harness.now()
            harness.cut(one)
            lost = lambda: one.application.of_kind(ChangeKind.LOST)  # noqa: E731
            everything = lambda: {*one.application.ended()} >= held  # noqa: E731
            await until(everything, harness.profile.session, "one notices by itself")
            # Together, where there is one session; each by itself, where each claim has its own.
            assert {claim for heard in lost() for claim in heard.change.removed} == held
            assert {heard.change.cause for heard in lost()} == {Cause.SESSION_EXPIRED}
            assert lost()[-1].heard_at < cut_at + harness.profile.session
            assert not any(one.backend.may_deliver(claim) for claim in held)
            await harness.settle(two)
            assert overlaps({"one": one.application, "two": two.application}) == []

    async def test_a_member_that_was_cut_off_comes_back_with_new_claims(self, stage: Stage) -> None:
        async with joined(stage, "one") as (harness, (one,)):
            before = set(one.backend.membership.claims)
            harness.cut(one)
            await until(
                lambda: not one.backend.membership.claims, harness.profile.session, "all is lost"
            )
            await harness.mend(one)
            await harness.settle(one)
            assert not before & set(one.backend.membership.claims)

    async def test_a_short_cut_costs_nothing(self, stage: Stage) -> None:
        async with joined(stage, "one") as (harness, (one,)):
            before = one.backend.membership
            harness.cut(one)
            ends_at = harness.now() + harness.profile.session / 3
            await until(lambda: harness.now() >= ends_at, harness.profile.session, "a third of it")
            await harness.mend(one)
            ends_at = harness.now() + harness.profile.session
            await until(lambda: harness.now() >= ends_at, 2 * harness.profile.session, "a session")
            assert one.backend.membership.claims == before.claims
            assert one.backend.membership.generation == before.generation
            assert one.application.of_kind(ChangeKind.LOST) == []
