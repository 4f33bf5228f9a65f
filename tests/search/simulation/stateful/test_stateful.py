"""No run that Hypothesis chooses rule by rule breaks a promise; a planted bug does."""

from dataclasses import replace
from math import inf

import pytest

from kgroup.membership.events import Event, Moment
from kgroup.membership.step import Step, step
from kgroup.membership.value import GroupMember
from kgroup.types import ChangeKind
from tests.membership import machine
from tests.search.simulation.plan import Plan
from tests.search.simulation.stateful.hunting import SLICE, SLICES, hunt
from tests.search.simulation.stateful.machine import GroupMachine
from tests.search.simulation.stateful.stage import Stage
from tests.search.simulation.worlds import calm


def test_no_rule_breaks_a_promise_in_a_few_runs() -> None:
    hunt(GroupMachine, 3)


@pytest.mark.slow
@pytest.mark.parametrize("chance", range(SLICES))
def test_no_rule_breaks_a_promise_in_many_runs(chance: int) -> None:
    try:
        hunt(GroupMachine, SLICE, chance=chance, shrinks=False)
    except AssertionError as error:
        error.add_note(
            f'make search ARGS="stateful --examples {SLICE} --seed {chance}" shortens it'
        )
        raise


# -- test stage ------------------------------------------------------------------------------------


def reading_slowly() -> Stage:
    """Return a group of one that has more to read than the tail has seconds.

    12 records a second are written to each partition; it reads 8 of each in a second.
    """
    plan: Plan = replace(calm(), produce_every=0.25)
    stage = Stage(plan)
    habits = replace(plan.members[0], handling=1.0)
    stage.join(habits, static=False)
    stage.advance(60.0)
    return stage


def test_a_slow_application_that_is_reading_when_the_tail_ends_may_read_on() -> None:
    assert reading_slowly().settle() == []


def test_a_member_that_does_not_read_on_is_found_after_the_tail() -> None:
    stage = reading_slowly()
    (life,) = stage.crew.everybody
    life.application.stalled_until = inf
    assert "L1" in {each.rule for each in stage.settle()}


# -- test planted ----------------------------------------------------------------------------------


_ENOUGH = 200
"""Examples within which it is found."""
_STEPS = 8
"""Rules of one example. It is shown as it was found: a group that never comes to rest is played to
its end for each shorter one that is tried, so making it short takes minutes."""


def _tells_no_loss(member: GroupMember, event: Event, moment: Moment) -> Step:
    """Step, but never have the application give up what is lost."""
    result = step(member, event, moment)
    kept = tuple(each for each in result.member.changes if each.kind is not ChangeKind.LOST)
    return replace(result, member=replace(result.member, changes=kept))


@pytest.mark.slow
def test_partitions_kept_after_a_loss_are_found_with_the_rules_that_led_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "step", _tells_no_loss)
    with pytest.raises(AssertionError) as found:
        hunt(GroupMachine, _ENOUGH, steps=_STEPS, shrinks=False)
    notes = "\n".join(found.value.__notes__)
    rules = [line for line in notes.splitlines() if " = state." in f" = {line}"]
    done = [line for line in rules if "nothing_is_broken" not in line and "teardown" not in line]
    assert 1 <= len(done) <= _STEPS + 1, notes
