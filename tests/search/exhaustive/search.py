"""Breadth-first search of a small world: every state once, nearest first.

Decides: in which order states are expanded, when a search is complete (nothing is left to expand),
and whether every world that is left in peace comes to rest (L1).
Never: decides what may happen; `world` does.

Rest is judged on the graph that was found, not by waiting. In each state the tame moves are listed
first, and the first of them is what happens if the world is left in peace: each message is
delivered, each listener returns, then the clock moves on. Following these moves alone, every state
must lead into a circle in which each partition is held by exactly one member all the time.
"""

import gc
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from tests.search.exhaustive.scope import Scope
from tests.search.exhaustive.world import Move, State, World

_NONE: Final = -1
_REPORT_EVERY: Final = 5_000


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a search is.

    Args:
        states: met so far.
        expanded: of which every move has been tried.
        transitions: moves tried.
        depth: steps from the start to what is being expanded.
        seconds: since it began.
    """

    states: int
    expanded: int
    transitions: int
    depth: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found.

    Args:
        scope: of the world.
        progress: at the end.
        complete: nothing was left to expand.
        broken: the promise that was broken, None for none.
        path: the moves that lead there, in order.
        rest_ticks: ticks that the slowest state needs to come to rest, None when not judged.
        processes: different processes met.
        coordinators: different coordinators met.
        rows: rows of the member's table that fired, by name.
        cells: (state, trigger) pairs of those.
    """

    scope: Scope
    progress: Progress
    complete: bool
    broken: str | None
    path: tuple[Move, ...]
    rest_ticks: int | None
    processes: int
    coordinators: int
    rows: tuple[str, ...]
    cells: int


@dataclass(slots=True)
class Search:
    """One search.

    Args:
        world: what is searched.
        limit: states to meet at most.
        clock: seconds, for the report.
    """

    world: World
    limit: int = 10_000_000
    clock: Callable[[], float] = time.monotonic
    states: list[State] = field(default_factory=list)
    """Every state that was met, by number; those behind `expanded` wait."""
    expanded: int = 0
    _numbers: dict[State, int] = field(default_factory=dict)
    _parents: "array[int]" = field(default_factory=lambda: array("q"))
    _peaceful: "array[int]" = field(default_factory=lambda: array("q"))
    _ticks: bytearray = field(default_factory=bytearray)
    _transitions: int = 0
    _depth: int = 0
    _level_ends: int = 1
    _began: float = 0.0

    def run(self, report: Callable[[Progress], None] = lambda _: None) -> Found:
        """Search until nothing is left, a promise is broken, or the limit is reached.

        Args:
            report: called now and then.
        """
        self._began = self.clock()
        with _what_is_met_stays():
            return self._run(report)

    def _run(self, report: Callable[[Progress], None]) -> Found:
        self._meet(self.world.start, _NONE)
        while self.expanded < len(self.states) and len(self.states) < self.limit:
            broken = self._expand()
            if broken is not None:
                return self._found(broken.broken, (*self.path_to(self.expanded), broken))
            self.expanded += 1
            if self.expanded % _REPORT_EVERY == 0:
                gc.collect()
                gc.freeze()
                report(self.progress)
        report(self.progress)
        restless, slowest = self._judge_rest()
        if restless is None:
            return self._found(None, (), slowest)
        words = "L1: left in peace, not every partition comes to have one owner"
        return self._found(words, (*self.path_to(restless), *self._in_peace(restless)))

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return Progress(
            len(self.states),
            self.expanded,
            self._transitions,
            self._depth,
            self.clock() - self._began,
        )

    @property
    def so_far(self) -> Found:
        """What was found until somebody stopped it; whether all comes to rest is not judged."""
        return self._found(None, ())

    # -- states --------------------------------------------------------------------------------

    def _meet(self, state: State, parent: int) -> int:
        number = self._numbers.get(state)
        if number is None:
            number = self._numbers[state] = len(self.states)
            self.states.append(state)
            self._parents.append(parent)
        return number

    def _expand(self) -> Move | None:
        """Try every move of the next state; return one that breaks a promise."""
        if self.expanded == self._level_ends:
            self._depth += 1
            self._level_ends = len(self.states)
        peaceful, ticks = _NONE, False
        for move in self.world.moves(self.states[self.expanded]):
            self._transitions += 1
            if move.broken is not None:
                return move
            number = self._meet(move.state, self.expanded)
            if move.tame and peaceful == _NONE:
                peaceful, ticks = number, move.slot is None
        if peaceful == _NONE:
            state = self.states[self.expanded]
            return Move("nothing more can happen", None, None, state, broken="L2: a dead end")
        self._peaceful.append(peaceful)
        self._ticks.append(ticks)
        return None

    def path_to(self, number: int) -> tuple[Move, ...]:
        """Return the moves that lead to a state, in order."""
        chain = [number]
        while self._parents[chain[-1]] != _NONE:
            chain.append(self._parents[chain[-1]])
        chain.reverse()
        return tuple(
            self._between(self.states[before], self.states[after])
            for before, after in pairwise(chain)
        )

    def _between(self, before: State, after: State) -> Move:
        return next(move for move in self.world.moves(before) if move.state == after)

    # -- rest ----------------------------------------------------------------------------------

    def _judge_rest(self) -> tuple[int | None, int]:
        """Return the nearest state that never comes to rest, None for none, and the slowest way.

        Ways that end in a state that was not expanded are not judged.
        """
        away = array("q", [_NONE]) * self.expanded
        for start in range(self.expanded):
            way = []
            number = start
            on_the_way = set()
            while number < self.expanded and away[number] == _NONE and number not in on_the_way:
                on_the_way.add(number)
                way.append(number)
                number = self._peaceful[number]
            if number in on_the_way:
                circle = way[way.index(number) :]
                if not all(self.world.at_rest(self.states[each]) for each in circle):
                    return start, 0
                for each in circle:
                    away[each] = 0
                way = way[: -len(circle)]
            self._count(way, away)
        return None, max(away, default=0)

    def _count(self, way: list[int], away: "array[int]") -> None:
        for each in reversed(way):
            following = self._peaceful[each]
            rests = self.world.at_rest(self.states[each])
            if following >= self.expanded or (away[following] == 0 and rests):
                away[each] = 0
            else:
                away[each] = away[following] + self._ticks[each]

    def _in_peace(self, number: int) -> tuple[Move, ...]:
        """Return what happens from a state on, once around its circle."""
        met, moves = set(), []
        while number not in met:
            met.add(number)
            following = self._peaceful[number]
            moves.append(self._between(self.states[number], self.states[following]))
            number = following
        return tuple(moves)

    # -- the result ----------------------------------------------------------------------------

    def _found(
        self, broken: str | None, path: tuple[Move, ...], slowest: int | None = None
    ) -> Found:
        rows = self.world.local.rows
        return Found(
            scope=self.world.scope,
            progress=self.progress,
            complete=broken is None and self.expanded == len(self.states),
            broken=broken,
            path=path,
            rest_ticks=slowest,
            processes=self.world.local.met,
            coordinators=len(self.world.coming.coordinators),
            rows=tuple(sorted(rows)),
            cells=len({(row.at, row.on) for row in rows.values()}),
        )


@contextmanager
def _what_is_met_stays() -> Iterator[None]:
    """Look for garbage in what is new only: what a search has met it keeps, to its end."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if collects:
            gc.enable()
