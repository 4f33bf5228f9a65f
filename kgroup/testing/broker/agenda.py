"""What a broker will do later, and what time it is there.

Decides: in which order timers run: by their instant, and those of one instant in the order in
which they were set. Each runs with the clock at its own instant, however late somebody looks.
Never: reads a clock; `run` gives it the time.

Bell: Tells waiting requests that something may have changed. Decides: nothing; listeners look for
themselves.
"""

import heapq
import math
from collections.abc import Callable

from kgroup.values import dataclass


@dataclass(slots=True, eq=False)
class Timer:
    """One thing to do later.

    Args:
        at: instant, seconds.
        act: what to do; None once it is done or called off.
    """

    at: float
    act: Callable[[], None] | None

    def cancel(self) -> None:
        """Call it off; may be done at any time, and more than once."""
        self.act = None


class Agenda:
    """The clock of one cluster and everything it will do by itself.

    `now` is the instant that everything in the broker takes for the present, in seconds.
    """

    def __init__(self) -> None:
        self.now: float = 0.0
        self._timers: list[tuple[float, int, Timer]] = []  # no two have the same number
        self._set = 0

    def at(self, when: float, act: Callable[[], None]) -> Timer:
        """Do something at an instant; at once is still later than now.

        Args:
            when: instant in seconds; one that has passed counts as now, infinity as never.
            act: bound method or `partial` of one, so that a broker can be copied.
        """
        self._set += 1
        timer = Timer(max(when, self.now), act)
        if not math.isinf(when):
            heapq.heappush(self._timers, (timer.at, self._set, timer))
        return timer

    def after(self, seconds: float, act: Callable[[], None]) -> Timer:
        """Do something so many seconds from now."""
        return self.at(self.now + seconds, act)

    @property
    def next_at(self) -> float:
        """When the next timer is due, infinity without one."""
        timers = self._timers
        while timers and timers[0][2].act is None:
            heapq.heappop(timers)
        return timers[0][0] if timers else math.inf

    def run(self, until: float) -> None:
        """Let time pass; timers that others set on the way run too.

        Args:
            until: the new instant; one before `now` changes nothing.
        """
        while self.next_at <= until:
            _, _, timer = heapq.heappop(self._timers)
            act, timer.act = timer.act, None
            self.now = max(self.now, timer.at)
            if act is not None:
                act()
        self.now = max(self.now, until)


# -- bell ------------------------------------------------------------------------------------------


class Bell:
    """Rung by what changes, heard by what waits for it: a fetch that wants more records."""

    def __init__(self) -> None:
        self._listeners: dict[int, Callable[[], None]] = {}

    def listen(self, ticket: int, act: Callable[[], None]) -> None:
        """Call `act` at each ring, until `leave`; one listener per ticket."""
        self._listeners[ticket] = act

    def leave(self, ticket: int) -> None:
        """Hear no more; may be called while it rings, and more than once."""
        self._listeners.pop(ticket, None)

    def ring(self) -> None:
        """Call every present listener."""
        for act in [*self._listeners.values()]:
            act()
