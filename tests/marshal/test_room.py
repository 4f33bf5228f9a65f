"""The promises of members over one log hold in drawn storms, whatever goes wrong."""

import pytest

from tests.marshal.room.play import play

BRIEF = range(8)
LONG = range(12)
LIMITED = range(6)
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


@pytest.mark.faults  # it takes long
@pytest.mark.slow
@pytest.mark.parametrize("seed", [seed for seed in BRIEF if seed >= FIRST])
def test_no_promise_is_broken_in_more_short_storms(seed: int) -> None:
    assert play(seed, brief=True).broken == ()


@pytest.mark.faults  # it takes long
@pytest.mark.slow
@pytest.mark.parametrize("seed", LONG)
def test_no_promise_is_broken_in_a_storm(seed: int) -> None:
    assert play(seed).broken == ()


@pytest.mark.parametrize("seed", LIMITED[:2])
def test_no_promise_is_broken_where_members_take_no_more_than_so_much(seed: int) -> None:
    assert play(seed, brief=True, limited=True).broken == ()


@pytest.mark.faults  # it takes long
@pytest.mark.slow
@pytest.mark.parametrize("seed", LIMITED)
def test_no_promise_is_broken_in_a_storm_of_such_members(seed: int) -> None:
    assert play(seed, limited=True).broken == ()


@pytest.mark.faults  # it takes long
@pytest.mark.slow
def test_what_else_is_drawn_does_not_depend_on_limits() -> None:
    plain = {seed: play(seed, brief=True).transcript for seed in BRIEF}
    limited = {seed: play(seed, brief=True, limited=True).transcript for seed in BRIEF}
    assert 0 < sum(plain[seed] == limited[seed] for seed in BRIEF) < len(BRIEF)


@pytest.mark.parametrize("seed", [LATE, STOPPED_TWICE])
def test_a_group_is_judged_when_its_storm_is_over_for_everybody(seed: int) -> None:
    assert play(seed).broken == ()
