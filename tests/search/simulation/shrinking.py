"""From a failing schedule to a small one that fails in the same way.

Decides: what is tried in which order: the plan alone, without the jitter of the run; without
perturbations, without what is special about single members, with fewer members, without whole
sites, without single picks, with smaller values; each by delta debugging, again and again until
nothing more can go or the budget is spent.
Never: knows what a run does; every candidate is played, and counts only if it fails alike. Which
part of a schedule a pick belongs to is read from its site: `p3/...` is the fourth perturbation,
`m1/...` the second member, `m1.0` its first process.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

from kgroup.errors import ArgumentError
from tests.search.simulation.choices import Choices, Pick
from tests.search.simulation.drawing import draw_plan
from tests.search.simulation.schedule import Mode, Schedule

__all__ = ["Budget", "Fails", "Say", "shrink"]

Fails = Callable[[Schedule], Schedule | bool | None]
"""Plays a candidate. Truth: it breaks the same rule. A schedule means the same, and holds only
those picks that the run asked for; the others need not be tried."""

Say = Callable[[str], None]
"""Is told, in a few words, how far it is."""

_Picks = tuple[Pick, ...]

_PERTURBATION: Final = re.compile(r"p\d+/")
_MEMBER: Final = re.compile(r"m\d+(?=[/.]|$)")
_MOST_SIZES: Final = 16
"""Answers that are looked at to find out which of them makes the smallest group."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be spent.

    Args:
        seconds: of real time.
        tries: candidates that are played.
    """

    seconds: float = 60.0
    tries: int = 20_000


def shrink(
    schedule: Schedule,
    fails: Fails,
    *,
    budget: Budget | None = None,
    say: Say | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Schedule:
    """Return a schedule with as few and as small picks as could be found that fails in this way.

    Args:
        schedule: fails; it has its picks (`schedule.with_picks(outcome.picks)`).
        fails: see `Fails`; must give the same answer to the same schedule.
        budget: when it is spent, the best so far is returned; None = 60 seconds.
        say: is told of progress.
        clock: seconds, of real time.

    Raises:
        ArgumentError: the schedule has a seed only, or does not fail when it is played again.
    """
    if schedule.picks is None:
        raise ArgumentError("schedule", str(schedule), "one with its picks, as an outcome has them")
    search = _Search(schedule, fails, budget or Budget(), say or _say_nothing, clock)
    if not search.accept(schedule.picks):
        raise ArgumentError("schedule", str(schedule), "one that fails when it is played again")
    search.run()
    return schedule.with_picks(search.best)


def _say_nothing(_: str) -> None:
    pass


@cache
def _sizes() -> Mapping[str, tuple[int, ...]]:
    """Return for each site that says how large the group is its answers, the smallest group first.

    Of these sites not 0 is the simplest, so they are asked what each answer would draw.
    """
    drawn: dict[str, dict[tuple[int, int], int]] = {"members": {}, "topics": {}}
    for value in range(_MOST_SIZES):
        for site, sizes in drawn.items():
            picks = [Pick(site, 0, value)] if value else []
            plan = draw_plan(Choices.replayed(picks), Mode.MIXED)
            about = plan.members if site == "members" else plan.topics
            sizes.setdefault((sum(plan.topics.values()), len(about)), value)
    return MappingProxyType(
        {site: tuple(value for _, value in sorted(sizes.items())) for site, sizes in drawn.items()}
    )


class _Search:
    """The best picks so far, and what was tried.

    Args: those of `shrink`.
    """

    def __init__(
        self,
        schedule: Schedule,
        fails: Fails,
        budget: Budget,
        say: Say,
        clock: Callable[[], float],
    ) -> None:
        self.best: _Picks = schedule.picks or ()
        self._schedule = schedule
        self._fails = fails
        self._budget = budget
        self._say = say
        self._clock = clock
        self._ends_at = clock() + budget.seconds
        self._tried: set[_Picks] = set()

    @property
    def over(self) -> bool:
        """Whether the budget is spent."""
        return len(self._tried) >= self._budget.tries or self._clock() >= self._ends_at

    def accept(self, picks: _Picks) -> bool:
        """Play a candidate; it is the best from now on if it fails alike."""
        self._tried.add(picks)
        failing = self._fails(self._schedule.with_picks(picks))
        if not failing:
            return False
        asked = failing.picks if isinstance(failing, Schedule) else None
        self.best = picks if asked is None else asked
        return True

    def run(self) -> None:
        """Try everything, in rounds, until a round finds nothing."""
        before: _Picks | None = None
        self._try(_planned(self.best, self._schedule.mode))
        while before != self.best and not self.over:
            before = self.best
            self._drop("perturbations", _by_head(self.best, _PERTURBATION))
            self._drop("members", _by_head(self.best, _MEMBER))
            self._make_small()
            self._drop("sites", _by_site(_others(self.best)))
            self._drop("picks", [(pick,) for pick in _others(self.best)])
            for place in range(len(self.best)):
                self._lower(place)
            self._say(f"{len(self.best)} picks after {len(self._tried)} tries")

    def _try(self, picks: _Picks) -> bool:
        if self.over or picks in self._tried or not _is_simpler(picks, self.best):
            return False
        return self.accept(picks)

    def _make_small(self) -> None:
        """Try the smallest group first."""
        for site, wanted in _sizes().items():
            for value in wanted:
                if self._try(_with(self.best, Pick(site, 0, value))):
                    break

    def _drop(self, what: str, groups: Sequence[_Picks]) -> None:
        """Take groups of picks away: first all, then halves, and so on down to single ones."""
        size = len(groups)
        left = list(groups)
        while size and left and not self.over:
            place = 0
            while place < len(left):
                gone = frozenset(pick for group in left[place : place + size] for pick in group)
                if self._try(tuple(pick for pick in self.best if pick not in gone)):
                    del left[place : place + size]
                else:
                    place += size
            size = min(size, len(left)) // 2 if size > 1 else 0
            self._say(f"{len(self.best)} picks, {len(left)} {what}")

    def _lower(self, place: int) -> None:
        """Make one value smaller."""
        while place < len(self.best):
            if self.best[place].site in _sizes():
                return
            value = self.best[place].value
            lower = sorted({1, value // 2, value - 1} - {0, value})
            if not any(self._try(_with_value(self.best, place, each)) for each in lower):
                return


def _is_simpler(picks: _Picks, best: _Picks) -> bool:
    """Tell whether a candidate is worth a try: never back to where the search has been before."""
    return _weight(picks) < _weight(best)


def _weight(picks: _Picks) -> tuple[int, int, int]:
    """Return how complicated a schedule is: the group, then how many picks, then their values."""
    values = {pick.site: pick.value for pick in picks if not pick.index}
    ranks = (
        wanted.index(value) if (value := values.get(site, 0)) in wanted else len(wanted)
        for site, wanted in _sizes().items()
    )
    return sum(ranks), len(picks), sum(pick.value for pick in picks)


def _planned(picks: _Picks, mode: Mode) -> _Picks:
    """Return the picks that draw the plan: without the jitter of a run, which is most of them."""
    choices = Choices.replayed(picks)
    draw_plan(choices, mode)
    return choices.picks


def _others(picks: _Picks) -> _Picks:
    return tuple(pick for pick in picks if pick.site not in _sizes())


def _by_head(picks: Iterable[Pick], head: re.Pattern[str]) -> list[_Picks]:
    groups: dict[str, list[Pick]] = {}
    for pick in picks:
        found = head.match(pick.site)
        if found:
            groups.setdefault(found.group(), []).append(pick)
    return [tuple(group) for group in groups.values()]


def _by_site(picks: Iterable[Pick]) -> list[_Picks]:
    groups: dict[str, list[Pick]] = {}
    for pick in picks:
        groups.setdefault(pick.site, []).append(pick)
    return [tuple(group) for group in groups.values()]


def _with(picks: _Picks, new: Pick) -> _Picks:
    """Return picks with another answer to one question; a 0 is no pick."""
    others = tuple(each for each in picks if (each.site, each.index) != (new.site, new.index))
    return (new, *others) if new.value else others


def _with_value(picks: _Picks, place: int, value: int) -> _Picks:
    old = picks[place]
    return (*picks[:place], Pick(old.site, old.index, value), *picks[place + 1 :])
