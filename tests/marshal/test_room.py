"""Members over one log, drawn from seeds: whatever goes wrong, the promises of each hold."""

import pytest

from tests.marshal.room.play import play

BRIEF = range(8)
LONG = range(40)
FIRST = 4

LATE = 161
"""A heartbeat of its storm is under way for minutes, and renews a claim when all is calm."""

STOPPED_TWICE = 199
"""Within a long stop of polling a shorter one is drawn."""


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


@pytest.mark.parametrize("seed", [LATE, STOPPED_TWICE])
def test_a_group_is_judged_when_its_storm_is_over_for_everybody(seed: int) -> None:
    assert play(seed).broken == ()
