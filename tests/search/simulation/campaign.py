"""Many schedules: played by several processes, counted, the failing ones kept.

Decides: which schedules there are: of every four seeds three are drawn and one mutates the picks
of a run that met something new (a cell of the table, or a pair of rows one after the other); when
it ends; which runs are played twice.
Never: lets the result depend on how many processes there are: chunks are counted in order, and a
chunk's parents are those known a fixed number of chunks before it.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from kgroup.errors import ArgumentError
from tests.search.simulation.campaign_checks import Checker, Mismatch
from tests.search.simulation.campaign_chunk import Check, Chunk, Failure, Tally, Task
from tests.search.simulation.campaign_process import (
    Processes,
    Result,
    do,
    load_play,
    quieten,
)
from tests.search.simulation.choices import Pick
from tests.search.simulation.coverage import Coverage
from tests.search.simulation.schedule import Level, Mode, Schedule

__all__ = ["Campaign", "Found", "run_campaign"]

_CHUNK: Final = {Level.A: 40, Level.A_BYTES: 20, Level.B: 10, Level.C: 2}
"""Schedules of one chunk: so few that it takes one process seconds; at level C, in real time, each
of them takes eight and its end."""
_LAG: Final = 8
"""A chunk's parents are those of all chunks but the so many before it; so many may be played at
once at most."""
_MUTATED_EVERY: Final = 4
_POOL: Final = 400
"""Parents of which one is chosen: the latest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """What is to be played.

    Args:
        schedules: how many.
        seed: of the first; the others follow.
        level: how much of the real thing takes part.
        mode: which groups are drawn.
        backend: "asyncio" or "trio", for levels B and C.
        processes: how many play; 0 plays in this one.
        most_failures: it ends when so many schedules have broken something; None: never.
        world: `pkg.module:function` that plays a schedule.
    """

    schedules: int
    seed: int = 0
    level: Level = Level.A
    mode: Mode = Mode.MIXED
    backend: str = "asyncio"
    processes: int = 2
    most_failures: int | None = 1
    world: str = "tests.search.simulation.play:play"

    def __post_init__(self) -> None:
        for name, value, least in (
            ("schedules", self.schedules, 1),
            ("processes", self.processes, 0),
            ("most_failures", self.most_failures, 1),
        ):
            if value is not None and value < least:
                raise ArgumentError(name, value, f"at least {least}")
        if self.processes > _LAG:
            raise ArgumentError("processes", self.processes, f"at most {_LAG}")


@dataclass(slots=True)
class Found:
    """What a campaign has found so far.

    Args:
        tally: sums over all runs.
        coverage: what they met.
        failures: runs that broke something, in order of their seeds.
        checked: runs that were played twice.
        mismatches: those of them that were not the same.
        seconds: real ones that it took.
        interrupted: whether somebody ended it (Ctrl-C).
    """

    tally: Tally = field(default_factory=Tally)
    coverage: Coverage = field(default_factory=Coverage)
    failures: list[Failure] = field(default_factory=list)
    checked: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def good(self) -> bool:
        """Whether nothing is broken."""
        return not (self.failures or self.mismatches or self.coverage.impossible_cells_met())

    @property
    def rate(self) -> float:
        """Schedules per second."""
        return self.tally.runs / self.seconds if self.seconds else 0.0


Tell = Callable[[Found], None]
"""Is told what was found so far, after each chunk."""


def run_campaign(
    campaign: Campaign, *, tell: Tell | None = None, clock: Callable[[], float] = time.monotonic
) -> Found:
    """Play a campaign and return what it found; what was found so far after Ctrl-C.

    Args:
        campaign: what to play.
        tell: is told of progress.
        clock: seconds, of real time.

    Raises:
        ArgumentError: the function that plays cannot be found.
        IllegalStateError: a process has ended by itself.
    """
    load_play(campaign.world)
    found, began_at = Found(), clock()

    def heard() -> None:
        found.seconds = clock() - began_at
        if tell is not None:
            tell(found)

    try:
        _play(campaign, found, heard)
    except KeyboardInterrupt:
        found.interrupted = True
    found.seconds = clock() - began_at
    return found


