"""Playing one schedule by its seed, some oracles switched off.

Decides: what is judged, and what each finding is called after.
Never: knows of mutants: it is imported when one is in place.

A simulation also looks at the living world: that nobody is stuck, and that the group comes to
rest. Each of these looks counts as an oracle, called after its rule: `world L1`, `world crash`.
"""

from collections.abc import Collection

from kgroup.journal.oracles import Violation, simulation_oracles
from kgroup.testing.simulation.play import play
from kgroup.testing.simulation.schedule import Level, Mode, Schedule

__all__ = ["WORLD", "Player"]

WORLD = "world "
"""Begins the names of looks at the living world."""


class Player:
    """Plays schedules of one kind.

    Args:
        level: value of a `Level`.
        mode: value of a `Mode`.
        without: names of oracles that are switched off.
    """

    def __init__(self, level: str, mode: str, without: Collection[str]) -> None:
        self._level = Level(level)
        self._mode = Mode(mode)
        self._blind = frozenset(name for name in without if name.startswith(WORLD))
        self._without = frozenset(without) - self._blind
        unknown = self._without - simulation_oracles().keys()
        if unknown:
            raise ValueError(f"no such oracles: {sorted(unknown)}")

    def play(self, seed: int) -> list[tuple[str, str, str]]:
        """Play one; return rule, oracle and words for each promise that was broken."""
        schedule = Schedule(self._level, self._mode, seed)
        outcome = play(schedule, without=self._without)
        found = [(each.rule, _name(each), each.text) for each in outcome.violations]
        return [each for each in found if each[1] not in self._blind]


def _name(violation: Violation) -> str:
    return violation.oracle or f"{WORLD}{violation.rule}"
