"""L6: an absence of the coordinator shorter than the session costs no generation.

Decides: whether a group at rest came through an outage of its coordinator unchanged.
Never: judges an outage during a rebalance, or one beside which something else happened.

L6: after an outage of the coordinator that ended before the session could, no member enters a new
    generation within a session, unless a member starts, stops, loses its membership or joins for
    reasons of its own, or another fault begins.
"""

from collections.abc import Collection
from dataclasses import dataclass
from math import inf
from typing import ClassVar, Final

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
from kgroup.journal.oracles.cooperative import OWN_ACCORD
from kgroup.journal.oracles.violation import Violation
from kgroup.types import ChangeKind

__all__ = ["OutageUnnoticed"]

_OUTAGES: Final = frozenset({"COORDINATOR_KILLED", "COORDINATOR_LOADS", "COORDINATOR_MOVED"})


@dataclass(slots=True)
class _Outage:
    """One outage that nothing else disturbed so far."""

    began: Entry
    ended: Entry | None = None


class OutageUnnoticed:
    """L6: short outages of the coordinator.

    Args:
        outages: names of the faults that take only the coordinator away.
        rest: seconds before the outage in which nothing may have happened.
        margin: seconds of the session that finding the coordinator again takes, beside the
            heartbeat interval by which a session may be spent when the outage begins.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {FaultStep, GenerationEntered, JoinIssued, MemberStarted, MemberStopped, OwnershipStep}
    )

    __slots__ = (
        "_generation",
        "_joining",
        "_latest",
        "_limit",
        "_margin",
        "_outage",
        "_outages",
        "_rest",
    )

    def __init__(
        self,
        outages: Collection[str] = _OUTAGES,
        *,
        rest: float = 5.0,
        margin: float = 2.0,
    ) -> None:
        self._limit = inf
        self._margin = margin
        self._outages = frozenset(outages)
        self._rest = rest
        self._latest = -inf
        self._generation: dict[str | None, int] = {}
        self._joining: dict[Source, None] = {}
        self._outage: _Outage | None = None

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if isinstance(event, GenerationEntered):
            return self._entered(entry, event)
        if isinstance(event, FaultStep):
            self._fault(entry, event)
        elif isinstance(event, JoinIssued):
            self._joining[entry.source] = None
            if event.cause in OWN_ACCORD:
                self._disturbed(entry)
        elif isinstance(event, MemberStarted):
            self._started(event)
            self._disturbed(entry)
        elif not isinstance(event, OwnershipStep) or event.kind is ChangeKind.LOST:
            self._joining.pop(entry.source, None)
            self._disturbed(entry)
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _started(self, event: MemberStarted) -> None:
        if event.session_timeout is not None:
            spent = self._margin + (event.heartbeat_interval or 0.0)
            self._limit = min(self._limit, event.session_timeout - spent)

    def _disturbed(self, entry: Entry) -> None:
        self._latest = entry.at
        self._outage = None

    def _fault(self, entry: Entry, event: FaultStep) -> None:
        outage = self._outage
        if event.fault not in self._outages:
            self._disturbed(entry)
        elif event.phase is Phase.BEGIN:
            calm = not self._joining and entry.at - self._latest > self._rest
            self._disturbed(entry)
            self._outage = _Outage(entry) if calm and outage is None else None
        elif outage is not None:
            short = entry.at - outage.began.at < self._limit
            self._disturbed(entry)
            self._outage = _Outage(outage.began, entry) if short else None

    def _entered(self, entry: Entry, event: GenerationEntered) -> tuple[Violation, ...]:
        group, outage = entry.source.group, self._outage
        self._joining.pop(entry.source, None)
        former = self._generation.get(group)
        self._generation[group] = event.generation_id
        if former in (None, event.generation_id):
            return ()
        self._disturbed(entry)
        if outage is None or outage.ended is None or entry.at - outage.ended.at > self._limit:
            return ()
        seconds = outage.ended.at - outage.began.at
        text = (
            f"group {group} went from generation {former} to {event.generation_id} although its "
            f"coordinator was away for {seconds:.3f} s only"
        )
        return (Violation("L6", text, (outage.began, outage.ended, entry)),)
