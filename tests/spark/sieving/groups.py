"""Groups by the thousand, each of a seed: half are recorded ones, half are simulated.

Decides: what the members of a group logged; of a simulation, what the coordinator and the faults
wrote is left out.
"""

from collections.abc import Iterable
from pathlib import Path
from random import Random

from kgroup.journal import CommitStored, Entry, FaultStep, RoundStored
from tests.search.simulation.play import play
from tests.search.simulation.schedule import Level, Mode, Schedule
from tests.spark.fleet import recorded, write_whole

OF_OTHERS = (CommitStored, RoundStored, FaultStep)
"""Events that no member writes."""
_MODES = (Mode.MIXED, Mode.EAGER, Mode.COOPERATIVE, Mode.STATIC)


def write_seed(folder: Path, seed: int) -> None:
    """Write the log of a seed's group."""
    write_whole(folder, f"g{seed}", _played(seed))


def _played(seed: int) -> list[Entry]:
    if seed % 2:
        return recorded(Random(seed))[1]
    outcome = play(Schedule(Level.A, _MODES[seed // 2 % len(_MODES)], seed), keep=True)
    return of_members(outcome.entries)


def of_members(entries: Iterable[Entry]) -> list[Entry]:
    """Return what members logged themselves."""
    return [each for each in entries if not isinstance(each.event, OF_OTHERS)]
