"""Virtual time: what is done when, in one thread.

Decides: the order of things: by instant, those of one instant in the order in which they were put
in; the cluster's own timers before anything else of their instant.
Never: reads a clock.
"""

import heapq
from collections.abc import Callable
from typing import Any

from kgroup.testing.broker.agenda import Agenda

__all__ = ["Heap"]

Act = Callable[..., None]


class Heap:
    """What will happen.

    Args:
        agenda: of the cluster; its clock is the world's.
        after: called after each thing that has happened.
    """

    def __init__(self, agenda: Agenda, after: Act) -> None:
        self._agenda = agenda
        self._after = after
        self._items: list[tuple[float, int, Act, tuple[Any, ...]]] = []
        self._number = 0
        self.events: int = 0
        """How many things have happened."""

    @property
    def now(self) -> float:
        """The present instant, seconds."""
        return self._agenda.now

    def at(self, instant: float, act: Act, *args: Any) -> None:  # noqa: ANN401  # for `act`
        """Do something at an instant; one that has passed counts as now."""
        self._number += 1
        heapq.heappush(self._items, (max(instant, self._agenda.now), self._number, act, args))

    def run(self, until: float) -> None:
        """Let everything happen up to an instant."""
        items, agenda = self._items, self._agenda
        while True:
            due = items[0][0] if items else until + 1.0
            timer = agenda.next_at
            if timer <= due and timer <= until:
                agenda.run(timer)
            elif due <= until:
                _, _, act, args = heapq.heappop(items)
                agenda.now = max(agenda.now, due)
                act(*args)
            else:
                return
            self.events += 1
            self._after()
