"""Many schedules: played by several processes, counted, each failing one kept with its picks.

Decides: which schedules there are (a range of seeds), what is left of a run, when it ends. Results
are counted in the order of the seeds, so they do not depend on how many processes play.
Never: judges a run, or draws.
"""

import logging
import multiprocessing
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from traceback import format_exc
from typing import Any, Final

import kgroup
from kgroup.errors import ArgumentError
from tests.search.simulation.coverage import Coverage
from tests.search.simulation.play import play
from tests.search.simulation.schedule import Level, Mode, Outcome, Schedule

Play = Callable[[Schedule], Outcome]

RAISED: Final = "raised"
"""The rule that is broken by a run that ends in an exception."""

_CHUNK: Final = {Level.A: 40, Level.A_BYTES: 20, Level.B: 10, Level.C: 2}
"""Schedules that a process plays in one go: seconds of work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """What is played.

    Args:
        schedules: how many.
        seed: of the first; the others follow.
        level: how much of the real thing takes part.
        mode: which groups are drawn.
        backend: "asyncio" or "trio", for levels B and C.
        processes: how many play; 0 plays in this one.
        keep_going: whether it goes on after the first failure.

    Raises:
        ArgumentError: a number is too small.
    """

    schedules: int
    seed: int = 0
    level: Level = Level.A
    mode: Mode = Mode.MIXED
    backend: str = "asyncio"
    processes: int = 2
    keep_going: bool = False

    def __post_init__(self) -> None:
        if self.schedules < 1:
            raise ArgumentError("schedules", self.schedules, "at least 1")
        if self.processes < 0:
            raise ArgumentError("processes", self.processes, "at least 0")

    def chunks(self) -> Iterator[tuple[Schedule, ...]]:
        """Yield the schedules, as many at once as one process plays in one go."""
        seeds = range(self.seed, self.seed + self.schedules)
        size = _CHUNK[self.level]
        for first in range(0, len(seeds), size):
            yield tuple(
                Schedule(self.level, self.mode, seed, backend=self.backend)
                for seed in seeds[first : first + size]
            )


@dataclass(frozen=True, slots=True)
class Failure:
    """One run that broke something.

    Args:
        schedule: with its picks; as it was drawn when the run ended in an exception.
        rules: that were broken.
        text: of the first violation, or the exception.
    """

    schedule: Schedule
    rules: tuple[str, ...]
    text: str


@dataclass(slots=True)
class Found:
    """What some runs came to.

    Args:
        runs: schedules that were played.
        events: see `Outcome`.
        virtual: seconds that the groups lived.
        broken: rule -> runs that broke it.
        coverage: rows and cells of the membership table that were met.
        failures: runs that broke something, in order of their seeds.
        seconds: real ones.
        interrupted: whether Ctrl-C ended it.
    """

    runs: int = 0
    events: int = 0
    virtual: float = 0.0
    broken: Counter[str] = field(default_factory=Counter)
    coverage: Coverage = field(default_factory=Coverage)
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def good(self) -> bool:
        """Whether nothing is broken."""
        return not (self.failures or self.coverage.impossible_cells_met())

    def add(self, outcome: Outcome) -> None:
        """Count one run."""
        self.runs += 1
        self.events += outcome.events
        self.virtual += outcome.seconds
        self.broken.update(outcome.rules)
        self.coverage.add(outcome)
        if outcome.rules:
            kept = outcome.schedule.with_picks(outcome.picks)
            self.failures.append(Failure(kept, outcome.rules, str(outcome.violations[0])))

    def merge(self, other: "Found") -> None:
        """Count what others have counted."""
        self.runs += other.runs
        self.events += other.events
        self.virtual += other.virtual
        self.broken.update(other.broken)
        self.coverage.merge(other.coverage)
        self.failures += other.failures

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "commit": commit(),
            "runs": self.runs,
            "events": self.events,
            "virtual_hours": round(self.virtual / 3600, 3),
            "seconds": round(self.seconds, 2),
            "interrupted": self.interrupted,
            "broken": dict(sorted(self.broken.items())),
            "failures": [
                {"seed": each.schedule.seed, "rules": list(each.rules), "text": each.text}
                for each in self.failures
            ],
            "coverage": self.coverage.to_json(),
        }


def play_all(schedules: Iterable[Schedule], how: Play = play) -> Found:
    """Play schedules one after the other in this process.

    Args:
        schedules: what to play.
        how: plays one.
    """
    found = Found()
    for schedule in schedules:
        try:
            outcome = how(schedule)
        except Exception:  # noqa: BLE001  # the run has failed, the campaign goes on
            found.runs += 1
            found.broken[RAISED] += 1
            found.failures.append(Failure(schedule, (RAISED,), format_exc()))
        else:
            found.add(outcome)
    return found


def run_campaign(
    campaign: Campaign, *, how: Play = play, tell: Callable[[Found], None] = lambda _: None
) -> Found:
    """Play a campaign; return what it has found, or has found so far after Ctrl-C.

    Args:
        campaign: what to play.
        how: plays one schedule; a function of a module, if there are processes.
        tell: is called after each chunk.
    """
    found, began = Found(), time.monotonic()

    def count(chunk: Found) -> bool:
        """Count a chunk, and say whether the campaign goes on."""
        found.merge(chunk)
        found.seconds = time.monotonic() - began
        tell(found)
        return campaign.keep_going or not found.failures

    try:
        with _chunks_played(campaign, how) as played:
            all(map(count, played))
    except KeyboardInterrupt:
        found.interrupted = True
    return found


@contextmanager
def _chunks_played(campaign: Campaign, how: Play) -> Iterator[Iterator[Found]]:
    work = partial(play_all, how=how)
    if not campaign.processes:
        quieten()
        yield map(work, campaign.chunks())
        return
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(campaign.processes, spawn, initializer=_begin)
    try:
        yield pool.map(work, campaign.chunks())
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _begin() -> None:
    """Leave Ctrl-C to the first process, which ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    quieten()


def quieten() -> None:
    """Keep the members' logs to themselves."""
    logger = logging.getLogger("kgroup")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False


def commit() -> str | None:
    """Return the commit of the code, with a `+` when it is changed; None outside a checkout."""
    folder = Path(kgroup.__file__).parent

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", os.fspath(folder), *words],
                capture_output=True,
                check=False,
                text=True,
            )
        except OSError:
            return None
        return None if done.returncode else done.stdout.strip()

    # An installed package may lie in another project's checkout, where it is not tracked.
    if git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    head = git("rev-parse", "HEAD")
    changed = git("status", "--porcelain", "--untracked-files=no", ".", ":/*.py")
    return None if head is None else f"{head}{'+' if changed else ''}"
