"""Which addresses are out of reach, and what of that is news.

Decides: a failure is news once for each address, until it has answered again; that nobody listens
where no name was known before, or the other way round, is news too. How long a first broker is
waited for.
Never: logs, dials or reads a clock.
"""

import socket
from collections.abc import Iterable
from enum import Enum
from typing import Final

from kgroup.values import dataclass

BOOTSTRAP: Final = 30.0
_NOBODY: Final = 5.0
"""Seconds a first broker is waited for unless the user says: at all; while nobody is anywhere."""


class Absence(Enum):
    """Why nobody is at an address; the value says what to do."""

    REFUSED = "nothing listens there: start the broker, or correct the address"
    UNKNOWN = "the name cannot be resolved: correct it, or look at the name service"


def absence(error: BaseException | None) -> Absence | None:
    """Return what the operating system said about an address; None when somebody may be there."""
    if isinstance(error, BaseExceptionGroup):
        found = {absence(inner) for inner in error.exceptions}
        return found.pop() if len(found) == 1 else None
    match error:
        case None:
            return None
        case ConnectionRefusedError():
            return Absence.REFUSED
        case socket.gaierror():
            return Absence.UNKNOWN
        case _:
            return absence(error.__cause__)


@dataclass(frozen=True, slots=True)
class _Outage:
    """One address out of reach: since when, why now, and what was reported."""

    at: float
    now: Absence | None
    reported: Absence | None


class Outages:
    """Remembers which addresses failed, from the first failure to the next answer."""

    __slots__ = ("_known", "_over")

    def __init__(self) -> None:
        self._known: dict[str, _Outage] = {}
        self._over: dict[str, float] = {}
        """Address -> when its last outage was over: what was begun before is part of that one."""

    def fail(self, address: str, began: float, now: float, why: Absence | None) -> bool:
        """Note a failure; tell whether it is news.

        Args:
            address: `host:port`.
            began: instant at which it was asked, or dialled.
            now: instant.
            why: None when somebody may be there.
        """
        known = self._known.get(address)
        if known is None and began < self._over.get(address, began):
            return False
        reported = why if known is None or why is not None else known.reported
        self._known[address] = _Outage(now if known is None else known.at, why, reported)
        return known is None or (known.reported is not None and reported is not known.reported)

    def answer(self, address: str, began: float, now: float) -> bool:
        """Note an answer; tell whether an outage is over: one that was asked for since it began."""
        known = self._known.get(address)
        if known is None or began < known.at:
            return False
        del self._known[address]
        self._over[address] = now
        return True

    def patience(self, addresses: Iterable[str]) -> float:
        """Return the seconds for which a first broker at one of these addresses is waited for."""
        known = [self._known.get(address) for address in addresses]
        absent = all(each is not None and each.now is not None for each in known)
        return _NOBODY if absent else BOOTSTRAP
