"""What may be said of a few runs: medians, how sure they are, and whether two differ.

Decides: that a difference is said only where two things agree: the ranks of all runs (Mann and
Whitney, exact while there are few) and an interval of the ratio of medians, by resampling, that
leaves out 1.
Never: reads a clock, or draws chance but from a seed it is given.
"""

import math
import random
from collections.abc import Callable, Sequence
from enum import StrEnum
from itertools import combinations
from statistics import median
from typing import Final

from kgroup.values import dataclass

LEVEL: Final = 0.95
"""How often an interval is to hold the truth."""
RESAMPLES: Final = 1_000
_EXACT: Final = 200_000
"""Most ways to deal the runs out that are all looked at."""


class Verdict(StrEnum):
    """What two series of runs say of each other."""

    LESS = "less"
    MORE = "more"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a figure lies, as far as its runs tell.

    Args:
        low: lower bound.
        high: upper bound.
    """

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One series of runs over another.

    Args:
        ratio: of the medians; 0.5 says half.
        interval: of that ratio.
        chance: how often runs of one and the same thing would lie so far apart, 0 to 1.
        verdict: what may be said.
    """

    ratio: float
    interval: Interval
    chance: float
    verdict: Verdict


def median_interval(values: Sequence[float], seed: int = 0) -> Interval:
    """Return an interval of the median, by resampling.

    Args:
        values: of the runs, at least one.
        seed: of the draws.
    """
    chance = random.Random(seed)  # noqa: S311 - statistics, no secret
    return _middle(lambda: median(chance.choices(values, k=len(values))))


def difference(ours: Sequence[float], theirs: Sequence[float], seed: int = 0) -> Difference | None:
    """Return how one series of runs compares with another; None when that cannot be said.

    Args:
        ours: at least one run.
        theirs: at least one run; a median of 0 is nothing to compare with.
        seed: of the draws.
    """
    if not ours or not theirs or not median(theirs):
        return None
    chance = random.Random(seed)  # noqa: S311 - statistics, no secret

    def draw() -> float:
        base = median(chance.choices(theirs, k=len(theirs)))
        top = median(chance.choices(ours, k=len(ours)))
        return top / base if base else math.inf

    interval, odds = _middle(draw), rank_chance(ours, theirs)
    verdict = Verdict.UNDECIDED
    if odds <= 1 - LEVEL and interval.high < 1:
        verdict = Verdict.LESS
    elif odds <= 1 - LEVEL and interval.low > 1:
        verdict = Verdict.MORE
    return Difference(
        ratio=median(ours) / median(theirs), interval=interval, chance=odds, verdict=verdict
    )


def rank_chance(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return how often ranks of runs of one and the same thing lie as far apart (two-sided).

    Exact while the runs can be dealt out in few ways, by the normal distribution when not. With
    three runs of each it is never below 0.1: three runs prove nothing.
    """
    both = [*ours, *theirs]
    ranks = _ranks(both)
    middle = len(ours) * (len(both) + 1) / 2
    found = abs(sum(ranks[: len(ours)]) - middle)
    if math.comb(len(both), len(ours)) <= _EXACT:
        sums = [abs(sum(each) - middle) for each in combinations(ranks, len(ours))]
        return sum(each >= found - 1e-9 for each in sums) / len(sums)
    mean = sum(ranks) / len(ranks)
    spread = sum((rank - mean) ** 2 for rank in ranks) / (len(both) - 1)
    deviation = math.sqrt(spread * len(ours) * len(theirs) / len(both))
    return 1.0 if not deviation else math.erfc(max(0.0, found - 0.5) / deviation / math.sqrt(2))


def least_chance(ours: int, theirs: int) -> float:
    """Return the least that `rank_chance` can be with so many runs."""
    return 2 / math.comb(ours + theirs, ours)


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value from 1; equal ones share the mean of theirs."""
    ordered = sorted(values)
    first = {value: place for place, value in reversed([*enumerate(ordered, 1)])}
    last = {value: place for place, value in enumerate(ordered, 1)}
    return [(first[value] + last[value]) / 2 for value in values]


def _middle(draw: Callable[[], float]) -> Interval:
    drawn = sorted(draw() for _ in range(RESAMPLES))
    edge = int(RESAMPLES * (1 - LEVEL) / 2)
    return Interval(drawn[edge], drawn[-1 - edge])
