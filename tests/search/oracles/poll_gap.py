"""L5: whoever does not poll gives up its place (KIP-62).

L5: after an absence longer than max_poll_interval (of `MemberStarted`; without one, its rebalance
    timeout) no heartbeat is sent until the next poll, and no record of what was held before is
    delivered.

Decides: what a member may do when its application stays away from poll for too long.
Never: takes a poll that waits for records for an absence: an absence begins when records are
handed out and ends with the next poll.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.codes import ApiKey
from kgroup.journal.events import (
    Delivered,
    Entry,
    Event,
    FaultStep,
    MemberStarted,
    OwnershipStep,
    Phase,
    Polled,
    RequestSent,
    Source,
)
from kgroup.journal.faults import Faults
from kgroup.types import ChangeKind, Claim
from tests.search.oracles import excuses


@dataclass(slots=True)
class _Application:
    """The application of one member life.

    Args:
        interval: seconds it may stay away.
        away: the entry since which it is, None while it polls.
        missed: the entry that began an absence that was too long, None without one.
        claims: what is held, since when.
    """

    interval: float
    away: Entry | None = None
    missed: Entry | None = None
    claims: dict[Claim, float] = field(default_factory=dict)


class PollGap:
    """L5: absences from poll.

    Args:
        slack: seconds forgiven, e.g. the lag of a loop.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {Delivered, FaultStep, MemberStarted, OwnershipStep, Polled, RequestSent}
    )

    APIS: ClassVar[frozenset[ApiKey]] = frozenset({ApiKey.HEARTBEAT})

    __slots__ = ("_applications", "_faults", "_slack")

    def __init__(self, slack: float = 0.05) -> None:
        self._slack = slack
        self._faults = Faults()
        self._applications: dict[Source, _Application] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry; members without a group may stay away for ever."""
        event = entry.event
        if isinstance(event, RequestSent) and event.api is not ApiKey.HEARTBEAT:
            return ()
        if isinstance(event, (MemberStarted, FaultStep)):
            self._faults.observe(entry)
            if isinstance(event, MemberStarted) and event.rebalance_timeout is not None:
                interval = event.max_poll_interval
                limit = event.rebalance_timeout if interval is None else interval
                self._applications[entry.source] = _Application(limit)
            return ()
        here = self._applications.get(entry.source)
        if here is None:
            return ()
        if isinstance(event, Polled):
            if here.away is not None and self._is_late(here, here.away, entry):
                here.missed = here.away
            here.away = None
        elif isinstance(event, Delivered):
            return self._delivered(here, entry, event)
        elif isinstance(event, RequestSent):
            return self._beats(here, entry)
        elif isinstance(event, OwnershipStep) and event.phase is Phase.BEGIN:
            _keep(here, entry, event)
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _is_late(self, here: _Application, away: Entry, entry: Entry) -> bool:
        return entry.at - away.at > here.interval + self._slack

    def _delivered(
        self, here: _Application, entry: Entry, event: Delivered
    ) -> tuple[Violation, ...]:
        here.away = entry
        missed, here.missed = here.missed, None
        if missed is None or here.claims.get(event.claim, entry.at) > missed.at:
            return ()
        text = (
            f"{event.claim}: {entry.source} delivered {event.first} to {event.last} although the "
            f"application had not polled for more than {here.interval} s and the claim is older"
        )
        return (Violation("L5", text, (missed, entry), event.claim.tp),)

    def _beats(self, here: _Application, entry: Entry) -> tuple[Violation, ...]:
        away = here.away
        if away is None or not self._is_late(here, away, entry):
            return ()
        if excuses.stood_still_since(self._faults.calm_since(entry.source.member), away.at):
            return ()
        here.away = None
        text = (
            f"{entry.source} sent a heartbeat {entry.at - away.at:.3f} s after its application "
            f"had polled, {here.interval} s are allowed"
        )
        return (Violation("L5", text, (away, entry)),)


def _keep(here: _Application, entry: Entry, event: OwnershipStep) -> None:
    for claim in event.claims:
        if event.kind is ChangeKind.ASSIGNED:
            here.claims[claim] = entry.at
        else:
            here.claims.pop(claim, None)
