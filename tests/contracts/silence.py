"""G5: a silent member's partitions are available again within the session and one round."""

from tests.contracts.harness import Stage, joined


class SilenceContract:
    """G5, for any backend."""

    async def test_what_a_silent_member_held_is_owned_again_in_a_session_and_a_round(
        self, stage: Stage
    ) -> None:
        async with joined(stage, "one", "two") as (harness, (one, two)):
            silent_at = harness.now()
            await harness.silence(one)
            await harness.settle(two)
            profile = harness.profile
            limit = profile.session + profile.heartbeat + profile.round
            assert harness.now() - silent_at <= limit
