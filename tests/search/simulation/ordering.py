"""Who comes first of all that are on their way: members in an order, instants at which it changes.

Decides: how long a message takes when a run is ordered by priorities instead of by jitter. Whoever
comes first is always the fastest, so that of things which could happen in any order one happens all
the time: a fault that needs two or three things in a certain order is met with a likelihood that
does not shrink as a run gets longer (probabilistic concurrency testing, Burckhardt et al. 2010).
Never: draws; reorders messages of one connection.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

__all__ = ["Order"]

_SLOWEST: Final = 2.0
"""Times the plain latency, for the last: it is so slow all the time, unlike by jitter."""
_MEMBER: Final = re.compile(r"m(\d+)")


@dataclass(frozen=True, slots=True)
class Order:
    """Priorities of members.

    Args:
        members: their numbers, each once, the one that comes first at the front.
        changes: instants, rising, at which whoever comes first becomes the last.
    """

    members: tuple[int, ...]
    changes: tuple[float, ...] = ()

    def rank(self, number: int, now: float) -> int:
        """Return how many members come before one at an instant."""
        passed = bisect_right(self.changes, now)
        return (self.members.index(number) - passed) % len(self.members)

    def times(self, process: str, now: float) -> float:
        """Return how many times the plain latency a message takes.

        Args:
            process: name of who sends it, or is sent it: `m0.1`, `m0-twin`, `m0`.
            now: instant at which it leaves.
        """
        found = _MEMBER.match(process)
        last = max(len(self.members) - 1, 1)
        rank = last if found is None else self.rank(int(found[1]), now)
        return 1.0 + (_SLOWEST - 1.0) * rank / last

    def __str__(self) -> str:
        first = " before ".join(f"m{number}" for number in self.members)
        at = ", ".join(f"{change:.3f}" for change in self.changes)
        return f"{first}; who is first becomes last at {at or 'no time'}"
