"""Failing schedules become small ones that fail alike."""

import pytest

from kgroup.errors import ArgumentError
from tests.search.simulation.choices import Pick
from tests.search.simulation.schedule import Level, Mode, Schedule
from tests.search.simulation.shrinking import Budget, shrink
from tests.search.simulation.toy import AWAY, GONE, drawn, play

MODE = Mode.EAGER


def failing(seed: int) -> Schedule | None:
    """Return a seed's schedule with its picks if it breaks something."""
    outcome = play(Schedule(Level.A, MODE, seed))
    return outcome.schedule.with_picks(outcome.picks) if outcome.rules else None


def breaks(candidate: Schedule) -> Schedule | None:
    outcome = play(candidate)
    return candidate.with_picks(outcome.picks) if outcome.rules == ("S2",) else None


def first_failing() -> Schedule:
    return next(found for seed in range(1000) if (found := failing(seed)) is not None)


def test_a_failure_comes_down_to_what_it_needs() -> None:
    found = first_failing()
    small = shrink(found, breaks)
    assert small.picks is not None
    assert len(small.picks) < 12 < len(found.picks or ()) / 10
    plan = drawn(small)
    assert {each.kind for each in plan.perturbations} <= AWAY | GONE
    assert len(plan.perturbations) == 2
    assert play(small).rules == ("S2",)


def test_the_smallest_group_is_tried_although_its_pick_is_not_0() -> None:
    plan = drawn(shrink(first_failing(), breaks))
    assert len(plan.members) == 2
    assert dict(plan.topics) == {"t0": 1}


def test_only_what_breaks_the_same_rule_counts() -> None:
    found = first_failing()
    kept = (found.picks or ())[7]

    def holds_it(candidate: Schedule) -> bool:
        return kept in (candidate.picks or ())

    small = shrink(found, holds_it)
    assert kept in (small.picks or ())
    assert len(small.picks or ()) <= 3  # beside the size of the group


def test_values_become_as_small_as_they_can() -> None:
    schedule = Schedule(Level.A, picks=(Pick("a", 0, 100), Pick("b", 0, 77)))

    def needs_40(candidate: Schedule) -> bool:
        return any(pick.site == "a" and pick.value >= 40 for pick in candidate.picks or ())

    small = shrink(schedule, needs_40)
    assert [pick for pick in small.picks or () if pick.site not in ("members", "topics")] == [
        Pick("a", 0, 40)
    ]


def test_the_best_so_far_is_returned_when_the_budget_is_spent() -> None:
    found = first_failing()
    played = []

    def counted(candidate: Schedule) -> bool:
        played.append(candidate)
        return bool(breaks(candidate))

    small = shrink(found, counted, budget=Budget(tries=20))
    assert len(played) == 20
    assert play(small).rules == ("S2",)
    now = iter(range(1000))
    shrink(found, counted, budget=Budget(seconds=5), clock=lambda: next(now))
    assert len(played) < 30


def test_progress_is_told() -> None:
    told: list[str] = []
    shrink(first_failing(), breaks, say=told.append)
    assert any("perturbations" in line for line in told)


def test_no_candidate_is_played_twice() -> None:
    played = []

    def counted(candidate: Schedule) -> Schedule | None:
        played.append(candidate.picks)
        return breaks(candidate)

    shrink(first_failing(), counted)
    assert len(played) == len(set(played))


def test_a_schedule_without_picks_is_refused() -> None:
    with pytest.raises(ArgumentError, match="picks"):
        shrink(Schedule(Level.A), lambda _: True)


def test_a_schedule_that_does_not_fail_again_is_refused() -> None:
    with pytest.raises(ArgumentError, match="fails"):
        shrink(Schedule(Level.A, picks=()), lambda _: False)


@pytest.mark.slow
def test_nearly_all_planted_failures_become_small_soon() -> None:
    found = [each for seed in range(100) if (each := failing(seed)) is not None]
    assert len(found) > 5
    for schedule in found:
        small = shrink(schedule, breaks, budget=Budget(tries=2000))
        assert len(small.picks or ()) <= 12
