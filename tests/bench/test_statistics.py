"""Statistics say what a few runs allow, and no more."""

import math
import random
from itertools import pairwise
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.bench.statistics import (
    LEVEL,
    Verdict,
    difference,
    least_chance,
    median_interval,
    rank_chance,
)

FIGURES = st.lists(st.floats(0.1, 100.0), min_size=1, max_size=7)


def test_runs_that_are_all_lower_are_less_when_there_are_five_of_each():
    found = difference([1.0, 1.1, 1.2, 1.05, 1.15], [2.0, 2.1, 2.2, 2.05, 2.15])
    assert found is not None
    assert found.verdict is Verdict.LESS
    assert found.chance == pytest.approx(2 / 252)
    assert found.interval.high < 1


def test_runs_that_are_all_higher_are_more():
    found = difference([2.0, 2.1, 2.2, 2.05, 2.15], [1.0, 1.1, 1.2, 1.05, 1.15])
    assert found is not None
    assert found.verdict is Verdict.MORE


def test_three_runs_of_each_decide_nothing_however_far_they_are_apart():
    found = difference([1.0, 1.0, 1.0], [900.0, 901.0, 902.0])
    assert found is not None
    assert found.verdict is Verdict.UNDECIDED
    assert found.chance == pytest.approx(0.1)


def test_runs_that_overlap_decide_nothing():
    found = difference([1.0, 1.3, 1.1, 1.2, 1.4], [1.15, 1.05, 1.35, 1.25, 1.3])
    assert found is not None
    assert found.verdict is Verdict.UNDECIDED


def test_the_chance_of_two_series_that_do_not_mix_is_the_least_there_is():
    assert rank_chance([1, 2, 3, 4], [5, 6, 7, 8, 9]) == pytest.approx(least_chance(4, 5))


def test_equal_series_are_one_and_the_same():
    assert rank_chance([1.0] * 5, [1.0] * 5) == 1.0


def test_many_runs_are_judged_by_the_normal_distribution_and_agree_with_the_exact_one():
    # 2 of 1000 against 998 would be exact still; 40 against 40 is not.
    low, high = [float(each) for each in range(40)], [float(each) + 20 for each in range(40)]
    assert rank_chance(low, high) < 0.001
    assert rank_chance(low, [each + 0.5 for each in low]) > 0.5


@settings(max_examples=20)
@given(FIGURES)
def test_an_interval_holds_the_median_and_lies_within_the_runs(values):
    interval = median_interval(values)
    assert min(values) <= interval.low <= median(values) <= interval.high <= max(values)


@settings(max_examples=20)
@given(FIGURES, FIGURES)
def test_what_is_less_one_way_is_more_the_other_way(ours, theirs):
    one, other = difference(ours, theirs), difference(theirs, ours)
    assert one is not None
    assert other is not None
    assert one.chance == pytest.approx(other.chance)
    assert {one.verdict, other.verdict} in (
        {Verdict.UNDECIDED},
        {Verdict.LESS, Verdict.MORE},
        {Verdict.UNDECIDED, Verdict.LESS},
        {Verdict.UNDECIDED, Verdict.MORE},
    )


def test_the_same_thing_is_seldom_called_different():
    chance = random.Random(7)
    wrongs = 0
    for _ in range(40):
        ours, theirs = ([chance.lognormvariate(0, 0.2) for _ in range(5)] for _ in range(2))
        found = difference(ours, theirs)
        wrongs += found is not None and found.verdict is not Verdict.UNDECIDED
    assert wrongs <= 4


@pytest.mark.parametrize("count", [3, 5, 7, 9])
def test_an_interval_holds_the_truth_as_often_as_it_says(count):
    # The truth of each draw is 1; how its spread is shaped is not known to the interval.
    chance = random.Random(count)
    draws = [[chance.expovariate(math.log(2)) for _ in range(count)] for _ in range(1500)]
    medians = [median_interval(each) for each in draws]
    found = (difference(*pair) for pair in pairwise(draws))
    ratios = [each.interval for each in found if each is not None]
    for intervals in (medians, ratios):
        held = sum(each.low <= 1 <= each.high for each in intervals) / len(intervals)
        assert held == pytest.approx(intervals[0].holds, abs=0.03)


def test_an_interval_says_what_few_runs_are_worth():
    assert median_interval([1.0]).holds == 0
    assert median_interval([1.0, 2.0, 3.0]).holds == pytest.approx(0.75)
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0]).holds == pytest.approx(0.9375)


def test_nine_runs_leave_the_outermost_out():
    found = median_interval([float(each) for each in range(1, 10)])
    assert (found.low, found.high) == (2.0, 8.0)
    assert found.holds > LEVEL


def test_nothing_is_said_of_no_runs_or_of_a_median_of_nothing():
    assert difference([], [1.0]) is None
    assert difference([1.0], [0.0, 0.0, 1.0]) is None
    assert math.isfinite(median_interval([1.0]).low)
