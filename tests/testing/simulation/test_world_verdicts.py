"""Who waits for nothing is seen at once, and who has unsubscribed and stays is seen at the end."""

from dataclasses import replace

from kgroup.journal.oracles.watch import Watch
from kgroup.membership.coordinator import Coordinator
from kgroup.membership.events import Tick
from kgroup.membership.value import Identity
from kgroup.testing.simulation.choices import Choices
from kgroup.testing.simulation.recorder import Recorder
from kgroup.testing.simulation.world.cluster import Brokers
from kgroup.testing.simulation.world.crew import Crew, Life
from kgroup.testing.simulation.world.verdicts import at_rest, stuck
from kgroup.types import MemberState
from tests.testing.simulation.worlds import calm


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
