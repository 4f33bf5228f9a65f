"""What a broker will do later, and what time it is there.

Decides: in which order timers run: by their instant, and those of one instant in the order in
which they were set. Each runs with the clock at its own instant, however late somebody looks.
Never: reads a clock; time is told by `run`.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Agenda", "Timer"]


@dataclass(order=True, slots=True)
class Timer:
    """One thing to do later.

    Args:
        at: instant, seconds.
        number: order among timers of one instant.
        act: what to do; None once it is done or called off.
    """

    at: float
    number: int
    act: Callable[[], None] | None = field(compare=False)

    def cancel(self) -> None:
        """Call it off; may be done at any time, and more than once."""
        self.act = None


class Agenda:
    """The clock of one cluster and everything it will do by itself.

    `now` is the instant that everything in the broker takes for the present, in seconds.
    """

    def __init__(self) -> None:
        self.now: float = 0.0
        self._timers: list[Timer] = []
        self._set = 0

    def at(self, when: float, act: Callable[[], None]) -> Timer:
        """Do something at an instant; at once is still later than now.

        Args:
            when: instant in seconds; one that has passed counts as now, infinity as never.
            act: bound method or `partial` of one, so that a broker can be copied.
        """
        self._set += 1
        timer = Timer(max(when, self.now), self._set, act)
        if not math.isinf(when):
            heapq.heappush(self._timers, timer)
        return timer

    def after(self, seconds: float, act: Callable[[], None]) -> Timer:
        """Do something so many seconds from now."""
        return self.at(self.now + seconds, act)

    @property
    def next_at(self) -> float:
        """When the next timer is due, infinity without one."""
        while self._timers and self._timers[0].act is None:
            heapq.heappop(self._timers)
        return self._timers[0].at if self._timers else math.inf

    def run(self, until: float) -> None:
        """Let time pass; timers that others set on the way run too.

        Args:
            until: the new instant; one before `now` changes nothing.
        """
        while self.next_at <= until:
            timer = heapq.heappop(self._timers)
            act, timer.act = timer.act, None
            self.now = max(self.now, timer.at)
            if act is not None:
                act()
        self.now = max(self.now, until)
