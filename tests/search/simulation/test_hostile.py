"""Hostile groups: members are lured into short-lived states, and meet there what is laid for them.

Each ambush is shown by a plan written by hand; that nothing else has changed, by seeds.
"""

from collections import Counter
from dataclasses import replace

import pytest

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import ArgumentError
from kgroup.journal import (
    AnswerReceived,
    Entry,
    FaultStep,
    GenerationEntered,
)
from kgroup.membership.triggers import Trigger
from kgroup.testing.broker.agenda import Agenda
from kgroup.types import MemberState
from kgroup.wire.messages import HeartbeatRequest
from tests.search.simulation.choices import Choices
from tests.search.simulation.drawing import draw_plan
from tests.search.simulation.plan import Ambush, Ploy
from tests.search.simulation.play import play
from tests.search.simulation.schedule import Level, Mode, Outcome, Schedule
from tests.search.simulation.world.refusing import Refusals
from tests.search.simulation.worlds import calm, events, played

_S = MemberState
_T = Trigger
_E = ErrorCode
SIGNALS = (ApiKey.HEARTBEAT, ApiKey.OFFSET_COMMIT)
STATIC = 2


def ambushed(*ambushes: Ambush) -> Outcome:
    """Play the calm group, with two members of three, and ambushes."""
    plan = replace(calm(), ambushes=ambushes, quiet_at=30.0, ends_at=50.0)
    return played(plan)


def lies(state: MemberState, ploy: Ploy, member: int = 0, **more: object) -> Ambush:
    """Return an ambush that lasts for a few heartbeats."""
    plain = Ambush(6.0, state, ploy, after=0.0, seconds=2.5, linger=True, member=member)
    return replace(plain, **more)  # type: ignore[arg-type]


def met(outcome: Outcome) -> Counter[tuple[MemberState, Trigger]]:
    """Return the cells whose rows have fired."""
    cells: Counter[tuple[MemberState, Trigger]] = Counter()
    for row, count in outcome.rows.items():
        cells[row.at, row.on] += count
    return cells


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "code", "cell"),
    [
        (_S.ASSIGNING, _E.GROUP_AUTHORIZATION_FAILED, _T.NOT_PERMITTED),
        (_S.ASSIGNING, _E.ILLEGAL_GENERATION, _T.GENERATION_LOST),
        (_S.ASSIGNING, _E.UNKNOWN_MEMBER_ID, _T.MEMBER_LOST),
        (_S.ASSIGNING, _E.INVALID_GROUP_ID, _T.REFUSED),
        (_S.RELEASING, _E.GROUP_AUTHORIZATION_FAILED, _T.NOT_PERMITTED),
        (_S.RELEASING, _E.INVALID_GROUP_ID, _T.REFUSED),
    ],
)
def test_a_refusal_meets_a_member_in_a_state_that_is_made_to_last(
    state: MemberState, code: ErrorCode, cell: Trigger
) -> None:
    outcome = ambushed(lies(state, Ploy.REFUSE, apis=SIGNALS, code=code, times=1))
    assert met(outcome)[state, cell]
    assert not outcome.violations


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ploy", "cell"),
    [
        (Ploy.FAIL, (_S.ASSIGNING, _T.ASSIGNOR_FAILED)),
        (Ploy.LATE, (_S.ASSIGNING, _T.RETRY_LATER)),
        (Ploy.GARBLE, (_S.SYNCING, _T.ASSIGNMENT_UNREADABLE)),
        (Ploy.AGAIN, (_S.STABLE, _T.REJOIN_DUE)),
        (Ploy.UNSUBSCRIBE, (_S.ASSIGNING, _T.UNSUBSCRIBED)),
        (Ploy.CLOSE, (_S.ASSIGNING, _T.CLOSE_REQUESTED)),
        (Ploy.ENFORCE, (_S.ASSIGNING, _T.REBALANCE_ENFORCED)),
    ],
)
def test_a_leader_meets_what_is_laid_for_it_while_it_assigns(
    ploy: Ploy, cell: tuple[MemberState, Trigger]
) -> None:
    outcome = ambushed(lies(_S.ASSIGNING, ploy, seconds=1.5))
    assert met(outcome)[cell]
    assert not outcome.violations


