"""Level A: runs are repeatable, large enough, and what a plan says really happens."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from kgroup.codes import ApiKey
from kgroup.journal import (
    AnswerReceived,
    CallbackStage,
    CallbackStep,
    CloseAsked,
    CommitStage,
    CommitStep,
    CommitStored,
    Delivered,
    FaultStep,
    GenerationEntered,
    MemberStarted,
    MemberStopped,
    OwnershipStep,
    Paused,
    Phase,
    PositionMoved,
    RequestSent,
    RoundStored,
    StateChanged,
)
from kgroup.testing.simulation.choices import Choices
from kgroup.testing.simulation.outcome import Outcome
from kgroup.testing.simulation.perturbation import Kind, Perturbation
from kgroup.testing.simulation.play import play
from kgroup.testing.simulation.schedule import Level, Mode, Schedule
from kgroup.types import ChangeKind, MemberState
from tests.testing.simulation.worlds import calm, events, played, struck

FEW = range(3)
MANY = 150
AT = 8.0


def digests(level: Level, seeds: range) -> list[str]:
    return [play(Schedule(level, Mode.MIXED, seed)).digest for seed in seeds]


# -- repeatable ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_seed_gives_the_same_run_each_time_as_objects_and_as_bytes() -> None:
    assert digests(Level.A, FEW) == digests(Level.A, FEW) == digests(Level.A_BYTES, FEW)


def test_the_picks_of_a_run_are_the_run() -> None:
    first = play(Schedule(Level.A, Mode.STATIC, 5))
    again = play(Schedule(Level.A, Mode.STATIC, 0, first.picks))
    assert (again.digest, again.picks) == (first.digest, first.picks)


@pytest.mark.slow
def test_a_seed_gives_the_same_run_whatever_hashes_are() -> None:
    script = (
        "from tests.testing.simulation.test_world import *;print(digests(Level.A, range(40, 60)))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1


def test_a_pick_that_is_taken_out_moves_no_other() -> None:
    drawn = Choices.drawn(1)
    first = [(drawn.choose("a", 9), drawn.choose("b", 9)) for _ in range(5)]
    replayed = Choices.replayed(pick for pick in drawn.picks if pick.site != "a")
    assert [(replayed.choose("a", 9), replayed.choose("b", 9)) for _ in range(5)] == [
        (0, b) for _, b in first
    ]


# -- large enough --------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_schedule_has_enough_members_seconds_events_and_perturbations_on_average() -> None:
    outcomes = [play(Schedule(Level.A, Mode.MIXED, seed)) for seed in range(MANY)]

    def mean(what: Callable[[Outcome], float]) -> float:
        return sum(map(what, outcomes)) / MANY

    assert mean(lambda each: len(each.plan.members)) >= 4
    assert mean(lambda each: each.seconds) >= 40
    assert mean(lambda each: each.events) >= 800
    assert mean(lambda each: len(each.plan.perturbations)) >= 2


# -- what happens --------------------------------------------------------------------------------


def test_nothing_is_wrong_with_a_calm_group() -> None:
    outcome = played(calm())
    assert outcome.rules == ()
    assert len(events(outcome, GenerationEntered)) >= 3
    assert events(outcome, Delivered)


def states(outcome: Outcome, member: str) -> list[MemberState]:
    return [each.after for each in events(outcome, StateChanged, member)]


def lost(outcome: Outcome, member: str) -> bool:
    return any(each.kind is ChangeKind.LOST for each in events(outcome, OwnershipStep, member))


def searches(outcome: Outcome, member: str) -> int:
    asked = events(outcome, RequestSent, member)
    return sum(each.api is ApiKey.FIND_COORDINATOR for each in asked)


def stored_between(outcome: Outcome, first: float, last: float) -> int:
    stored = (each for each in outcome.entries if isinstance(each.event, CommitStored))
    return sum(first <= each.at < last for each in stored)


def starts(outcome: Outcome, member: str) -> int:
    return len(events(outcome, MemberStarted, member))


def last_round(outcome: Outcome) -> Any:
    return events(outcome, RoundStored)[-1]


def unknown_but_stored(outcome: Outcome) -> bool:
    unknown = {
        (each.claim.tp, each.offset)
        for each in events(outcome, CommitStep, "m0")
        if each.stage is CommitStage.UNKNOWN
    }
    kept = {(each.tp, each.offset) for each in events(outcome, CommitStored)}
    return bool(unknown & kept)


HAPPENS: dict[Perturbation, Callable[[Outcome], object]] = {
    Perturbation(AT, Kind.JOIN): lambda run: starts(run, "m3") == 1,
    Perturbation(AT, Kind.LEAVE): lambda run: events(run, MemberStopped, "m0"),
    Perturbation(AT, Kind.KILL): lambda run: (
        not events(run, MemberStopped, "m0") and len(last_round(run).members) == 2
    ),
    Perturbation(AT, Kind.RESTART, 2, 3.0): lambda run: starts(run, "m2") == 2,
    Perturbation(AT, Kind.TWIN, 2): lambda run: MemberState.FENCED in states(run, "m2"),
    Perturbation(AT, Kind.RESUBSCRIBE, 0, 2.0): lambda run: (
        MemberState.UNSUBSCRIBED in states(run, "m0")
    ),
    Perturbation(AT, Kind.ENFORCE, 1): lambda run: MemberState.JOINING in states(run, "m1"),
    Perturbation(AT, Kind.FREEZE, 0, 8.0): lambda run: lost(run, "m0"),
    Perturbation(AT, Kind.STALL, 0, 11.0): lambda run: MemberState.DORMANT in states(run, "m0"),
    Perturbation(AT, Kind.COMMIT, 1): lambda run: events(run, CommitStored),
    Perturbation(AT, Kind.SEEK, 0, number=2): lambda run: events(run, PositionMoved, "m0"),
    Perturbation(AT, Kind.PAUSE, 0, 2.0): lambda run: events(run, Paused, "m0"),
    Perturbation(AT, Kind.LOSE, 0, api=ApiKey.OFFSET_COMMIT, number=1): unknown_but_stored,
    Perturbation(AT, Kind.BLACKHOLE, 0, 8.0): lambda run: lost(run, "m0"),
    Perturbation(AT, Kind.DEAF, 0, 8.0): lambda run: lost(run, "m0"),
    Perturbation(AT, Kind.COORDINATOR_MOVED): lambda run: searches(run, "m0") == 2,
    Perturbation(AT, Kind.COORDINATOR_KILLED, seconds=4.0): lambda run: searches(run, "m0") > 1,
    Perturbation(AT, Kind.COORDINATOR_LOADS, seconds=2.0): lambda run: (
        stored_between(run, AT - 2, AT) and not stored_between(run, AT, AT + 2)
    ),
    Perturbation(AT, Kind.EVICT, 0): lambda run: lost(run, "m0"),
    Perturbation(AT, Kind.ADD_PARTITIONS, number=2): lambda run: (
        sum(len(each.partitions) for each in last_round(run).members) == 8
    ),
    Perturbation(AT, Kind.DELETE_OFFSETS): lambda run: any(
        each.offset is None for each in events(run, CommitStored)
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", HAPPENS, ids=lambda what: what.kind.name)
def test_a_perturbation_happens_and_breaks_no_promise(what: Perturbation) -> None:
    outcome = played(struck(what))
    assert HAPPENS[what](outcome)
    assert outcome.violations == ()


def test_a_listener_raises_once_and_ownership_changes_all_the_same() -> None:
    outcome = played(
        struck(
            Perturbation(AT, Kind.RAISING_LISTENER, 0),
            Perturbation(AT + 0.1, Kind.RESUBSCRIBE, 0, 1.0),
        )
    )
    raised = [
        each for each in events(outcome, CallbackStep, "m0") if each.stage is CallbackStage.RAISE
    ]
    assert len(raised) == 1
    assert outcome.violations == ()


def test_a_member_that_closes_already_gets_no_more_time_for_it() -> None:
    outcome = played(
        struck(
            Perturbation(AT, Kind.SLOW_LISTENER, 0, 9.0),
            Perturbation(AT + 0.1, Kind.LEAVE, 0),
            Perturbation(AT + 3.0, Kind.LEAVE, 0),
        )
    )
    assert len(events(outcome, CloseAsked, "m0")) == 1
    (ended,) = (
        each.at
        for each in outcome.entries
        if isinstance(each.event, MemberStopped) and each.source.member == "m0"
    )
    assert AT + 3.0 < ended <= AT + 0.1 + 5.0
    assert outcome.violations == ()


def test_a_delay_that_comes_true_late_is_told_while_it_lasts() -> None:
    delay = Perturbation(AT, Kind.DELAY, 0, 3.0, api=ApiKey.JOIN_GROUP)
    outcome = played(struck(delay, Perturbation(AT + 5.0, Kind.ENFORCE, 1)))
    told = [
        (each.event.phase, each.at)
        for each in outcome.entries
        if isinstance(each.event, FaultStep) and each.event.fault == "DELAY"
    ]
    answered = [
        each.at
        for each in outcome.entries
        if isinstance(each.event, AnswerReceived)
        and each.source.member == "m0"
        and each.event.api is ApiKey.JOIN_GROUP
    ]
    phases = [phase for phase, _ in told]
    assert phases == [Phase.BEGIN, Phase.END, Phase.BEGIN, Phase.END]
    assert answered[-1] == pytest.approx(told[-1][1], abs=0.1)
    assert outcome.violations == ()
