"""Campaigns: how schedules are counted, saved and made smaller."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kgroup.audit.oracles import Violation
from kgroup.errors import ArgumentError
from tests.search.simulation import __main__ as command
from tests.search.simulation.campaign import RAISED, Campaign, Found, play_all, run_campaign
from tests.search.simulation.choices import Pick
from tests.search.simulation.drawing import draw_plan
from tests.search.simulation.plan import Kind
from tests.search.simulation.schedule import Level, Mode, Outcome, Schedule
from tests.search.simulation.shrinking import smaller
from tests.search.simulation.story import story
from tests.search.simulation.worlds import played, struck

GOOD = Campaign(schedules=100, processes=0)
BROKEN = (3, 50, 51)


def play_toy(schedule: Schedule, *, keep: bool = False) -> Outcome:
    """Break S2 for some seeds, raise for seed 77, and simulate nothing."""
    del keep
    if schedule.seed == 77:
        raise LookupError("seed 77 is too much")
    choices = schedule.choices()
    plan = draw_plan(choices, schedule.mode)
    broken = (Violation("S2", "t0-0 has two owners", ()),) if schedule.seed in BROKEN else ()
    return Outcome(schedule, plan, choices.picks, broken, "", 8, 36.0)


def play_well(schedule: Schedule) -> Outcome:
    return play_toy(replace(schedule, seed=0))


@pytest.mark.slow
def test_the_result_is_the_same_with_any_number_of_processes() -> None:
    campaign = Campaign(schedules=100, keep_going=True)
    one, two = (
        run_campaign(replace(campaign, processes=number), how=play_toy) for number in (0, 2)
    )
    assert [each.schedule.seed for each in two.failures] == [*BROKEN, 77]
    assert [each.schedule for each in one.failures] == [each.schedule for each in two.failures]
    assert (one.runs, one.events, one.broken) == (two.runs, two.events, two.broken)
    assert two.broken == {"S2": 3, RAISED: 1}


def test_a_campaign_ends_with_the_chunk_of_its_first_failure() -> None:
    found = run_campaign(GOOD, how=play_toy)
    assert (found.runs, found.good) == (40, False)


def test_a_failure_is_kept_with_its_picks() -> None:
    (failure,) = play_all([Schedule(Level.A, seed=3)], play_toy).failures
    assert failure.schedule.picks
    again = play_toy(failure.schedule)
    assert (again.picks, again.rules) == (failure.schedule.picks, failure.rules)


def test_ctrl_c_ends_a_campaign_with_what_was_found() -> None:
    def interrupt(found: Found) -> None:
        if found.runs >= 80:
            raise KeyboardInterrupt

    found = run_campaign(GOOD, how=play_well, tell=interrupt)
    assert (found.runs, found.interrupted) == (80, True)


@pytest.mark.parametrize("wrong", [{"schedules": 0}, {"processes": -1}])
def test_a_wrong_number_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match=next(iter(wrong))):
        replace(GOOD, **wrong)  # type: ignore[arg-type]  # all of them are numbers


# -- shrinking -----------------------------------------------------------------------------------


def test_a_failing_schedule_becomes_as_small_as_the_failure_allows() -> None:
    def fails(candidate: Schedule) -> bool:
        plan = draw_plan(candidate.choices(), candidate.mode)
        return {Kind.KILL, Kind.COORDINATOR_KILLED} <= {each.kind for each in plan.perturbations}

    seed = next(seed for seed in range(1000) if fails(Schedule(Level.A, Mode.EAGER, seed)))
    found = Schedule(Level.A, Mode.EAGER, seed)
    choices = found.choices()
    draw_plan(choices, found.mode)
    whole = found.with_picks(choices.picks)
    small = smaller(whole, fails)
    assert fails(small)
    assert len(small.picks or ()) <= 12 < len(whole.picks or ()) / 3


def test_values_become_as_small_as_they_can() -> None:
    whole = Schedule(Level.A, picks=(Pick("a", 0, 100), Pick("b", 0, 77)))

    def needs_40(candidate: Schedule) -> bool:
        return any(pick.site == "a" and pick.value >= 40 for pick in candidate.picks or ())

    assert smaller(whole, needs_40).picks == (Pick("a", 0, 40),)


def test_a_schedule_that_does_not_fail_again_stays_as_it_is() -> None:
    whole = Schedule(Level.A, picks=(Pick("a", 0, 1),))
    assert smaller(whole, lambda _: False) is whole


# -- the command ---------------------------------------------------------------------------------


def test_a_failure_is_saved_as_a_schedule_that_can_be_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds = [Schedule(Level.A, seed=seed) for seed in (2, 3, 77)]
    found = play_all(seeds, play_toy)
    monkeypatch.setattr(command, "run_campaign", lambda *_, **__: found)
    monkeypatch.setattr(command, "play", play_toy)
    words = ["--shrink", "60", "--json", "--out", str(tmp_path)]
    assert command.main(words) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["broken"] == {RAISED: 1, "S2": 1}
    kept = tmp_path / "s2-a-mixed-3.json"
    assert Schedule.load(kept).picks == ()
    assert "LookupError" in (tmp_path / "raised-a-mixed-77.txt").read_text()
    assert command.main(["--replay", str(kept)]) == 1
    assert "broken: S2: t0-0 has two owners" in capsys.readouterr().out


def test_a_file_that_holds_no_schedule_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "it.json").write_text("[1]")
    assert command.main(["--replay", str(tmp_path / "it.json")]) == 2
    assert "a schedule as `make search` saves it" in capsys.readouterr().err


def test_a_story_marks_what_proves_a_violation() -> None:
    outcome = played(struck())
    proofs = outcome.entries[4:6]
    lines = story(replace(outcome, violations=(Violation("S2", "two owners", proofs),)))
    assert sum(line.startswith(">>>") for line in lines.splitlines()) == 2
    last = lines.splitlines().index("    broken: S2: two owners")
    assert lines.splitlines()[last - 1].startswith(">>>")