@pytest.mark.slow
def test_a_subscription_that_cannot_be_written_ends_a_member_and_it_is_started_again() -> None:
    outcome = ambushed(
        lies(_S.STABLE, Ploy.MUTE), lies(_S.ASSIGNING, Ploy.ENFORCE, at=6.5, linger=False)
    )
    assert met(outcome)[_S.JOINING, _T.SUBSCRIPTION_FAILED]
    assert not outcome.violations


@pytest.mark.slow
@pytest.mark.parametrize("ploy", [Ploy.SUBSCRIBE, Ploy.UNSUBSCRIBE, Ploy.CLOSE, Ploy.ENFORCE])
def test_what_is_asked_of_a_member_that_has_failed_comes_to_its_machine(ploy: Ploy) -> None:
    asked = {
        Ploy.SUBSCRIBE: _T.SUBSCRIBED,
        Ploy.UNSUBSCRIBE: _T.UNSUBSCRIBED,
        Ploy.CLOSE: _T.CLOSE_REQUESTED,
        Ploy.ENFORCE: _T.REBALANCE_ENFORCED,
    }
    outcome = ambushed(lies(_S.FAILED, ploy))
    assert met(outcome)[_S.FAILED, asked[ploy]] >= (ploy is not Ploy.SUBSCRIBE)
    assert not outcome.violations


@pytest.mark.slow
def test_a_dynamic_member_never_hears_that_its_instance_id_is_fenced() -> None:
    refused = {"apis": SIGNALS, "code": _E.FENCED_INSTANCE_ID, "times": 1}
    assert not met(ambushed(lies(_S.ASSIGNING, Ploy.REFUSE, 0, **refused)))[_S.ASSIGNING, _T.FENCED]
    assert met(ambushed(lies(_S.FENCED, Ploy.ENFORCE, STATIC)))[_S.FENCED, _T.REBALANCE_ENFORCED]


@pytest.mark.slow
def test_a_refusal_stands_in_the_journal_as_a_fault_that_concerns_everybody() -> None:
    outcome = ambushed(
        lies(_S.ASSIGNING, Ploy.REFUSE, apis=SIGNALS, code=_E.UNKNOWN_MEMBER_ID, times=1)
    )
    assert {step.target for step in events(outcome, FaultStep) if step.fault == "REFUSE"} == {""}


@pytest.mark.slow
def test_a_hostile_seed_gives_the_same_run_each_time_as_objects_and_as_bytes() -> None:
    runs = [play(Schedule(level, Mode.HOSTILE, 4)).digest for level in (Level.A, Level.A_BYTES)]
    assert len({*runs, play(Schedule(Level.A, Mode.HOSTILE, 4)).digest}) == 1


def test_only_hostile_groups_have_ambushes_and_their_tamest_draw_has_none() -> None:
    for mode in Mode:
        laid = any(draw_plan(Choices.drawn(seed), mode).ambushes for seed in range(3))
        assert laid == (mode is Mode.HOSTILE)
    assert not draw_plan(Choices.replayed(()), Mode.HOSTILE).ambushes


@pytest.mark.parametrize("level", [Level.B, Level.C])
def test_there_are_no_hostile_groups_of_whole_consumers(level: Level) -> None:
    with pytest.raises(ArgumentError, match="ambushes are laid for machines"):
        Schedule(level, Mode.HOSTILE)


@pytest.mark.slow
def test_a_member_whose_id_is_called_unknown_joins_anew() -> None:
    asked = (ApiKey.HEARTBEAT,)
    refused = lies(_S.ASSIGNING, Ploy.REFUSE, apis=asked, code=_E.UNKNOWN_MEMBER_ID, times=1)
    outcome = ambushed(refused)
    named = {step.member_id for step in events(outcome, GenerationEntered)}
    assert len(named) == len(("m0", "m1", "m2", "the one that is called unknown, anew"))


