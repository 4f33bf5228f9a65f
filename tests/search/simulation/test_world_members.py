"""Members of level A: how they leave, how a static leader leads on, when one is stuck."""

from dataclasses import replace

import pytest

from kgroup.audit.oracles.watch import Watch
from kgroup.codes import ApiKey
from kgroup.journal import AnswerReceived, MemberStopped, OwnershipStep, RequestSent, RoundStored
from kgroup.machine.coordinator import Coordinator
from kgroup.membership.events import Tick
from kgroup.membership.value import Identity
from kgroup.types import ChangeKind, Leave, MemberState
from tests.search.simulation.choices import Choices
from tests.search.simulation.drawing import draw_plan
from tests.search.simulation.live.run import play_live
from tests.search.simulation.live_plans import plan as live_plan
from tests.search.simulation.plan import Kind, MemberPlan, Perturbation, Plan
from tests.search.simulation.recorder import Recorder
from tests.search.simulation.schedule import Level, Mode, Outcome, Schedule
from tests.search.simulation.world.cluster import Brokers
from tests.search.simulation.world.crew import Crew, Life
from tests.search.simulation.world.run import at_rest, stuck
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
def test_a_member_of_level_b_without_a_coordinator_has_not_left(finds: bool) -> None:
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
def test_a_member_that_came_back_and_closes_without_a_coordinator_has_not_left() -> None:
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
def test_a_closing_member_that_loses_its_generation_hands_nothing_over() -> None:
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


# -- test leading on -------------------------------------------------------------------------------


LEADER, OTHER = 0, 1
FIRST_ROUNDS = 2
"""One for each member that starts."""
GROWS = Perturbation(11.0, Kind.ADD_PARTITIONS, member=OTHER, number=1)
UNANSWERED = Perturbation(9.0, Kind.LOSE, LEADER, api=ApiKey.DESCRIBE_GROUPS, number=5)


def plan(*what: Perturbation) -> Plan:
    """Return a group of a static leader of one topic, and a static follower of another one."""
    members = tuple(
        MemberPlan(number, f"i{number}", 1.0 * number, (f"t{number}",)) for number in range(2)
    )
    topics = {"t0": 2, "t1": 2}
    return replace(calm(), topics=topics, members=members, perturbations=what)


RESTARTS = Perturbation(10.0, Kind.RESTART, LEADER, seconds=2.0)
RESUBSCRIBES = Perturbation(10.0, Kind.RESUBSCRIBE, LEADER, seconds=2.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "what",
    [(RESTARTS,), (RESUBSCRIBES,), (UNANSWERED, RESUBSCRIBES)],
    ids=["another process asks", "the same one asks", "the same one is not answered"],
)
def test_what_grew_while_the_leader_was_away_is_given_out_in_one_round(
    what: tuple[Perturbation, ...],
) -> None:
    """1. A static leader goes, as a process or by unsubscribing; 2. a topic grows that only another
    member reads; 3. it comes back and leads on, unasked; 4. it asks what was assigned, and knows
    what it assigned from itself."""
    outcome = played(plan(*what, GROWS))
    assert outcome.violations == ()
    assert any(each.skip_assignment for each in events(outcome, AnswerReceived, "m0"))
    assert len(events(outcome, RoundStored)) == FIRST_ROUNDS + 1


# -- test world verdicts ---------------------------------------------------------------------------


def crew_of_one() -> tuple[Crew, Life]:
    plan, choices = calm(), Choices.replayed(())
    brokers = Brokers(plan, choices, through_bytes=False)
    recorder = Recorder(Watch({}), lambda: brokers.now, keep=False, ordered=True)
    crew = Crew(plan, brokers, recorder, choices)
    crew.start(plan.members[0])
    return crew, crew.lives[0][0]


def test_an_unsubscribed_member_must_be_out_of_the_group_in_the_end() -> None:
    crew, life = crew_of_one()
    member = life.member
    member.value = replace(member.value, wishes=replace(member.value.wishes, topics=None))
    for state, rules in (
        (MemberState.STABLE, ["L7"]),
        (MemberState.LEAVING, ["L7"]),
        (MemberState.UNSUBSCRIBED, []),
        (MemberState.FENCED, []),
    ):
        member.value = replace(member.value, state=state)
        assert [each.rule for each in at_rest(crew)] == rules


def test_a_member_that_a_step_leaves_without_a_timer_is_looked_at_after_that_step() -> None:
    plan, choices, seen = calm(), Choices.replayed(()), list[Life]()
    brokers = Brokers(plan, choices, through_bytes=False)
    recorder = Recorder(Watch({}), lambda: brokers.now, keep=False, ordered=True)
    crew = Crew(plan, brokers, recorder, choices)
    crew.on_idle = seen.append
    crew.start(plan.members[0])
    member = crew.lives[0][0].member
    assert stuck(crew.lives[0][0]) is None
    seen.clear()  # it began without a timer: it awaited the answer to its first question
    member.value = replace(
        member.value,
        state=MemberState.LEAVING,
        identity=Identity(),
        coordinator=Coordinator(),
        heartbeat=None,
    )
    member.apply(Tick())
    assert [stuck(life) is not None for life in seen] == [True]


def slow() -> Plan:
    """Return a group whose applications need longer for what is written than the run has."""
    plan = calm()
    members = tuple(replace(each, handling=1.0) for each in plan.members)
    return replace(plan, members=members, produce_every=0.25, ends_at=25.0)


def test_a_slow_application_that_is_reading_at_the_end_reads_on_to_the_end_of_the_logs() -> None:
    # 12 records a second are written to each partition for 20 s; it reads 8 of each in a second.
    outcome = played(slow())
    assert outcome.rules == ()
    assert 29.0 < outcome.seconds < 33.0


def test_a_member_that_does_not_read_on_is_found_however_long_it_has() -> None:
    paused = Perturbation(at=10.0, kind=Kind.PAUSE, member=0, seconds=90.0)
    outcome = played(replace(slow(), perturbations=(paused,)))
    assert "L1" in outcome.rules
    assert any("m0.0 owns it and has read to" in each.text for each in outcome.violations)


def test_a_group_that_has_read_everything_ends_when_it_was_meant_to() -> None:
    outcome = played(calm())
    assert outcome.rules == ()
    assert outcome.seconds <= calm().ends_at
