"""Who waits for nothing is seen at once, and who has unsubscribed and stays is seen at the end."""

from dataclasses import replace

from kgroup.audit.oracles.watch import Watch
from kgroup.membership.coordinator import Coordinator
from kgroup.membership.events import Tick
from kgroup.membership.value import Identity
from kgroup.types import MemberState
from tests.search.simulation.choices import Choices
from tests.search.simulation.perturbation import Kind, Perturbation
from tests.search.simulation.plan import Plan
from tests.search.simulation.recorder import Recorder
from tests.search.simulation.world.cluster import Brokers
from tests.search.simulation.world.crew import Crew, Life
from tests.search.simulation.world.verdicts import at_rest, stuck
from tests.search.simulation.worlds import calm, played


def crew_of_one() -> tuple[Crew, Life]:
    plan, choices = calm(), Choices.replayed(())
    brokers = Brokers(plan, choices, through_bytes=False)
    recorder = Recorder(Watch({}), lambda: brokers.now, keep=False, ordered=True)
    crew = Crew(plan, brokers, recorder, choices)
    crew.start(plan.members[0])
    return crew, crew.lives[0][0]


def test_who_has_unsubscribed_must_be_out_of_the_group_in_the_end() -> None:
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


def test_who_does_not_read_on_is_found_however_long_it_has() -> None:
    paused = Perturbation(at=10.0, kind=Kind.PAUSE, member=0, seconds=90.0)
    outcome = played(replace(slow(), perturbations=(paused,)))
    assert "L1" in outcome.rules
    assert any("m0.0 owns it and has read to" in each.text for each in outcome.violations)


def test_a_group_that_has_read_everything_ends_when_it_was_meant_to() -> None:
    outcome = played(calm())
    assert outcome.rules == ()
    assert outcome.seconds <= calm().ends_at
