"""How many partitions the members of a room take at most, and what is even then.

Decides: which limit a client has: it keeps its limit, however often it starts again.
Never: draws from the dice of the room, whose runs are the same without limits.
"""

from collections.abc import Iterable
from random import Random

LAST = "last"
"""Client that takes any number."""


class Limits:
    """What each client takes at most.

    Args:
        dice: its own.
    """

    def __init__(self, dice: Random) -> None:
        self._dice = dice
        self._known: dict[str, int | None] = {LAST: None}

    def of(self, client_id: str) -> int | None:
        """Return how many partitions a client takes at most, None for any number."""
        if client_id not in self._known:
            self._known[client_id] = self._dice.choice([None, None, 0, 1, 1, 2, 3])
        return self._known[client_id]


def level_of(partitions: int, limits: Iterable[int | None]) -> int:
    """Return how many each member without a lower limit has at least, dealt out one by one."""
    taken, level = list(limits), 0
    while True:
        takes = sum(most is None or most > level for most in taken)
        if not takes or takes > partitions:
            return level
        partitions, level = partitions - takes, level + 1