@pytest.mark.slow
@pytest.mark.parametrize(("away", "delayed"), [(2.5, True), (20.0, False)])
def test_what_an_ambush_has_made_late_is_forgotten_before_the_group_is_left_in_peace(
    away: float, delayed: bool
) -> None:
    """1. The leader assigns for long; 2. a follower waits in SyncGroup, whose answer is to be late,
    and unsubscribes; 3. it subscribes again: its next SyncGroup may be long after the ambush."""
    assigns = lies(_S.ASSIGNING, Ploy.ENFORCE)
    goes = lies(_S.SYNCING, Ploy.UNSUBSCRIBE, at=6.01, seconds=away)
    outcome = played(replace(calm(), ambushes=(assigns, goes), quiet_at=30.0, ends_at=60.0))
    assert any(step.fault == "DELAY" for step in events(outcome, FaultStep)) is delayed
    assert not outcome.violations


@pytest.mark.parametrize(
    ("code", "heard"),
    [
        (_E.REBALANCE_IN_PROGRESS, ["renewed"]),
        (_E.UNKNOWN_MEMBER_ID, ["UNKNOWN_MEMBER_ID"]),
        (_E.FENCED_INSTANCE_ID, ["FENCED_INSTANCE_ID"]),
        (_E.ILLEGAL_GENERATION, ["ILLEGAL_GENERATION"]),
        (_E.NOT_COORDINATOR, []),
    ],
)
def test_a_heartbeat_answered_with_a_rebalance_restarts_the_session(
    code: ErrorCode, heard: list[str]
) -> None:
    """Else it relies on a session that its coordinator ends: another one owns what it has."""
    calls: list[str] = []

    def bring_about(_: object, why: ErrorCode) -> None:
        calls.append(why.name)

    refusals = Refusals(Agenda(), bring_about, lambda: calls.append("renewed"))
    refusals.refuse(ApiKey.HEARTBEAT, code, times=1, until=1.0)
    for _ in range(2):
        refusals.answer(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"))
    assert calls == heard


def refused(code: ErrorCode) -> Outcome:
    """Have a heartbeat refused with a code by which a coordinator ends something."""
    if code is _E.FENCED_INSTANCE_ID:
        return ambushed(lies(_S.FENCED, Ploy.ENFORCE, STATIC))  # that is how one comes there
    heartbeat = (ApiKey.HEARTBEAT,)
    return ambushed(lies(_S.ASSIGNING, Ploy.REFUSE, apis=heartbeat, code=code, times=1))


def entered(outcome: Outcome) -> list[tuple[float, GenerationEntered]]:
    """Return when which generation was entered."""
    return [
        (entry.at, entry.event)
        for entry in outcome.entries
        if isinstance(entry.event, GenerationEntered)
    ]


def refusals_of(outcome: Outcome, code: ErrorCode) -> list[Entry]:
    """Return the heartbeats that were refused."""
    return [
        entry
        for entry in outcome.entries
        if isinstance(entry.event, AnswerReceived) and entry.event.error == code
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "fault"),
    [
        (_E.UNKNOWN_MEMBER_ID, "EVICT"),
        (_E.FENCED_INSTANCE_ID, "TWIN"),
        (_E.ILLEGAL_GENERATION, "MISSED_ROUND"),
    ],
)
def test_a_code_that_ends_something_has_a_reason_which_stands_in_the_journal(
    code: ErrorCode, fault: str
) -> None:
    outcome = refused(code)
    faults = {step.fault for step in events(outcome, FaultStep)}
    assert fault in faults
    assert refusals_of(outcome, code)
    assert not outcome.violations


@pytest.mark.slow
def test_the_number_of_a_wrong_generation_is_not_used_again() -> None:
    lure = lies(_S.JOINING, Ploy.ENFORCE, linger=False)
    refuse = lies(_S.STABLE, Ploy.REFUSE, apis=(ApiKey.HEARTBEAT,), code=_E.ILLEGAL_GENERATION)
    outcome = ambushed(lure, refuse)
    (first, *_) = refusals_of(outcome, _E.ILLEGAL_GENERATION)
    before = [step.generation_id for at, step in entered(outcome) if at <= first.at]
    after = [step.generation_id for at, step in entered(outcome) if at > first.at]
    assert min(after) > max(before) + 1  # an unknown generation comes between
