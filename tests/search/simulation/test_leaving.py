"""What members tell when they close: static ones that stay, and those that leave (KIP-1092)."""

from dataclasses import replace

import pytest

from kgroup.codes import ApiKey
from kgroup.journal import AnswerReceived, MemberStopped, OwnershipStep, RequestSent
from kgroup.types import ChangeKind, Leave
from tests.search.simulation.choices import Choices
from tests.search.simulation.drawing import draw_plan
from tests.search.simulation.live.run import play_live
from tests.search.simulation.live_plans import plan as live_plan
from tests.search.simulation.outcome import Outcome
from tests.search.simulation.perturbation import Kind, Perturbation
from tests.search.simulation.plan import Plan
from tests.search.simulation.schedule import Level, Mode, Schedule
from tests.search.simulation.worlds import calm, events, played, struck

STATIC, DYNAMIC = 2, 1
SEEDS = range(60)
CLOSES = Perturbation(10.0, Kind.LEAVE, STATIC)


def leaving(plan: Plan, index: int) -> Plan:
    """Return a plan whose members close with a word, from one on."""
    members = [
        replace(each, leave=Leave.LEAVE) if each.index == index else each for each in plan.members
    ]
    return replace(plan, members=tuple(members))


def goodbyes(outcome: Outcome, member: str = "m2") -> int:
    sent = events(outcome, RequestSent, member)
    return len([each for each in sent if each.api is ApiKey.LEAVE_GROUP])


@pytest.mark.slow
@pytest.mark.parametrize("leaves", [True, False])
def test_a_static_member_leaves_when_it_is_to_and_says_what_it_did(leaves: bool) -> None:
    plan = leaving(struck(CLOSES), STATIC) if leaves else struck(CLOSES)
    outcome = played(plan)
    (stopped,) = events(outcome, MemberStopped, "m2")
    assert (stopped.left, goodbyes(outcome)) == (leaves, int(leaves))
    assert stopped.mode is (Leave.LEAVE if leaves else Leave.DEFAULT)
    assert not outcome.violations


@pytest.mark.slow
def test_at_level_b_a_static_member_leaves_when_it_is_to() -> None:
    plan = live_plan(replace(CLOSES, at=4.0, member=0), quiet_at=6.0, ends_at=12.0)
    for leave in (Leave.LEAVE, Leave.DEFAULT):
        members = [replace(each, instance=f"i{each.index}", leave=leave) for each in plan.members]
        static = replace(plan, members=tuple(members))
        outcome = play_live(Schedule(Level.B, picks=()), plan=static, keep=True)
        (stopped,) = events(outcome, MemberStopped, "m0")
        assert (stopped.left, stopped.mode) == (leave is Leave.LEAVE, leave)
        assert not outcome.violations


@pytest.mark.slow
@pytest.mark.parametrize("finds", [True, False])
def test_at_level_b_who_finds_no_coordinator_has_not_left(finds: bool) -> None:
    plan = live_plan(
        Perturbation(4.0, Kind.COORDINATOR_KILLED, seconds=0.05 if finds else 12.0),
        Perturbation(6.0, Kind.LEAVE, 0),
        quiet_at=20.0,
        ends_at=35.0,
    )
    members = [replace(each, instance=f"i{each.index}", leave=Leave.LEAVE) for each in plan.members]
    static = replace(plan, members=tuple(members))
    outcome = play_live(Schedule(Level.B, picks=()), plan=static, keep=True)
    (stopped,) = events(outcome, MemberStopped, "m0")
    assert (stopped.left, bool(goodbyes(outcome, "m0"))) == (finds, finds)
    assert not outcome.violations


@pytest.mark.slow
def test_who_left_came_back_and_closes_without_a_coordinator_has_not_left() -> None:
    """1. A member unsubscribes, with a LeaveGroup; 2. it comes back; 3. no coordinator can be had
    when it closes: the LeaveGroup of step 1 says nothing about that."""
    plan = struck(
        Perturbation(5.0, Kind.RESUBSCRIBE, DYNAMIC, seconds=1.0),
        Perturbation(12.0, Kind.COORDINATOR_KILLED, seconds=12.0),
        Perturbation(13.5, Kind.LEAVE, DYNAMIC),
    )
    outcome = played(replace(plan, brokers=1, quiet_at=25.0, ends_at=60.0))
    (stopped,) = events(outcome, MemberStopped, "m1")
    assert goodbyes(outcome, "m1") == 1
    assert not stopped.left
    assert not outcome.violations


@pytest.mark.slow
def test_who_loses_its_generation_while_it_closes_has_handed_nothing_over() -> None:
    """1. A member closes with a batch in hand; 2. a heartbeat tells that it was removed: what it
    holds is lost, and it has ended, in one step."""
    members = [
        replace(each, handling=3.0) if each.index == DYNAMIC else each for each in calm().members
    ]
    plan = struck(Perturbation(10.0, Kind.EVICT, DYNAMIC), Perturbation(10.0, Kind.LEAVE, DYNAMIC))
    outcome = played(replace(plan, members=tuple(members)))
    refused = [each for each in events(outcome, AnswerReceived, "m1") if each.error]
    lost = [e for e in events(outcome, OwnershipStep, "m1") if e.kind is ChangeKind.LOST]
    assert refused
    assert lost
    assert not outcome.violations


def test_some_static_members_are_to_leave_and_no_dynamic_one() -> None:
    plans = [draw_plan(Choices.drawn(seed), mode) for seed in SEEDS for mode in Mode]
    members = [each for plan in plans for each in plan.members]
    static = [each for each in members if each.instance is not None]
    to_leave = sum(each.leave is Leave.LEAVE for each in static)
    assert len(static) / 6 < to_leave < len(static) / 3
    assert not [each for each in members if each.leave is not Leave.DEFAULT and not each.instance]


@pytest.mark.parametrize("mode", Mode)
def test_a_schedule_that_was_saved_before_is_the_same_without_that_question(mode: Mode) -> None:
    for seed in SEEDS:
        choices = Choices.drawn(seed)
        plan = draw_plan(choices, mode)
        former = [pick for pick in choices.picks if not pick.site.endswith("/leave")]
        stay = tuple(replace(each, leave=Leave.DEFAULT) for each in plan.members)
        assert draw_plan(Choices.replayed(former), mode) == replace(plan, members=stay)
