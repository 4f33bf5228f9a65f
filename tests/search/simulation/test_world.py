"""Level A: runs are repeatable, large enough, and what a plan says really happens."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kgroup.codes import ApiKey
from kgroup.errors import ConfigError
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
    PositionMove,
    PositionMoved,
    RequestSent,
    RoundStored,
    StateChanged,
)
from kgroup.types import ChangeKind, MemberState
from tests.search.simulation.choices import Choices
from tests.search.simulation.drawing import draw_plan
from tests.search.simulation.plan import Kind, Perturbation
from tests.search.simulation.play import play
from tests.search.simulation.schedule import Level, Mode, Outcome, Schedule
from tests.search.simulation.worlds import calm, events, played, struck, wide

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
        "from tests.search.simulation.test_world import *;print(digests(Level.A, range(40, 60)))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1


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


def test_a_group_has_two_to_eight_members_those_that_join_later_included() -> None:
    sizes = set()
    for seed in range(400):
        schedule = Schedule(Level.A, Mode.MIXED, seed)
        sizes.add(len(draw_plan(schedule.choices(), schedule.mode).members))
    assert sizes == set(range(2, 9))


@pytest.mark.parametrize("level", Level)
def test_an_oracle_that_is_not_there_cannot_be_left_out(level: Level) -> None:
    with pytest.raises(ConfigError, match="nonsense"):
        play(Schedule(level), without=["nonsense"])


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


def joined(outcome: Outcome, member: str) -> bool:
    """Tell whether a member joins anew after the strike."""
    return any(
        isinstance(each.event, StateChanged)
        and each.event.after is MemberState.JOINING
        and each.source.member == member
        and each.at >= AT
        for each in outcome.entries
    )


def asked_at_once(outcome: Outcome, member: str) -> bool:
    """Tell whether a member asks for a commit at the strike; by itself it would a little later."""
    return any(
        isinstance(each.event, CommitStep)
        and each.event.stage is CommitStage.REQUESTED
        and each.source.member == member
        and AT <= each.at < AT + 0.05
        for each in outcome.entries
    )


def sought(outcome: Outcome, member: str) -> bool:
    return any(
        isinstance(each.event, PositionMoved)
        and each.event.move is PositionMove.SEEK
        and each.source.member == member
        and each.at >= AT
        for each in outcome.entries
    )


def reconnected(outcome: Outcome, member: str) -> bool:
    """Tell whether a member sends anything after the strike on a connection that is new."""
    sent = [
        (each.at, each.event.connection)
        for each in outcome.entries
        if isinstance(each.event, RequestSent) and each.source.member == member
    ]
    known = {connection for at, connection in sent if at < AT}
    return any(connection not in known for _, connection in sent)


def slowest(outcome: Outcome, member: str, api: ApiKey) -> float:
    """Return how long the answer to a question took at most."""
    began: dict[tuple[int, int], float] = {}
    longest = 0.0
    for each in outcome.entries:
        event = each.event
        if not isinstance(event, RequestSent | AnswerReceived) or each.source.member != member:
            continue
        question = (event.connection, event.correlation_id)
        if isinstance(event, RequestSent) and event.api is api:
            began[question] = each.at
        elif isinstance(event, AnswerReceived) and question in began:
            longest = max(longest, each.at - began[question])
    return longest


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
    Perturbation(AT, Kind.SUBSCRIBE, 0, number=2): lambda run: (
        [tuple(each.topics) for each in last_round(run).members].count(("t0",)) == 1
    ),
    Perturbation(AT, Kind.RESUBSCRIBE, 0, 2.0): lambda run: (
        MemberState.UNSUBSCRIBED in states(run, "m0")
    ),
    Perturbation(AT, Kind.ENFORCE, 1): lambda run: joined(run, "m1"),
    Perturbation(AT, Kind.FREEZE, 0, 8.0): lambda run: lost(run, "m0"),
    Perturbation(AT, Kind.STALL, 0, 11.0): lambda run: MemberState.DORMANT in states(run, "m0"),
    Perturbation(AT, Kind.COMMIT, 1): lambda run: asked_at_once(run, "m1"),
    Perturbation(AT, Kind.SEEK, 0, number=2): lambda run: sought(run, "m0"),
    Perturbation(AT, Kind.PAUSE, 0, 2.0): lambda run: events(run, Paused, "m0"),
    Perturbation(AT, Kind.CUT, 0): lambda run: reconnected(run, "m0"),
    Perturbation(AT, Kind.HOLD, 0, 0.5, ApiKey.HEARTBEAT): lambda run: (
        slowest(run, "m0", ApiKey.HEARTBEAT) >= 0.5
    ),
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
    Perturbation(AT, Kind.DELETE_TOPIC): lambda run: (
        sum(len(each.partitions) for each in last_round(run).members) == 6
    ),
    Perturbation(AT, Kind.PRODUCE, number=2): lambda run: (
        # three records every half second until 20.0, and 2 * 3 at once
        max(each.last for each in events(run, Delivered)) + 1 == 40 * 3 + 6
    ),
    Perturbation(AT, Kind.DELETE_OFFSETS): lambda run: any(
        each.offset is None for each in events(run, CommitStored)
    ),
}


WIDE = (Kind.SUBSCRIBE, Kind.DELETE_TOPIC)
"""Kinds that need a second topic."""


@pytest.mark.slow
@pytest.mark.parametrize("what", HAPPENS, ids=lambda what: what.kind.name)
def test_a_perturbation_happens_and_breaks_no_promise(what: Perturbation) -> None:
    plan = wide() if what.kind in WIDE else calm()
    assert not HAPPENS[what](played(plan))  # without it, nothing of the kind happens
    outcome = played(replace(plan, perturbations=(what,)))
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


def test_a_delay_that_comes_true_late_is_journalled_while_it_lasts() -> None:
    delay = Perturbation(AT, Kind.DELAY, 0, 3.0, api=ApiKey.JOIN_GROUP)
    outcome = played(struck(delay, Perturbation(AT + 5.0, Kind.ENFORCE, 1)))
    seen = [
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
    phases = [phase for phase, _ in seen]
    assert phases == [Phase.BEGIN, Phase.END, Phase.BEGIN, Phase.END]
    assert answered[-1] == pytest.approx(seen[-1][1], abs=0.1)
    assert outcome.violations == ()
