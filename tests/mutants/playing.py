"""Playing one schedule by its seed, some oracles switched off.

Decides: which oracles judge.
Never: knows of mutants: it is imported when one is in place.
"""

from collections.abc import Collection, Mapping

from kgroup.journal.oracles import Oracle, at_least_once
from kgroup.testing.simulation.play import play
from kgroup.testing.simulation.schedule import Level, Mode, Schedule

__all__ = ["Player", "simulation_oracles"]


def simulation_oracles() -> Mapping[str, Oracle]:
    """Return fresh oracles by name."""
    every = at_least_once(clean_handover=False, few_rounds=False)
    return {type(oracle).__name__: oracle for oracle in every}


class Player:
    """Plays schedules of one kind.

    Args:
        level: value of a `Level`.
        mode: value of a `Mode`.
        backend: for levels B and C.
        without: names of oracles that are switched off.
    """

    def __init__(self, level: str, mode: str, backend: str, without: Collection[str]) -> None:
        self._level = Level(level)
        self._mode = Mode(mode)
        self._backend = backend
        self._without = frozenset(without)
        unknown = self._without - simulation_oracles().keys()
        if unknown:
            raise ValueError(f"no such oracles: {sorted(unknown)}")

    def play(self, seed: int) -> list[tuple[str, str]]:
        """Play one; return the promises that were broken, each with what happened."""
        schedule = Schedule(self._level, self._mode, seed, backend=self._backend)
        outcome = play(schedule, oracles=self._oracles)
        return [(each.rule, each.text) for each in outcome.violations]

    def _oracles(self) -> Mapping[str, Oracle]:
        every = simulation_oracles()
        return {name: each for name, each in every.items() if name not in self._without}
