"""L6: an absence of the coordinator shorter than the session costs no generation.

L6: in an outage of the coordinator that ended before the session could, and within a session
    after it, no member enters a new generation or loses what it owns, unless a member starts,
    stops, stays away or joins for reasons of its own, or another fault begins or has not ended.

Decides: whether a group at rest came through an outage of its coordinator unchanged.
Never: judges an outage during a rebalance or another disturbance.
"""

from collections import Counter
from dataclasses import dataclass
from math import inf
from typing import ClassVar, Final

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import (
    Entry,
    Event,
    FaultStep,
    GenerationEntered,
    JoinIssued,
    MemberStarted,
    MemberStopped,
    OwnershipStep,
    Phase,
    Source,
)
from kgroup.journal.faults import LETHAL
from kgroup.types import Cause, ChangeKind
from tests.search.oracles import excuses
from tests.search.oracles.cooperative import OWN_ACCORD

_OUTAGES: Final = frozenset({"COORDINATOR_KILLED", "COORDINATOR_LOADS", "COORDINATOR_MOVED"})
_REST: Final = 5.0
"""Seconds before an outage in which nothing may have happened."""

_MARGIN: Final = 2.0
"""Seconds of the session that finding the coordinator again takes."""

_OWN_DOING: Final = OWN_ACCORD | {Cause.CLOSING.value, Cause.POLL_TIMEOUT.value}
"""Causes of a loss that have nothing to do with the coordinator."""


@dataclass(slots=True)
class _Outage:
    """One outage that nothing else disturbed so far.

    Args:
        began: when it did.
        ended: likewise, None while it lasts.
        noticed: the loss or the generation that must not have been, if it turns out to be short.
    """

    began: Entry
    ended: Entry | None = None
    noticed: Entry | None = None


class OutageUnnoticed:
    """L6: short outages of the coordinator."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {FaultStep, GenerationEntered, JoinIssued, MemberStarted, MemberStopped, OwnershipStep}
    )

    def __init__(self) -> None:
        self._limit = inf
        self._latest = -inf
        self._session = 0.0
        self._dead_until = -inf
        self._away = 0
        self._others: Counter[tuple[str, str]] = Counter()
        self._generation: dict[str | None, int] = {}
        self._joining: dict[Source, None] = {}
        self._outage: _Outage | None = None

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if isinstance(event, GenerationEntered):
            return self._entered(entry, event)
        if isinstance(event, FaultStep):
            return self._fault(entry, event)
        if isinstance(event, JoinIssued):
            self._joining[entry.source] = None
            if event.cause in OWN_ACCORD:
                self._disturbed(entry)
        elif isinstance(event, MemberStarted):
            self._started(event)
            self._disturbed(entry)
        elif not isinstance(event, OwnershipStep):
            self._joining.pop(entry.source, None)
            self._disturbed(entry)
        elif event.kind is ChangeKind.LOST and event.phase is Phase.BEGIN:
            return self._lost(entry, event)
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _started(self, event: MemberStarted) -> None:
        if event.session_timeout is not None:
            self._session = max(self._session, event.session_timeout)
            spent = _MARGIN + (event.heartbeat_interval or 0.0)
            self._limit = min(self._limit, event.session_timeout - spent)

    def _disturbed(self, entry: Entry) -> None:
        self._latest = entry.at
        self._outage = None

    def _lost(self, entry: Entry, event: OwnershipStep) -> tuple[Violation, ...]:
        outage = self._outage
        self._joining.pop(entry.source, None)
        self._disturbed(entry)
        if event.cause in _OWN_DOING:
            return ()
        return self._notice(outage, entry, f"{entry.source} lost {len(event.claims)} partitions")

    def _notice(self, outage: _Outage | None, entry: Entry, what: str) -> tuple[Violation, ...]:
        """Report what an outage brought about, or keep it in mind while the outage lasts."""
        if outage is None:
            return ()
        if outage.ended is None:
            outage.noticed = outage.noticed or entry
            self._outage = outage
            return ()
        if entry.at - outage.ended.at > self._limit:
            return ()
        return (_violation(outage.began, outage.ended, entry, what),)

    def _fault(self, entry: Entry, event: FaultStep) -> tuple[Violation, ...]:
        self._mourn(entry, event)
        if event.fault not in _OUTAGES:
            self._disturbed(entry)
            self._follow(event)
            return ()
        if event.phase is Phase.END:
            self._away = max(0, self._away - 1)
            return self._back(entry)
        alone = not excuses.not_the_only_fault(self._away, self._others)
        rested = entry.at - max(self._latest, self._dead_until) > _REST
        self._away += 1
        self._disturbed(entry)
        self._outage = _Outage(entry) if alone and rested and not self._joining else None
        return ()

    def _back(self, entry: Entry) -> tuple[Violation, ...]:
        outage = self._outage
        if outage is None:
            return ()
        short = entry.at - outage.began.at < self._limit
        self._disturbed(entry)
        if short and outage.noticed is not None:
            who = outage.noticed.source
            what = f"{who} lost its partitions, or entered another generation"
            return (_violation(outage.began, entry, outage.noticed, what),)
        self._outage = _Outage(outage.began, entry) if short else None
        return ()

    def _follow(self, event: FaultStep) -> None:
        """Count which other faults go on; one that kills has no end that ends it."""
        if event.fault in LETHAL:
            return
        key = (event.fault, event.target)
        self._others[key] += 1 if event.phase is Phase.BEGIN else -1
        if self._others[key] <= 0:
            del self._others[key]

    def _mourn(self, entry: Entry, event: FaultStep) -> None:
        """Follow until when the group may be rebalanced without somebody who was killed."""
        killed = event.fault in LETHAL and event.phase is Phase.BEGIN
        anew = excuses.missed_by_the_next_coordinator(entry.at, self._dead_until)
        if killed or (anew and event.fault in _OUTAGES):
            self._dead_until = entry.at + self._session

    def _entered(self, entry: Entry, event: GenerationEntered) -> tuple[Violation, ...]:
        group, outage = entry.source.group, self._outage
        self._joining.pop(entry.source, None)
        former = self._generation.get(group)
        self._generation[group] = event.generation_id
        if former in (None, event.generation_id):
            return ()
        self._disturbed(entry)
        what = f"group {group} went from generation {former} to {event.generation_id}"
        return self._notice(outage, entry, what)


def _violation(began: Entry, ended: Entry, entry: Entry, what: str) -> Violation:
    text = f"{what} although its coordinator was away for {ended.at - began.at:.3f} s only"
    return Violation("L6", text, (began, ended, entry))