def _play(campaign: Campaign, found: Found, heard: Callable[[], None]) -> None:
    search = _Search(campaign, found)
    with _player(campaign) as player, Checker(campaign.world) as checker:
        for chunk in search.chunks(player):
            search.count(chunk)
            if campaign.level is not Level.C:  # in real time no two runs are alike
                checker.add(chunk.checks)
            _note(checker, found)
            heard()
            if search.over:
                break
        checker.finish()
        _note(checker, found)


def _note(checker: Checker, found: Found) -> None:
    found.checked, found.mismatches = checker.checked, checker.mismatches


# -- which schedules ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Knowledge:
    """What is known when a chunk has been counted.

    Args:
        parents: how many of all parents.
        features: that have been met.
    """

    parents: int = 0
    features: frozenset[int] = frozenset()


class _Search:
    """A campaign's way through its seeds.

    Args:
        campaign: what is to be played.
        found: is told what came of it.
    """

    def __init__(self, campaign: Campaign, found: Found) -> None:
        self._campaign = campaign
        self._found = found
        self._size = _CHUNK[campaign.level]
        self._parents: list[tuple[Pick, ...]] = []
        self._forgotten = 0
        self._known = deque([_Knowledge()] * _LAG, _LAG)
        self._counted = 0

    @property
    def over(self) -> bool:
        """Whether enough is broken."""
        most = self._campaign.most_failures
        return most is not None and len(self._found.failures) >= most

    def chunks(self, player: "_Player") -> Iterator[Chunk]:
        """Yield every chunk, in order; the caller counts each before it asks for the next."""
        count = -(-self._campaign.schedules // self._size)
        given = 0
        ready: dict[int, Chunk] = {}
        while self._counted < count:
            while given < count and given < self._counted + _LAG and player.free:
                player.give(self._task(given))
                given += 1
            if self._counted not in ready:
                done = (each for each in player.wait() if isinstance(each, Chunk))
                ready.update({chunk.number: chunk for chunk in done})
            if self._counted in ready:
                yield ready.pop(self._counted)

    def _task(self, number: int) -> Task:
        # `_known` holds what was known after each of the last `_LAG` chunks that were counted.
        knowledge = self._known[number - self._counted]
        first = self._campaign.seed + number * self._size
        last = min(first + self._size, self._campaign.seed + self._campaign.schedules)
        schedules = tuple(self._schedule(seed, knowledge) for seed in range(first, last))
        return Task(number, schedules, knowledge.features)

    def _schedule(self, seed: int, knowledge: _Knowledge) -> Schedule:
        campaign = self._campaign
        parent = None
        if seed % _MUTATED_EVERY == _MUTATED_EVERY - 1 and knowledge.parents:
            pool = min(_POOL, knowledge.parents)
            number = knowledge.parents - 1 - seed // _MUTATED_EVERY % pool
            parent = self._parents[number - self._forgotten]
        return Schedule(campaign.level, campaign.mode, seed, None, campaign.backend, parent)

    def count(self, chunk: Chunk) -> None:
        """Count what came of the next chunk."""
        found = self._found
        found.tally.merge(chunk.tally)
        found.coverage.merge(chunk.coverage)
        found.failures += chunk.failures
        self._parents += chunk.parents
        self._counted += 1
        parents = self._forgotten + len(self._parents)
        self._known.append(_Knowledge(parents, frozenset(found.coverage.features)))
        # A chunk to come may look back by a pool from what was known before the lag.
        old = max(0, self._known[0].parents - _POOL - self._forgotten)
        del self._parents[:old]
        self._forgotten += old


# -- who plays ---------------------------------------------------------------------------------


class _Here:
    """Plays in this process, one task at a time.

    Args:
        world: name of the function that plays.
    """

    def __init__(self, world: str) -> None:
        self._play = load_play(world)
        self._task: Task | Check | None = None

    @property
    def free(self) -> bool:
        """Whether there is nothing to do."""
        return self._task is None

    def give(self, task: Task | Check) -> None:
        """Take something to do."""
        self._task = task

    def wait(self) -> Iterator[Result]:
        """Do it, and yield what came of it."""
        task, self._task = self._task, None
        assert task is not None
        yield do(task, self._play)


_Player = Processes | _Here


@contextmanager
def _player(campaign: Campaign) -> Iterator[_Player]:
    if campaign.processes:
        with Processes(campaign.processes, campaign.world) as processes:
            yield processes
    else:
        quieten()
        yield _Here(campaign.world)
