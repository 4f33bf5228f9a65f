"""What may be said of a few runs: medians, how sure they are, and whether two differ.

Decides: that an interval is made of the runs themselves, by their ranks, and says how often such
an interval holds the truth: for a median, whatever the runs are distributed like (the sign test
turned round); for a ratio, where the two differ by a factor alone (Mann and Whitney's turned
round). A difference is said where an interval that is sure enough leaves out 1. Resampling is not
used: of five runs it says 95 % and is right less often.
Never: says more of few runs than they tell: of three, an interval is their whole range.
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from itertools import product
from statistics import median
from typing import Final

from kgroup.values import dataclass

LEVEL: Final = 0.95
"""How often an interval is to hold the truth, where there are runs enough."""
_EXACT: Final = 400
"""Most pairs of runs of which each way to deal them out is counted."""


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
        holds: how often such an interval holds the truth, 0 to 1.
    """

    low: float
    high: float
    holds: float


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


def median_interval(values: Sequence[float]) -> Interval:
    """Return the narrowest interval of the median that is sure enough, or the range of the runs.

    Args:
        values: of the runs, at least one.
    """
    ordered, count = sorted(values), len(values)
    place = 0
    while 2 * (place + 1) < count and _median_holds(count, place + 1) >= LEVEL:
        place += 1
    return Interval(ordered[place], ordered[-1 - place], _median_holds(count, place))


def difference(ours: Sequence[float], theirs: Sequence[float]) -> Difference | None:
    """Return how one series of runs compares with another; None when that cannot be said.

    Args:
        ours: at least one run.
        theirs: at least one run; a median of 0 is nothing to compare with.
    """
    if not ours or not theirs or not median(theirs):
        return None
    interval, odds = _ratio_interval(ours, theirs), rank_chance(ours, theirs)
    verdict = Verdict.UNDECIDED
    if interval.holds >= LEVEL and odds <= 1 - LEVEL:
        verdict = Verdict.LESS if interval.high < 1 else verdict
        verdict = Verdict.MORE if interval.low > 1 else verdict
    return Difference(
        ratio=median(ours) / median(theirs), interval=interval, chance=odds, verdict=verdict
    )


def rank_chance(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return how often runs of one and the same thing lie as far apart (Mann-Whitney, two-sided).

    Exact while the runs are few and no two are equal. With three of each it is never below 0.1.
    """
    over = sum((one > other) + (one == other) / 2 for one, other in product(ours, theirs))
    found = min(over, len(ours) * len(theirs) - over)
    return min(1.0, 2 * _tail(len(ours), len(theirs), math.ceil(found)))


def least_chance(ours: int, theirs: int) -> float:
    """Return the least that `rank_chance` can be with so many runs."""
    return 2 / math.comb(ours + theirs, ours)


def _median_holds(count: int, place: int) -> float:
    """Return how often the median lies between the runs of these places from both ends."""
    return 1 - 2 * sum(math.comb(count, each) for each in range(place + 1)) / (1 << count)


def _ratio_interval(ours: Sequence[float], theirs: Sequence[float]) -> Interval:
    ratios = sorted(_ratio(one, other) for one, other in product(ours, theirs))
    counts, place = (len(ours), len(theirs)), 0
    while 2 * (place + 1) < len(ratios) and 1 - 2 * _tail(*counts, place + 1) >= LEVEL:
        place += 1
    return Interval(ratios[place], ratios[-1 - place], max(0.0, 1 - 2 * _tail(*counts, place)))


def _ratio(one: float, other: float) -> float:
    if other:
        return one / other
    return math.inf if one else 1.0


def _tail(ours: int, theirs: int, most: int) -> float:
    """Return how often at most so many pairs are the other way round, by chance."""
    if ours * theirs > _EXACT:
        mean = ours * theirs / 2
        deviation = math.sqrt(ours * theirs * (ours + theirs + 1) / 12)
        return math.erfc((mean - most - 0.5) / deviation / math.sqrt(2)) / 2
    ways: int = sum(_ways(ours, theirs, pairs) for pairs in range(most + 1))
    return ways / math.comb(ours + theirs, ours)


@cache
def _ways(ours: int, theirs: int, pairs: int) -> int:
    """Return in how many orders of all runs exactly so many pairs are the other way round."""
    if pairs < 0:
        return 0
    if not ours or not theirs:
        return int(not pairs)
    return _ways(ours - 1, theirs, pairs - theirs) + _ways(ours, theirs - 1, pairs)
