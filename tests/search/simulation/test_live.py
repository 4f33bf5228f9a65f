"""Level B: whole consumers in virtual time, the same on both event loops and in any process."""

import os
import subprocess
import sys

import pytest

from kgroup.membership.triggers import Trigger
from kgroup.types import MemberState
from tests.search.simulation.coverage import Coverage
from tests.search.simulation.live.run import play_live
from tests.search.simulation.live_plans import member, plan
from tests.search.simulation.perturbation import Kind, Perturbation
from tests.search.simulation.play import play
from tests.search.simulation.schedule import Level, Mode, Schedule
from tests.search.simulation.world.run import play_objects

MODES = tuple(mode for mode in Mode if mode is not Mode.HOSTILE)  # those are laid for machines
BACKENDS = ("asyncio", "trio")


def drawn(seed: int, backend: str = "asyncio") -> Schedule:
    return Schedule(Level.B, MODES[seed % len(MODES)], seed, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_small_group_shares_reads_and_closes(backend: str) -> None:
    small = plan(quiet_at=2.0, ends_at=5.0)
    outcome = play_live(Schedule(Level.B, picks=(), backend=backend), plan=small)
    assert outcome.violations == ()
    assert outcome.events > 50


def test_the_same_rows_of_the_table_fire_on_both_event_loops() -> None:
    small = plan(quiet_at=2.0, ends_at=5.0)
    first, second = (
        play_live(Schedule(Level.B, picks=(), backend=backend), plan=small) for backend in BACKENDS
    )
    assert first.rows == second.rows
    entered = {row for row in first.rows if row.to is MemberState.STABLE}
    assert entered
    coverage = Coverage()
    coverage.add(first)
    assert coverage.impossible_cells_met() == ()


@pytest.mark.slow
def test_a_trigger_that_comes_in_vain_is_counted_as_at_level_a() -> None:
    away = Perturbation(6.0, Kind.COORDINATOR_KILLED, seconds=1.5)
    small = plan(away, quiet_at=7.0, ends_at=14.0)
    schedules = [Schedule(level, picks=()) for level in (Level.B, Level.A)]
    whole, thin = play_live(schedules[0], plan=small), play_objects(schedules[1], plan=small)
    lost = (MemberState.STABLE, Trigger.COORDINATOR_LOST)
    assert whole.cells[lost] == thin.cells[lost] == len(small.members)
    assert whole.cells == thin.cells
    coverage = Coverage()
    coverage.add(whole)
    assert dict(coverage.ignored_cells_met())["STABLE+COORDINATOR_LOST"] == whole.cells[lost]


def test_what_strikes_nobody_is_counted() -> None:
    waiting = member(1, starts_at=None)
    leave = Perturbation(1.0, Kind.LEAVE, 1)
    nobody = plan(leave, members=(member(0), waiting), quiet_at=1.0, ends_at=4.0)
    outcome = play_live(Schedule(Level.B, picks=()), plan=nobody)
    assert outcome.skipped == {Kind.LEAVE: 1}


def test_what_nobody_reads_to_its_end_is_found() -> None:
    idle = plan(members=(member(0, handling=30.0),), quiet_at=3.0, ends_at=8.0)
    outcome = play_live(Schedule(Level.B, picks=()), plan=idle)
    assert "L1" in outcome.rules


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_schedule_has_one_transcript_on_both_event_loops(seed: int) -> None:
    first, second = (play(drawn(seed, backend)) for backend in BACKENDS)
    assert first.digest == second.digest
    assert first.picks == second.picks


@pytest.mark.slow
def test_a_schedule_has_one_transcript_whatever_the_hash_seed() -> None:
    program = (
        "from tests.search.simulation.test_live import drawn, BACKENDS\n"
        "from tests.search.simulation.play import play\n"
        "print([play(drawn(seed, b)).digest for seed in range(20, 22) for b in BACKENDS])\n"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": number},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for number in ("1", "2")
    ]
    assert told[0] == told[1]
    assert len(told[0]) > 100


@pytest.mark.slow
def test_picks_replay_what_a_seed_drew() -> None:
    first = play(drawn(7))
    again = play(drawn(7).with_picks(first.picks))
    assert again.digest == first.digest


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1100, 10))
def test_drawn_schedules_keep_all_promises(first: int) -> None:
    found = {
        (seed, rule)
        for seed in range(first, first + 10)
        for rule in play(drawn(seed, BACKENDS[seed % 2])).rules
    }
    assert found == set()
