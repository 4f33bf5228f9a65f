"""Virtual time: what is done when, in one thread.

Decides: the order of things: by instant, those of one instant in the order in which they were put
in; the cluster's own timers before anything else of their instant.
Never: reads a clock.
"""

import heapq
from collections.abc import Callable
from typing import Any

from kgroup.testing.broker.agenda import Agenda
from kgroup.testing.broker.asked import Outbox

__all__ = ["Heap"]

Act = Callable[..., None]


class Heap:
    """What will happen.

    Args:
        agenda: of the cluster; its clock is the world's.
        outbox: of the cluster.
        send: called when something has happened, and answers wait in the outbox.
    """

    def __init__(self, agenda: Agenda, outbox: Outbox, send: Act) -> None:
        self._agenda = agenda
        self._outbox = outbox
        self._send = send
        self._items: list[tuple[float, int, Act, tuple[Any, ...]]] = []
        self._number = 0
        self.events: int = 0
        """How many things have happened."""

    @property
    def now(self) -> float:
        """The present instant, seconds."""
        return self._agenda.now

    def at(self, instant: float, act: Act, *args: Any) -> None:  # for `act`
        """Do something at an instant; one that has passed counts as now."""
        self._number += 1
        now = self._agenda.now
        heapq.heappush(self._items, (max(now, instant), self._number, act, args))

    def run(self, until: float) -> None:
        """Let everything happen up to an instant."""
        items, agenda, outbox = self._items, self._agenda, self._outbox
        while True:
            due = items[0][0] if items else until + 1.0
            timer = agenda.next_at
            if timer <= due and timer <= until:
                agenda.run(timer)
            elif due <= until:
                _, _, act, args = heapq.heappop(items)
                if due > agenda.now:
                    agenda.now = due
                act(*args)
            else:
                return
            self.events += 1
            if outbox.waiting:
                self._send()
