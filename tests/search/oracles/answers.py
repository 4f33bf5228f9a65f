"""S8: an answer that comes too late moves nothing.

S8: an answer to a request of an older generation, of another member id, or that is no longer
    awaited moves no state: at its instant no change follows that only an answer causes, nor, when
    it is a commit's, one that a refused commit causes.

Decides: whether a late answer moved the member.
Never: judges the connection; an answer that is no longer awaited is late wherever it comes from.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Final

from kgroup.audit.oracles.watch import Violation
from kgroup.codes import ApiKey
from kgroup.journal.events import (
    AnswerReceived,
    ConnectionClosed,
    Entry,
    Event,
    GenerationEntered,
    RequestSent,
    Source,
    StateChanged,
)
from kgroup.journal.faults import StateCause
from kgroup.types import MemberState
from tests.search.oracles import excuses

_COMMIT_CAUSES: Final = frozenset(
    {
        StateCause.FENCED,
        StateCause.REBALANCE_SIGNALLED,
        StateCause.GENERATION_LOST,
        StateCause.MEMBER_LOST,
        StateCause.NOT_PERMITTED,
    }
)
"""Causes of a change of state that a commit's answer can be; it may come beside a JoinGroup's."""

_ANSWER_CAUSES: Final = _COMMIT_CAUSES | {
    StateCause.MEMBER_ID_GIVEN,
    StateCause.ELECTED,
    StateCause.ELECTED_UNASKED,
    StateCause.JOINED,
    StateCause.SYNCED,
    StateCause.ASSIGNMENT_UNREADABLE,
    StateCause.REJOIN_ASKED,
    StateCause.RETRY_LATER,
    StateCause.GENERATION_LOST_IN_ROUND,
    StateCause.MEMBER_LOST_IN_ROUND,
    StateCause.ROUND_NOT_PERMITTED,
    StateCause.REFUSED,
}
"""Causes that only an answer can be. Leaving ends by an answer, or by itself: it is left out."""

_JOIN: Final = ApiKey.JOIN_GROUP
_SYNC: Final = ApiKey.SYNC_GROUP
_COMMIT: Final = ApiKey.OFFSET_COMMIT
_ASKING: Final = frozenset({_JOIN, _SYNC, ApiKey.HEARTBEAT, _COMMIT})

_GOING: Final = frozenset({MemberState.RELEASING, MemberState.LEAVING})
"""States in which a member enters no round any more, whatever its JoinGroup is told."""


@dataclass(slots=True)
class _Asked:
    """What one member life has asked its coordinator and what it is.

    Args:
        requests: (connection, correlation) -> the request that awaits an answer.
        join: the latest JoinGroup.
        generation_id: newest generation it was told of, -1 while it joins.
        held: the one it had when it asked to join.
        member_id: newest id it was told.
        late: the late answer that was the last thing to come, None otherwise.
        going: whether it is on its way out of the group.
    """

    requests: dict[tuple[int, int], Entry] = field(default_factory=dict)
    join: tuple[int, int] | None = None
    generation_id: int = -1
    held: int = -1
    member_id: str | None = None
    late: Entry | None = None
    going: bool = False


class AnswersInTime:
    """S8: late answers move nothing."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {AnswerReceived, ConnectionClosed, GenerationEntered, RequestSent, StateChanged}
    )

    __slots__ = ("_asked",)

    def __init__(self) -> None:
        self._asked: dict[Source, _Asked] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if isinstance(event, RequestSent):
            if event.api in _ASKING:
                self._sent(self._of(entry.source), entry, event)
            return ()
        if isinstance(event, AnswerReceived):
            if event.api in _ASKING:
                self._answered(self._of(entry.source), entry, event)
            else:
                self._of(entry.source).late = None  # this one may be what moves it
            return ()
        asked = self._asked.get(entry.source)
        if asked is None:
            return ()
        if isinstance(event, StateChanged):
            return self._moved(asked, entry, event)
        if isinstance(event, GenerationEntered):
            asked.generation_id = max(event.generation_id, asked.generation_id)
            asked.member_id = event.member_id
        elif isinstance(event, ConnectionClosed):
            gone = [key for key in asked.requests if key[0] == event.connection]
            for key in gone:
                del asked.requests[key]
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _of(self, source: Source) -> _Asked:
        known = self._asked.get(source)
        if known is None:
            known = self._asked[source] = _Asked()
        return known

    @staticmethod
    def _sent(asked: _Asked, entry: Entry, event: RequestSent) -> None:
        key = (event.connection, event.correlation_id)
        asked.requests[key] = entry
        if event.api is _JOIN:
            asked.join = key
            if asked.generation_id != -1:
                asked.held = asked.generation_id
            asked.generation_id = -1  # the group may begin anew, from 1
        elif event.api is _SYNC and event.generation_id is not None:
            asked.generation_id = event.generation_id

    @staticmethod
    def _answered(asked: _Asked, entry: Entry, event: AnswerReceived) -> None:
        key = (event.connection, event.correlation_id)
        request = asked.requests.pop(key, None)
        asked.late = entry if _is_late(asked, key, request) else None
        if event.api is _JOIN and asked.late is None and not asked.going:
            asked.generation_id = max(asked.generation_id, event.generation_id or -1)
            asked.member_id = event.member_id or asked.member_id

    @staticmethod
    def _moved(asked: _Asked, entry: Entry, event: StateChanged) -> tuple[Violation, ...]:
        asked.going = event.after in _GOING
        if asked.going and (event.before is MemberState.JOINING or asked.generation_id == -1):
            asked.generation_id = asked.held  # it gives the round up, and has that one still
        late = asked.late
        if late is None or late.at != entry.at:
            return ()
        assert isinstance(late.event, AnswerReceived)
        api = late.event.api
        causes = _COMMIT_CAUSES if api is _COMMIT else _ANSWER_CAUSES
        excused = excuses.assignor_tries_again(api, event.before, event.cause)
        if event.cause not in causes or excused:
            return ()
        asked.late = None
        text = (
            f"{entry.source} went from {event.before.value} to {event.after.value} "
            f"({event.cause}) by an answer that came too late"
        )
        return (Violation("S8", text, (late, entry)),)


def _is_late(asked: _Asked, key: tuple[int, int], request: Entry | None) -> bool:
    if request is None:
        return True
    event = request.event
    assert isinstance(event, RequestSent)
    if event.api is _JOIN:
        return key != asked.join
    if event.generation_id is not None and event.generation_id < asked.generation_id:
        return True
    known = asked.member_id
    return event.member_id is not None and known is not None and event.member_id != known
