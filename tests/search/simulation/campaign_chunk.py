"""Some schedules of a campaign, played one after the other in one process.

Decides: what is left of a run when nothing is wrong with it: counts; what is left when something
is: the schedule and what it broke; which runs are to be played a second time.
Never: depends on the process it is in: the same schedules give the same chunk.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from traceback import format_exc
from typing import Any, Final

from tests.search.simulation.choices import Pick
from tests.search.simulation.coverage import Coverage
from tests.search.simulation.outcome import Outcome
from tests.search.simulation.schedule import Schedule

__all__ = ["RAISED", "Check", "Chunk", "Failure", "Play", "Tally", "Task", "digests", "play_chunk"]

Play = Callable[..., Outcome]
"""`tests.search.simulation.play.play`, or what stands for it."""

RAISED: Final = "raised"
"""The rule that is broken by a run that ends in an exception."""

_CHECKED: Final = (0, 103)
_CHECKED_OF: Final = 200
"""Of so many seeds those two, one of them a mutant's, are played twice though nothing is broken."""
_MOST_PARENTS: Final = 4
"""Parents that one chunk gives at most: the pool is to be of many."""


@dataclass(frozen=True, slots=True)
class Task:
    """What one process is to play.

    Args:
        number: place in the campaign, from 0.
        schedules: in order.
        known: features that were met before; see `coverage.features`.
    """

    number: int
    schedules: tuple[Schedule, ...]
    known: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Failure:
    """One run that broke something.

    Args:
        schedule: with its picks; as it was drawn when the run ended in an exception.
        rules: that were broken.
        text: of the first violation, or the exception.
        digest: of the run, "" without one.
    """

    schedule: Schedule
    rules: tuple[str, ...]
    text: str
    digest: str


@dataclass(slots=True)
class Tally:
    """Sums over runs.

    Args:
        runs: schedules that were played.
        events: see `Outcome`.
        seconds: virtual ones (real ones at level C).
        members: that took part.
        mutants: of the runs, those whose schedule had a parent.
        perturbations: that were planned.
        picks: that were not 0.
        broken: rule -> runs that broke it.
    """

    runs: int = 0
    events: int = 0
    seconds: float = 0.0
    members: int = 0
    mutants: int = 0
    perturbations: int = 0
    picks: int = 0
    broken: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Count one run."""
        self.runs += 1
        self.events += outcome.events
        self.seconds += outcome.seconds
        self.members += len(outcome.plan.members)
        self.mutants += outcome.schedule.parent is not None
        self.perturbations += len(outcome.plan.perturbations)
        self.picks += len(outcome.picks)
        self.broken.update(outcome.rules)

    def merge(self, other: "Tally") -> None:
        """Count what others have counted."""
        self.runs += other.runs
        self.events += other.events
        self.seconds += other.seconds
        self.members += other.members
        self.mutants += other.mutants
        self.perturbations += other.perturbations
        self.picks += other.picks
        self.broken.update(other.broken)

    def to_json(self) -> dict[str, Any]:
        """Return sums and means as plain values."""
        runs = max(self.runs, 1)
        return {
            "runs": self.runs,
            "mutants": self.mutants,
            "events": self.events,
            "virtual_hours": round(self.seconds / 3600, 3),
            "mean_members": round(self.members / runs, 2),
            "mean_seconds": round(self.seconds / runs, 2),
            "mean_events": round(self.events / runs, 1),
            "mean_perturbations": round(self.perturbations / runs, 2),
            "mean_picks": round(self.picks / runs, 1),
            "broken": dict(sorted(self.broken.items())),
        }


@dataclass(slots=True)
class Chunk:
    """What came of a task.

    Args:
        number: that of the task.
        tally: sums.
        coverage: what was met.
        parents: picks of runs that met something new.
        failures: runs that broke something.
        checks: runs that are to be played a second time, with their digests.
    """

    number: int
    tally: Tally = field(default_factory=Tally)
    coverage: Coverage = field(default_factory=Coverage)
    parents: list[tuple[Pick, ...]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    checks: list[tuple[Schedule, str]] = field(default_factory=list)


def play_chunk(task: Task, play: Play) -> Chunk:
    """Play what a task says."""
    chunk = Chunk(task.number)
    known = set(task.known)
    for schedule in task.schedules:
        try:
            outcome = play(schedule)
        except Exception:  # noqa: BLE001  # whatever it is, the schedule that shows it is kept
            _count_raised(chunk, schedule)
            continue
        chunk.tally.add(outcome)
        chunk.coverage.add(outcome)
        _judge(chunk, outcome)
        new = chunk.coverage.features - known
        if new and not outcome.rules and len(chunk.parents) < _MOST_PARENTS:
            chunk.parents.append(outcome.picks)
        known |= new
    return chunk


def _count_raised(chunk: Chunk, schedule: Schedule) -> None:
    chunk.tally.runs += 1
    chunk.tally.broken[RAISED] += 1
    chunk.failures.append(Failure(schedule, (RAISED,), format_exc(), ""))


def _judge(chunk: Chunk, outcome: Outcome) -> None:
    schedule = outcome.schedule
    if outcome.rules:
        first = outcome.violations[0]
        replayed = schedule.with_picks(outcome.picks)
        text = f"{first.rule}: {first.text}"
        chunk.failures.append(Failure(replayed, outcome.rules, text, outcome.digest))
        # From its picks: that a failure can be replayed is what matters.
        chunk.checks.append((replayed, outcome.digest))
    elif schedule.seed % _CHECKED_OF in _CHECKED:
        chunk.checks.append((schedule, outcome.digest))


@dataclass(frozen=True, slots=True)
class Check:
    """Schedules that are played again, only for their digests."""

    schedules: tuple[Schedule, ...]


def digests(check: Check, play: Play) -> tuple[str, ...]:
    """Play schedules again and return their digests."""
    return tuple(_digest(schedule, play) for schedule in check.schedules)


def _digest(schedule: Schedule, play: Play) -> str:
    try:
        return play(schedule).digest
    except Exception as error:  # noqa: BLE001  # it did not raise before: that is the finding
        return f"{RAISED} {error!r}"
