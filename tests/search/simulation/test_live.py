"""Levels B and C: whole consumers live and suffer as the plan says, on both event loops."""

import os
import subprocess
import sys

import pytest

from kgroup.codes import ApiKey
from kgroup.journal import (
    CommitStage,
    CommitStep,
    CommitStored,
    ConnectionClosed,
    Delivered,
    GenerationEntered,
)
from kgroup.membership.triggers import Trigger
from kgroup.types import MemberState
from tests.search.simulation.coverage import Coverage
from tests.search.simulation.live.run import play_live
from tests.search.simulation.live_plans import AT, SESSION, Played, member, plan, played
from tests.search.simulation.plan import Kind, Perturbation
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


def test_a_fault_without_a_target_is_counted() -> None:
    waiting = member(1, starts_at=None)
    leave = Perturbation(1.0, Kind.LEAVE, 1)
    nobody = plan(leave, members=(member(0), waiting), quiet_at=1.0, ends_at=4.0)
    outcome = play_live(Schedule(Level.B, picks=()), plan=nobody)
    assert outcome.skipped == {Kind.LEAVE: 1}


def test_a_partition_that_is_not_read_to_its_end_is_found() -> None:
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
    seen = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": number},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for number in ("1", "2")
    ]
    assert seen[0] == seen[1]
    assert len(seen[0]) > 100


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


# -- test live sockets -----------------------------------------------------------------------------


pytestmark = pytest.mark.slow


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_quiet_group_keeps_its_promises_over_sockets(backend: str) -> None:
    schedule = Schedule(Level.C, picks=(), backend=backend)
    slow = plan(session_timeout=12.0, heartbeat_interval=2.0, rebalance_timeout=12.0, quiet_at=6.0)
    outcome = play_live(schedule, plan=slow)
    assert outcome.violations == ()
    assert outcome.events > 100


def test_a_drawn_schedule_keeps_what_it_can_keep_on_a_busy_machine() -> None:
    outcome = play(Schedule(Level.C, Mode.COOPERATIVE, 3))
    assert set(outcome.rules) <= {"L1"}
    assert outcome.rows


def test_defaults_are_paced_too() -> None:
    """A lease whose margin is not paced would never hold: no member would be given a record."""
    fast = plan(session_timeout=5.0, heartbeat_interval=1.0, quiet_at=20.0, ends_at=80.0)
    outcome = play_live(Schedule(Level.C, picks=()), plan=fast, keep=True)
    assert any(isinstance(entry.event, Delivered) for entry in outcome.entries)


# -- test live trouble -----------------------------------------------------------------------------


BUSY = (member(0), member(1, commit_interval=0.7))


def good(run: Played) -> None:
    assert run.outcome.violations == ()


def stored(run: Played, since: float = AT, until: float = 1e9) -> list[float]:
    """Return when commits of `m1` were stored."""
    mine = {event.member_id for _, event in run.of(GenerationEntered, "m1")}
    found = run.of(CommitStored, "", since, until)
    return [at for at, event in found if event.member_id in mine]


# -- the network ---------------------------------------------------------------------------------


def test_cut_resets_the_connections() -> None:
    run = played(Kind.CUT)
    good(run)
    closed = [at for at, _ in run.of(ConnectionClosed, "m1", AT, AT + 0.01)]
    assert len(closed) >= 2
    assert [count for _, count in run.rounds(AT)] == []


def test_lose_stores_a_commit_whose_outcome_the_member_does_not_know() -> None:
    run = played(Kind.LOSE, api=ApiKey.OFFSET_COMMIT, members=BUSY)
    good(run)
    closed = [at for at, _ in run.of(ConnectionClosed, "m1", AT, AT + 3.0)]
    first = stored(run)[0]
    assert closed[0] == pytest.approx(first, abs=0.01)
    answers = [at for at, _ in run.answered(ApiKey.OFFSET_COMMIT, "m1", AT)]
    assert answers[0] > closed[0]
    stages = [event.stage for _, event in run.of(CommitStep, "m1", closed[0])]
    assert stages[0] is CommitStage.UNKNOWN


def test_delay_brings_the_answer_late_and_the_effect_in_time() -> None:
    run = played(Kind.DELAY, seconds=0.5, api=ApiKey.OFFSET_COMMIT, members=BUSY)
    good(run)
    asked = run.sent(ApiKey.OFFSET_COMMIT, "m1", AT)[0]
    assert stored(run)[0] == pytest.approx(asked, abs=0.02)
    answered = run.answered(ApiKey.OFFSET_COMMIT, "m1", asked)[0][0]
    assert answered - asked == pytest.approx(0.5, abs=0.02)


