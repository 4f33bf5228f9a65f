"""What a member leaves behind in its listener when its application does not read for too long.

Decides: since when a member has been out of the membership by its own word, while on_revoked ran
for a partition: a dynamic one that said so when nobody read (KIP-62), or any that has lost its
generation and joins anew as one who has nothing, as S4 lets it when on_revoked takes longer than a
round may last; and whether an application has stayed away for a round's time.
Never: says whether that is forgiven; S2 does.

A poll after that is none of the membership that is over:
1. on_revoked runs, and the application stands still; 2. max.poll.interval.ms after its last poll
the member sends its LeaveGroup, as Java's client does from its heartbeat thread; 3. the
application reads again, while on_revoked still runs; 4. the partition is given to another.
Nor need the member be told of each poll: the one it counts from may be a little older than the
last.
"""

from math import inf
from typing import ClassVar

from kgroup.audit.oracles.lapsed import Lapsed
from kgroup.codes import ApiKey
from kgroup.journal.events import (
    Entry,
    Event,
    JoinIssued,
    MemberStarted,
    OwnershipStep,
    Phase,
    Polled,
    RequestSent,
    Source,
    StateChanged,
)
from kgroup.journal.events.records import POLL_TOLD_EVERY
from kgroup.journal.faults import StateCause
from kgroup.types import ChangeKind, Claim, MemberState

__all__ = ["Absences"]


class Absences:
    """Follows applications that stay away from poll; show it entries in order of time."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {JoinIssued, MemberStarted, OwnershipStep, Polled, RequestSent, StateChanged}
    ).union(Lapsed.KINDS)
    """Events it follows; no other needs to be shown."""

    __slots__ = ("_goes", "_intervals", "_lapsed", "_left", "_polled", "_revoking", "_rounds")

    def __init__(self) -> None:
        self._polled: dict[Source, float] = {}
        self._rounds: dict[Source, float] = {}
        self._intervals: dict[Source, float] = {}
        self._revoking: dict[Source, dict[Claim, float]] = {}
        self._goes: dict[Source, frozenset[Claim]] = {}
        self._left: dict[tuple[Source, Claim], float] = {}
        self._lapsed = Lapsed()

    def is_away(self, source: Source, at: float) -> bool:
        """Tell whether an application had not read for as long as a round may last."""
        polled = self._polled.get(source)
        return polled is not None and at >= polled + self._rounds.get(source, inf)

    def left(self, source: Source, claim: Claim) -> float:
        """Return when the member left, or joined anew, amid on_revoked for a claim; inf if not."""
        return self._left.get((source, claim), inf)

    def observe(self, entry: Entry) -> None:
        """Take one entry."""
        source = entry.source
        match entry.event:
            case Polled():
                self._polled[source] = entry.at
            case MemberStarted() as event:
                self._started(source, event)
            case OwnershipStep(kind=ChangeKind.REVOKED) as event:
                self._revokes(entry, event)
            case StateChanged(after=MemberState.DORMANT, cause=StateCause.POLL_EXPIRED):
                if entry.at >= self._due(source):
                    self._goes[source] = frozenset(self._revoking.get(source, ()))
            case RequestSent(api=ApiKey.LEAVE_GROUP):
                for claim in self._goes.pop(source, ()):
                    self._left.setdefault((source, claim), entry.at)
            case RequestSent(api=ApiKey.JOIN_GROUP):
                self._goes.pop(source, None)
            case JoinIssued(generation_id=None, owned=()):
                self._joins_anew(entry)
            case _:
                pass
        self._lapsed.observe(entry)

    def _started(self, source: Source, event: MemberStarted) -> None:
        longest, interval = event.rebalance_timeout, event.max_poll_interval
        if longest is not None:
            self._rounds[source] = longest
            self._intervals[source] = longest if interval is None else interval

    def _revokes(self, entry: Entry, event: OwnershipStep) -> None:
        revoking = self._revoking.setdefault(entry.source, {})
        for claim in event.claims:
            if event.phase is Phase.BEGIN:
                revoking[claim] = entry.at
            else:
                revoking.pop(claim, None)

    def _joins_anew(self, entry: Entry) -> None:
        """Note what is behind a member whose listener has had the time of a round.

        1. on_revoked runs, and the lease ends; 2. it runs for longer than a round may last, for
        which a JoinGroup waits; 3. the member joins, and claims nothing: the group would have
        handed the partition over by itself. That it is proved a member again says nothing of it.
        Who was a member all along may not say that it has nothing.
        """
        longest = self._rounds.get(entry.source, inf)
        for claim, since in self._revoking.get(entry.source, {}).items():
            lapsed = self._lapsed.since(entry.source, since, entry.at)
            if lapsed and entry.at >= since + longest:
                self._left.setdefault((entry.source, claim), entry.at)

    def _due(self, source: Source) -> float:
        """Return when the poll interval may be over at the earliest."""
        return self._polled.get(source, inf) + self._intervals.get(source, inf) - POLL_TOLD_EVERY
