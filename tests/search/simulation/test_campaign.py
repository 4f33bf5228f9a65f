"""Campaigns over many schedules, on a world of a few lines."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from kgroup.errors import ArgumentError, IllegalStateError
from tests.search.simulation import toy
from tests.search.simulation.campaign import Campaign, Found, run_campaign
from tests.search.simulation.outcome import Outcome
from tests.search.simulation.schedule import Level, Mode, Schedule
from tests.search.simulation.toy import play

TOY = "tests.search.simulation.toy:play"
WELL = "tests.search.simulation.toy:play_well"
BADLY = "tests.search.simulation.toy:play_badly"
DEAD = "tests.search.simulation.toy:play_dead"
ALL = Campaign(schedules=500, seed=100, mode=Mode.EAGER, processes=0, most_failures=None, world=TOY)

GOOD = replace(ALL, seed=1, schedules=100, world=WELL)
"""Nothing breaks, and no seed is one of those that are played twice."""


def told(found: Found) -> tuple[object, ...]:
    """Return what may not depend on processes."""
    return (
        found.tally.to_json(),
        found.coverage.to_json(),
        sorted(found.coverage.features),
        found.failures,
        found.checked,
        found.mismatches,
    )


@pytest.mark.slow
def test_the_result_does_not_depend_on_how_many_processes_play() -> None:
    here = run_campaign(ALL)
    assert here.tally.runs == 500
    assert here.tally.mutants > 30
    assert here.failures
    assert told(run_campaign(replace(ALL, processes=3))) == told(here)


@pytest.mark.slow
def test_it_ends_with_the_chunk_in_which_enough_is_broken() -> None:
    found = run_campaign(replace(ALL, most_failures=1))
    assert found.failures
    assert found.tally.runs < 500


@pytest.mark.slow
def test_where_it_ends_does_not_depend_on_processes_either() -> None:
    once = replace(ALL, most_failures=3)
    assert told(run_campaign(replace(once, processes=2))) == told(run_campaign(once))


@pytest.mark.slow
def test_a_failure_is_kept_with_the_picks_that_replay_it() -> None:
    failure = run_campaign(replace(ALL, most_failures=1)).failures[0]
    assert failure.rules == ("S2",)
    assert failure.text == "S2: t0-0 has two owners"
    again = play(failure.schedule)
    assert (again.rules, again.digest) == (failure.rules, failure.digest)


@pytest.mark.slow
def test_every_fourth_seed_has_a_parent_that_met_something_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played: list[Outcome] = []

    def record(schedule: Schedule) -> Outcome:
        played.append(play(schedule))
        return played[-1]

    monkeypatch.setattr(toy, "play_well", record)
    found = run_campaign(replace(ALL, world=WELL))
    mutants = [each for each in played if each.schedule.parent is not None]
    assert len(mutants) == found.tally.mutants
    assert all(each.schedule.seed % 4 == 3 for each in mutants)
    picks = [each.picks for each in played]
    for each in mutants:
        assert each.schedule.parent in picks[: picks.index(each.picks)]
        kept = set(each.schedule.parent or ()) & set(each.picks)
        assert len(kept) > 0.7 * len(each.picks)


@pytest.mark.slow
def test_every_failing_run_and_one_in_a_hundred_is_played_twice() -> None:
    found = run_campaign(ALL)
    passing = sum(seed % 200 in (0, 103) for seed in range(100, 600))
    failing = len(found.failures)
    assert failing + passing - 5 <= found.checked <= failing + passing
    assert not found.mismatches


@pytest.mark.slow
def test_a_run_that_depends_on_the_order_of_a_hash_is_found_out() -> None:
    few = replace(ALL, seed=0, schedules=3, world=BADLY)
    found = run_campaign(few)
    assert [each.schedule.seed for each in found.mismatches] == [0]
    assert not found.good


def test_a_run_that_raises_is_a_failure_of_its_seed() -> None:
    found = run_campaign(replace(ALL, seed=1, schedules=20, world=BADLY))
    assert [each.schedule.seed for each in found.failures] == [3, 13]
    assert found.failures[0].rules == ("raised",)
    assert "seed 3 is too much" in found.failures[0].text
    assert found.tally.broken == {"raised": 2}


def test_sums_and_means_are_counted() -> None:
    tally = run_campaign(GOOD).tally.to_json()
    assert tally["runs"] == 100
    assert tally["mean_events"] == 800
    assert tally["mean_members"] == 4
    assert tally["virtual_hours"] == pytest.approx(100 * tally["mean_seconds"] / 3600, rel=0.01)


def test_progress_is_told_after_each_chunk() -> None:
    runs: list[int] = []
    run_campaign(GOOD, tell=lambda found: runs.append(found.tally.runs))
    assert runs == [40, 80, 100]


def test_real_time_is_not_played_twice() -> None:
    assert run_campaign(replace(ALL, seed=0, schedules=3, level=Level.C)).checked == 0


def test_ctrl_c_ends_it_with_what_was_found() -> None:
    def interrupt(found: Found) -> None:
        if found.tally.runs >= 80:
            raise KeyboardInterrupt

    found = run_campaign(GOOD, tell=interrupt)
    assert found.interrupted
    assert found.tally.runs == 80


@pytest.mark.slow
def test_ctrl_c_at_a_terminal_ends_all_processes(tmp_path: Path) -> None:
    program = (
        "from tests.search.simulation.campaign import *\n"
        f"campaign = Campaign(schedules=10**6, most_failures=None, world={TOY!r})\n"
        "found = run_campaign(campaign, tell=lambda found: print('told', flush=True))\n"
        "print(found.interrupted, found.tally.runs > 0)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as started:
        try:
            assert started.stdout is not None
            started.stdout.readline()
            began_at = time.monotonic()
            os.killpg(started.pid, signal.SIGINT)
            out, err = started.communicate(timeout=30)
            assert time.monotonic() - began_at < 10
            assert (out.splitlines()[-1], err) == ("True True", "")
            with pytest.raises(ProcessLookupError):
                os.killpg(started.pid, 0)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_process_that_ends_by_itself_is_an_error() -> None:
    with pytest.raises(IllegalStateError, match="code 7"):
        run_campaign(replace(ALL, processes=1, world=DEAD))


@pytest.mark.parametrize("world", ["tests.no_such:play", "tests.search.simulation.toy:none", "x"])
def test_a_world_that_is_not_there_is_refused(world: str) -> None:
    with pytest.raises(ArgumentError, match="world"):
        run_campaign(replace(ALL, world=world))


@pytest.mark.parametrize(
    "wrong", [{"schedules": 0}, {"processes": -1}, {"processes": 9}, {"most_failures": 0}]
)
def test_a_wrong_number_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match=next(iter(wrong))):
        replace(ALL, **wrong)  # type: ignore[arg-type]  # all of them are numbers
