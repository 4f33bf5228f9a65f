"""How a run that is played rule by rule comes to its end."""

from dataclasses import replace
from math import inf

from tests.search.simulation.plan import Plan
from tests.search.simulation.stateful.stage import Stage
from tests.search.simulation.worlds import calm


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


def test_who_does_not_read_on_is_found_after_the_tail() -> None:
    stage = reading_slowly()
    (life,) = stage.crew.everybody
    life.application.stalled_until = inf
    assert "L1" in {each.rule for each in stage.settle()}