def test_hold_brings_the_request_late() -> None:
    run = played(Kind.HOLD, seconds=1.5, api=ApiKey.OFFSET_COMMIT, members=BUSY)
    good(run)
    assert run.sent(ApiKey.OFFSET_COMMIT, "m1", AT)[0] < AT + 1.0
    assert stored(run)[0] == pytest.approx(AT + 1.5, abs=0.02)


def test_blackhole_lets_nothing_through() -> None:
    seconds = SESSION * 1.6
    run = played(Kind.BLACKHOLE, seconds=seconds, quiet_at=12.0, members=BUSY)
    good(run)
    assert stored(run, AT + 0.02, AT + seconds) == []
    assert list(run.of(Delivered, "m1", AT + SESSION, AT + seconds)) == []
    assert 1 in [count for _, count in run.rounds(AT)]
    assert len(run.last_round.members) == 2


def test_deaf_is_heard_but_hears_nothing() -> None:
    seconds = SESSION / 2
    run = played(Kind.DEAF, seconds=seconds, members=BUSY)
    good(run)
    assert stored(run, AT + 0.02, AT + seconds) != []
    apis = (ApiKey.OFFSET_COMMIT, ApiKey.HEARTBEAT, ApiKey.FETCH)
    heard = [at for api in apis for at, _ in run.answered(api, "m1", AT + 0.02)]
    assert min(heard) >= AT + seconds


# -- the coordinator -----------------------------------------------------------------------------


def test_a_killed_coordinator_is_looked_for_again() -> None:
    run = played(Kind.COORDINATOR_KILLED, seconds=2.0, brokers=2)
    good(run)
    assert [at for at, _ in run.of(ConnectionClosed, "m1", AT, AT + 0.1)] != []
    assert run.sent(ApiKey.FIND_COORDINATOR, "m1", AT) != []
    assert len(run.last_round.members) == 2


def test_a_single_broker_that_dies_comes_back() -> None:
    run = played(Kind.COORDINATOR_KILLED, seconds=2.0)
    good(run)
    assert list(run.of(Delivered, "", AT + 0.1, AT + 1.9)) == []
    assert list(run.of(Delivered, "", AT + 2.0)) != []


def test_a_coordinator_that_hands_over_is_looked_for_again() -> None:
    run = played(Kind.COORDINATOR_MOVED, brokers=2)
    good(run)
    assert 16 in [error for _, error in run.answered(ApiKey.HEARTBEAT, "m1", AT)]
    assert run.sent(ApiKey.FIND_COORDINATOR, "m1", AT) != []


def test_a_loading_coordinator_takes_no_commits() -> None:
    run = played(Kind.COORDINATOR_LOADS, seconds=1.0, members=BUSY)
    good(run)
    asked = [at for at in run.sent(ApiKey.OFFSET_COMMIT, "m1", AT) if at < AT + 1.0]
    assert asked != []
    assert stored(run)[0] >= AT + 1.0


# -- topics --------------------------------------------------------------------------------------


def test_added_partitions_are_read() -> None:
    run = played(Kind.ADD_PARTITIONS, number=2)
    good(run)
    given = {tp.partition for each in run.last_round.members for tp in each.partitions}
    assert given == set(range(6))


def test_a_deleted_topic_is_assigned_to_no_member() -> None:
    both = ("t0", "t1")
    members = (member(0, topics=both), member(1, topics=both))
    run = played(Kind.DELETE_TOPIC, topics={"t0": 2, "t1": 2}, members=members)
    good(run)
    given = {tp.topic for each in run.last_round.members for tp in each.partitions}
    assert given == {"t0"}


def test_deleted_offsets_are_gone() -> None:
    run = played(Kind.DELETE_OFFSETS)
    good(run)
    gone = [at for at, event in run.of(CommitStored, "broker") if event.offset is None]
    assert gone == pytest.approx([AT] * 4)


def test_produce_writes_to_every_partition() -> None:
    run = played(Kind.PRODUCE, number=2)
    good(run)
    counts = [event.count for _, event in run.of(Delivered, "", AT, AT + 0.5)]
    assert sorted(counts)[-4:] >= [6] * 4
