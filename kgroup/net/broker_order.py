"""Which broker is asked first, when any of them can answer.

Decides: the order. A broker that is left alone after a failure comes behind the others. A broker
that did not answer comes last, for its silence would cost the time that is meant for all. The
silence is forgotten with its next answer, or after a while, so that its return is noticed.
Never: asks anybody, or gives a broker up: the last in the order is asked, too.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from kgroup.net.ports import Clock, Dice
from kgroup.net.settings import Endpoint, rotated

_REMEMBERED: Final = 30.0
"""Seconds for which a silence counts."""


def in_order(
    endpoints: Sequence[Endpoint], resting: Callable[[Endpoint], float], silent: Collection[str]
) -> list[Endpoint]:
    """Return the same endpoints, those first that are most likely to answer soon.

    Args:
        endpoints: in the order in which it is their turn.
        resting: the seconds for which one is left alone, 0 when it may be dialled.
        silent: addresses of those that have just been silent.
    """
    return sorted(endpoints, key=lambda each: (each.address in silent, resting(each)))


class BrokerOrder:
    """Remembers which broker's turn it is, and which ones were silent.

    Args:
        clock: instants.
        dice: draws the first of all.
        resting: as in `in_order`.
    """

    def __init__(self, clock: Clock, dice: Dice, resting: Callable[[Endpoint], float]) -> None:
        self._clock = clock
        self._dice = dice
        self._resting = resting
        self._turn = 0
        self._silent_at: dict[str, float] = {}

    @contextmanager
    def noting(self, endpoint: Endpoint) -> Iterator[None]:
        """Note whether a broker answers the question that is asked of it within the block."""
        try:
            yield
        except TimeoutError:
            self._silent_at[endpoint.address] = self._clock()
            raise
        else:
            self._silent_at.pop(endpoint.address, None)

    def order(self, known: list[Endpoint], first: list[Endpoint]) -> list[Endpoint]:
        """Order the brokers to ask; each call begins one further on, so that none gets them all.

        Args:
            known: brokers.
            first: bootstrap addresses, which come behind them.
        """
        if not self._turn:
            self._turn = self._dice.getrandbits(16)
        self._turn += 1
        since = self._clock() - _REMEMBERED
        self._silent_at = {who: at for who, at in self._silent_at.items() if at > since}
        ordered = rotated(known, self._turn) + rotated(first, self._turn)
        return in_order(ordered, self._resting, self._silent_at)
