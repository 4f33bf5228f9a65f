"""Runs in which members have an order: another one than chance gives, and always the same."""

from dataclasses import replace

import pytest

from kgroup.codes import ApiKey
from kgroup.journal import RequestSent
from tests.search.simulation.choices import Choices
from tests.search.simulation.drawing import draw_plan
from tests.search.simulation.live.run import play_live
from tests.search.simulation.live_plans import plan as live_plan
from tests.search.simulation.plan import Order, Plan
from tests.search.simulation.play import play
from tests.search.simulation.schedule import Level, Mode, Schedule
from tests.search.simulation.worlds import calm, played

SEEDS = range(200)


def drawn(seed: int, mode: Mode = Mode.MIXED) -> Plan:
    return draw_plan(Choices.drawn(seed), mode)


def first_joins(order: Order | None, level: Level = Level.A) -> list[str]:
    """Return the members in the order in which they ask to join, when all begin at once."""
    plan = calm() if level is Level.A else live_plan(quiet_at=2.0, ends_at=5.0)
    members = tuple(replace(each, starts_at=0.0, instance=None) for each in plan.members[:3])
    plan = replace(plan, members=members, order=order)
    if level is Level.A:
        outcome = played(plan)
    else:
        outcome = play_live(Schedule(level, picks=()), plan=plan, keep=True)
    assert outcome.violations == ()
    asked = (
        entry.source.member
        for entry in outcome.entries
        if isinstance(entry.event, RequestSent) and entry.event.api is ApiKey.JOIN_GROUP
    )
    return list(dict.fromkeys(asked))


def test_the_first_member_is_fastest_and_becomes_last_at_each_change() -> None:
    order = Order((2, 0, 1), (5.0, 9.0))
    assert [order.rank(number, 0.0) for number in (2, 0, 1)] == [0, 1, 2]
    assert [order.rank(number, 5.0) for number in (2, 0, 1)] == [2, 0, 1]
    assert [order.rank(number, 9.0) for number in (2, 0, 1)] == [1, 2, 0]
    assert order.times("m2.0", 0.0) == 1.0
    assert order.times("m2-twin.1", 5.0) == order.times("m1", 0.0) == 2.0
    assert str(order) == "m2 before m0 before m1; the first becomes the last at 5.000, 9.000"


@pytest.mark.slow
def test_an_order_decides_which_member_joins_first_at_levels_a_and_b() -> None:
    assert first_joins(Order((2, 1, 0))) == ["m2", "m1", "m0"]
    assert first_joins(Order((1, 0, 2))) == ["m1", "m0", "m2"]
    assert first_joins(None) == ["m0", "m1", "m2"]
    assert first_joins(Order((1, 0)), Level.B) == ["m1", "m0"]
    assert first_joins(Order((0, 1)), Level.B) == ["m0", "m1"]


def test_one_run_in_eight_has_an_order_of_all_its_members() -> None:
    plans = [drawn(seed) for seed in SEEDS]
    orders = [(plan.order, plan) for plan in plans if plan.order is not None]
    assert len(SEEDS) / 16 < len(orders) < len(SEEDS) / 4
    for order, plan in orders:
        assert sorted(order.members) == [each.index for each in plan.members]
        assert 1 <= len(order.changes) <= 3
        assert list(order.changes) == sorted(order.changes)
        assert all(at < plan.quiet_at for at in order.changes)
    assert len({order.members for order, _ in orders}) > len(orders) / 2


def test_what_is_drawn_aside_leaves_all_else_of_a_seed_as_it_was() -> None:
    with_it, without = Choices.drawn(3), Choices.drawn(3)
    aside = [with_it.aside("order", 8) for _ in range(5)]
    assert any(aside)
    assert [with_it.choose("a", 9) for _ in range(5)] == [without.choose("a", 9) for _ in range(5)]
    again = Choices.replayed(with_it.picks)
    assert [again.aside("order", 8) for _ in range(5)] == aside


def test_picks_that_know_of_no_order_have_none() -> None:
    seed = next(seed for seed in SEEDS if drawn(seed).order is not None)
    choices = Choices.drawn(seed)
    draw_plan(choices, Mode.MIXED)
    known = [pick for pick in choices.picks if not pick.site.startswith("order")]
    assert draw_plan(Choices.replayed(known), Mode.MIXED) == replace(drawn(seed), order=None)
    assert draw_plan(Choices.replayed(choices.picks), Mode.MIXED) == drawn(seed)


@pytest.mark.slow
@pytest.mark.parametrize("level", [Level.A, Level.B])
def test_a_run_with_an_order_is_the_same_each_time_by_seed_and_by_picks(level: Level) -> None:
    seed = next(seed for seed in SEEDS if drawn(seed, Mode.EAGER).order is not None)
    schedule = Schedule(level, Mode.EAGER, seed)
    first, second = play(schedule), play(schedule)
    replayed = play(schedule.with_picks(first.picks))
    assert first.plan.order is not None
    assert first.digest == second.digest == replayed.digest
