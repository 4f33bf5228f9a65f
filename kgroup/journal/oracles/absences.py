"""What a member leaves behind in its listener when its application does not read for too long.

Decides: since when a dynamic member has been out of the group by its own word (KIP-62), while
on_revoked ran for a partition; and whether an application has stayed away for a round's time.
Never: says whether that is forgiven; S2 does.

A poll after that is none of the membership that is over:
1. on_revoked runs, and the application stands still; 2. max.poll.interval.ms after its last poll
the member sends its LeaveGroup, as Java's client does from its heartbeat thread; 3. the
application reads again, while on_revoked still runs; 4. the partition is given to another.
Nor need the member be told of each poll: the one it counts from may be a little older than the
last.
"""

from math import inf
from typing import ClassVar, Final

from kgroup.codes import ApiKey
from kgroup.journal.events import (
    Entry,
    Event,
    MemberStarted,
    OwnershipStep,
    Phase,
    Polled,
    RequestSent,
    Source,
    StateChanged,
)
from kgroup.types import ChangeKind, Claim, MemberState

__all__ = ["Absences"]

_POLL_EXPIRED: Final = "poll interval over"
"""What the table calls it."""

_TOLD_EVERY: Final = 0.5
"""Seconds after which a member is told of another poll at the latest."""


class Absences:
    """Follows applications that stay away from poll; show it entries in order of time."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {MemberStarted, OwnershipStep, Polled, RequestSent, StateChanged}
    )
    """Events it follows; no other needs to be shown."""

    __slots__ = ("_goes", "_intervals", "_left", "_polled", "_revoking", "_rounds")

    def __init__(self) -> None:
        self._polled: dict[Source, float] = {}
        self._rounds: dict[Source, float] = {}
        self._intervals: dict[Source, float] = {}
        self._revoking: dict[Source, set[Claim]] = {}
        self._goes: dict[Source, frozenset[Claim]] = {}
        self._left: dict[tuple[Source, Claim], float] = {}

    def is_away(self, source: Source, at: float) -> bool:
        """Tell whether an application had not read for as long as a round may last."""
        polled = self._polled.get(source)
        return polled is not None and at >= polled + self._rounds.get(source, inf)

    def left(self, source: Source, claim: Claim) -> float:
        """Return when the member left while on_revoked ran for a claim; inf if it did not."""
        return self._left.get((source, claim), inf)

    def observe(self, entry: Entry) -> None:
        """Take one entry."""
        source = entry.source
        match entry.event:
            case Polled():
                self._polled[source] = entry.at
            case MemberStarted() as event:
                self._started(source, event)
            case OwnershipStep(kind=ChangeKind.REVOKED, phase=phase, claims=claims):
                revoking = self._revoking.setdefault(source, set())
                if phase is Phase.BEGIN:
                    revoking.update(claims)
                else:
                    revoking.difference_update(claims)
            case StateChanged(after=MemberState.DORMANT, cause=cause) if cause == _POLL_EXPIRED:
                if entry.at >= self._due(source):
                    self._goes[source] = frozenset(self._revoking.get(source, ()))
            case RequestSent(api=ApiKey.LEAVE_GROUP):
                for claim in self._goes.pop(source, ()):
                    self._left.setdefault((source, claim), entry.at)
            case RequestSent(api=ApiKey.JOIN_GROUP):
                self._goes.pop(source, None)
            case _:
                pass

    def _started(self, source: Source, event: MemberStarted) -> None:
        longest, interval = event.rebalance_timeout, event.max_poll_interval
        if longest is not None:
            self._rounds[source] = longest
            self._intervals[source] = longest if interval is None else interval

    def _due(self, source: Source) -> float:
        """Return when the poll interval may be over at the earliest."""
        return self._polled.get(source, inf) + self._intervals.get(source, inf) - _TOLD_EVERY
