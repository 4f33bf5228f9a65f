"""Whether the generation of a member came to its end, as far as what it wrote tells.

Decides: when a member was last out of a generation: by a word of the coordinator, by its own, or
because its lease was over.
Never: forgives, or finds anything; who asks says for what it counts.
KIPs: 62.

A lease that ends where a member looks for its coordinator moves no state, and so tells nothing: it
is reckoned here as `lease` does, from what was answered. A process that wakes beyond its lease
has lost its generation before it reads an answer that would have renewed it.
"""

from math import inf
from typing import ClassVar, Final

from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal.events import (
    AnswerReceived,
    CommitStep,
    Entry,
    Event,
    JoinIssued,
    MemberStarted,
    RequestSent,
    Source,
    StateChanged,
)
from kgroup.journal.faults import StateCause
from kgroup.types import MemberState

__all__ = ["Lapsed"]

_CAUSES: Final = frozenset(
    {
        StateCause.MEMBER_LOST,
        StateCause.GENERATION_LOST_IN_ROUND,
        StateCause.GENERATION_LOST,
        StateCause.LEASE_EXPIRED,
        StateCause.MEMBER_LOST_IN_ROUND,
    }
)
"""Why a member loses its generation."""

_OUTSIDE: Final = frozenset({MemberState.DORMANT, MemberState.LEAVING, MemberState.UNSUBSCRIBED})
"""States of who has no generation by its own word."""

_REFUSING: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})
_PROVING: Final = frozenset({ApiKey.HEARTBEAT, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP})

_Request = tuple[Source, int, int]


class Lapsed:
    """Follows how generations end; show it entries in order of time."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {AnswerReceived, CommitStep, JoinIssued, MemberStarted, RequestSent, StateChanged}
    )
    """Events it follows; no other needs to be shown."""

    __slots__ = ("_asked", "_at", "_proved", "_renewed", "_terms")

    def __init__(self) -> None:
        self._terms: dict[Source, tuple[float, float, float]] = {}
        self._asked: dict[_Request, float] = {}
        self._renewed: dict[Source, float] = {}
        self._proved: dict[Source, float] = {}
        self._at: dict[Source, float] = {}

    def since(self, source: Source, since: float, at: float) -> bool:
        """Tell whether a generation ended between two instants; ask before it joins anew."""
        return self._at.get(source, -inf) >= since or at >= self._until(source)

    def observe(self, entry: Entry) -> None:
        """Take one entry."""
        source = entry.source
        match entry.event:
            case MemberStarted() as event:
                session, longest = event.session_timeout, event.rebalance_timeout
                self._terms[source] = (
                    inf if session is None else session,
                    inf if longest is None else longest,
                    event.lease_margin,
                )
            case RequestSent(api=api) as event if api in _PROVING:
                self._asked[source, event.connection, event.correlation_id] = entry.at
            case AnswerReceived(api=api) as event if api in _PROVING:
                self._answered(entry, event)
            case JoinIssued(generation_id=None):
                if entry.at >= self._until(source):
                    self._at[source] = entry.at
                self._renewed.pop(source, None)
                self._proved.pop(source, None)
            case StateChanged(after=after, cause=cause) if cause in _CAUSES or after in _OUTSIDE:
                self._at[source] = entry.at
            case CommitStep(code=code) if code in _REFUSING:
                self._at[source] = entry.at
            case _:
                pass

    def _answered(self, entry: Entry, event: AnswerReceived) -> None:
        source = entry.source
        if event.error in _REFUSING or entry.at >= self._until(source):
            self._at[source] = entry.at
        sent_at = self._asked.pop((source, event.connection, event.correlation_id), None)
        if sent_at is None:
            return
        fine = not event.error
        if event.api is ApiKey.HEARTBEAT and (
            fine or event.error == ErrorCode.REBALANCE_IN_PROGRESS
        ):
            self._renewed[source] = max(sent_at, self._renewed.get(source, sent_at))
        if fine:
            self._proved[source] = max(sent_at, self._proved.get(source, sent_at))

    def _until(self, source: Source) -> float:
        """Return when the lease is over; inf before the first answered heartbeat."""
        session, longest, margin = self._terms.get(source, (inf, inf, 0.0))
        renewed, proved = self._renewed.get(source, inf), self._proved.get(source, inf)
        return inf if renewed == inf else min(renewed + session, proved + longest) - margin
