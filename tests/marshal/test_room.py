"""Members over one log, drawn from seeds: whatever goes wrong, the promises of each hold."""

import pytest

from tests.marshal.room.play import play

BRIEF = range(8)
LONG = range(40)
FIRST = 4


@pytest.mark.slow
def test_equal_seeds_give_equal_transcripts() -> None:
    assert play(3, brief=True).transcript == play(3, brief=True).transcript


@pytest.mark.parametrize("seed", [seed for seed in BRIEF if seed < FIRST])
def test_no_promise_is_broken_in_a_short_storm(seed: int) -> None:
    outcome = play(seed, brief=True)
    assert outcome.broken == ()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [seed for seed in BRIEF if seed >= FIRST])
def test_no_promise_is_broken_in_more_short_storms(seed: int) -> None:
    assert play(seed, brief=True).broken == ()


@pytest.mark.slow
@pytest.mark.parametrize("seed", LONG)
def test_no_promise_is_broken_in_a_storm(seed: int) -> None:
    assert play(seed).broken == ()
