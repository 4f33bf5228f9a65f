"""What is kept of a failure: its schedule, a diagram of it, and a test; small when there is time.

Decides: names of files, and that a failure which cannot be made smaller is kept as it is. Of a run
that was another one when it was played again the schedule is kept, and both digests.
Never: plays a campaign.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kgroup.errors import ArgumentError
from tests.search.simulation.campaign_checks import Mismatch
from tests.search.simulation.campaign_chunk import RAISED, Failure, Play
from tests.search.simulation.diagram import diagram
from tests.search.simulation.regression import regression_test
from tests.search.simulation.schedule import Level, Schedule
from tests.search.simulation.shrinking import Budget, Say, shrink

__all__ = ["Saved", "save_failure", "save_mismatch", "smaller"]

_UNLIKE: Final = "unlike"
"""What stands for a rule in the names of files about runs that were not the same twice."""


@dataclass(frozen=True, slots=True)
class Saved:
    """One failure as it was kept.

    Args:
        failure: as the campaign found it.
        schedule: as it was kept: smaller, or the same.
        files: the schedule first.
    """

    failure: Failure
    schedule: Schedule
    files: tuple[Path, ...]

    @property
    def picks(self) -> int | None:
        """How many picks are left, None when nobody knows them."""
        return None if self.schedule.picks is None else len(self.schedule.picks)


def smaller(
    failure: Failure, play: Play, *, budget: Budget | None = None, say: Say | None = None
) -> Schedule:
    """Return a smaller schedule that breaks the first rule of a failure, or the same.

    Args:
        failure: what was found.
        play: plays a schedule.
        budget: see `shrink`.
        say: see `shrink`.
    """
    rule = failure.rules[0]

    def fails(candidate: Schedule) -> Schedule | None:
        try:
            outcome = play(candidate)
        except Exception:  # noqa: BLE001  # another failure than the one that is looked for
            return None
        return candidate.with_picks(outcome.picks) if rule in outcome.rules else None

    try:
        return shrink(failure.schedule, fails, budget=budget, say=say)
    except ArgumentError:
        # It raised, so its picks are not known; or in real time it did not fail again.
        return failure.schedule


def save_failure(
    failure: Failure, schedule: Schedule, folder: Path, *, play: Play, width: int = 100
) -> Saved:
    """Write a failure's schedule, its diagram and its test.

    Args:
        failure: what was found.
        schedule: that is kept, as `smaller` returned it.
        folder: where to; it is made when it is not there.
        play: plays a schedule.
        width: of the diagram.

    Raises:
        OSError: it cannot be written there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = _name(failure.rules[0], schedule)
    kept = folder / f"{name}.json"
    schedule.save(kept)
    if failure.rules == (RAISED,):
        raised = folder / f"{name}.txt"
        raised.write_text(failure.text, encoding="utf-8")
        return Saved(failure, schedule, (kept, raised))
    outcome = play(schedule, keep=True)
    before = len(failure.schedule.picks or ())
    note = (
        f"Found with seed {schedule.seed}; {before} picks, of which {len(outcome.picks)} are left."
    )
    drawn, test = folder / f"{name}.txt", folder / f"test_{name.replace('-', '_')}.py"
    drawn.write_text(f"{diagram(outcome, width=width)}\n", encoding="utf-8")
    test.write_text(regression_test(outcome, note=note), encoding="utf-8")
    return Saved(failure, schedule, (kept, drawn, test))


def save_mismatch(mismatch: Mismatch, folder: Path) -> tuple[Path, ...]:
    """Write the schedule of a run that was another one when it was played again, and both digests.

    Args:
        mismatch: what was found.
        folder: where to; it is made when it is not there.

    Raises:
        OSError: it cannot be written there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = _name(_UNLIKE, mismatch.schedule)
    kept, told = folder / f"{name}.json", folder / f"{name}.txt"
    mismatch.schedule.save(kept)
    text = (
        f"{mismatch.schedule}\nfirst digest:  {mismatch.first}\nsecond digest: {mismatch.second}\n"
    )
    told.write_text(text, encoding="utf-8")
    return kept, told


def _name(what: str, schedule: Schedule) -> str:
    """Name files: runs of one seed differ by level, mode, and by backend where there is one."""
    level = schedule.level.name
    if schedule.level in (Level.B, Level.C):
        level = f"{level}-{schedule.backend}"
    return f"{what}-{level}-{schedule.mode.value}-{schedule.seed}".lower()
