"""The self-check of a campaign: a run that is played again must be the same run.

Decides: when runs are played again, and that this happens in a process whose hashes have another
order than those of the processes that played first.
Never: decides which runs; a chunk says so.
"""

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final, Self

from tests.search.simulation.campaign_chunk import Check
from tests.search.simulation.campaign_process import Processes
from tests.search.simulation.schedule import Schedule

__all__ = ["Checker", "Mismatch"]

_BATCH: Final = 16
"""Runs that are checked at once."""
_CHECKER_SEED: Final = 1000
"""Hash seed of the process in which runs are played again: that of no other."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A run that was another one when it was played again.

    Args:
        schedule: that was played twice.
        first: digest of the first run.
        second: digest of the second, in a process with another hash seed.
    """

    schedule: Schedule
    first: str
    second: str


class Checker:
    """Plays runs a second time, in one process where hashes have another order.

    It starts with the first run that is to be checked; nothing waits for it while there is more to
    be played.

    Args:
        world: name of the function that plays.
    """

    def __init__(self, world: str) -> None:
        self.checked: int = 0
        self.mismatches: list[Mismatch] = []
        self._world = world
        self._waiting: list[tuple[Schedule, str]] = []
        self._playing: list[tuple[Schedule, str]] = []
        self._stack = ExitStack()
        self._processes: Processes | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, checks: Iterable[tuple[Schedule, str]]) -> None:
        """Have runs played again, soon; each with the digest it had."""
        self._waiting += checks
        if len(self._waiting) >= _BATCH:
            self._hear()
            self._ask()

    def finish(self) -> None:
        """Wait for all that is still to be checked."""
        self._hear()
        self._ask()
        self._hear()

    def _ask(self) -> None:
        if not self._waiting:
            return
        if self._processes is None:
            self._processes = self._stack.enter_context(Processes(1, self._world, _CHECKER_SEED))
        self._playing, self._waiting = self._waiting, []
        self._processes.give(Check(tuple(schedule for schedule, _ in self._playing)))

    def _hear(self) -> None:
        if not self._playing or self._processes is None:
            return
        played, self._playing = self._playing, []
        again = next(iter(self._processes.wait()))
        assert isinstance(again, tuple)
        self.checked += len(played)
        self.mismatches += [
            Mismatch(schedule, first, second)
            for (schedule, first), second in zip(played, again, strict=True)
            if first != second
        ]
