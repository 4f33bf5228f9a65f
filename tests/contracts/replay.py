"""G8: same inputs, same clock, same dice: same transcript."""

from collections.abc import Callable

Play = Callable[[str, int], list[str]]
"""Plays the backend's play on an async backend ("asyncio", "trio") with dice of a seed, in virtual
time, and returns its transcript: every request and every change with its instant, in order."""


class ReplayContract:
    """G8, for any backend."""

    def test_the_same_play_has_the_same_transcript_whenever_and_wherever_it_is_played(
        self, play: Play
    ) -> None:
        first = play("asyncio", 1)
        assert len(first) > 50, "the play is too short to show anything"
        assert play("asyncio", 1) == first
        assert play("trio", 1) == first
        assert play("trio", 1) == first

    def test_other_dice_give_another_transcript(self, play: Play) -> None:
        """So the transcript does hold what chance decides."""
        assert play("asyncio", 1) != play("asyncio", 2)
