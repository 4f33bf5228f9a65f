"""S8 and S9's second half: what answers may change.

Decides: whether an answer that came too late moved the member, and under which id it joins again.
Never: judges the connection; an answer that is no longer awaited is late wherever it comes from.

S8: an answer to a request of an older generation, of another member id, or that is no longer
    awaited, moves no state: no change follows it at its own instant that only an answer causes;
    none that a refused commit causes, when it is a commit's.
S9: the member id is kept after ILLEGAL_GENERATION and dropped after UNKNOWN_MEMBER_ID; what a late
    answer says of it moves nothing, either: who is told late of another generation, or of another
    process in its place, keeps its id, and the next JoinGroup hears what is so.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Final

from kgroup.audit.oracles.watch import Violation
from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal.events import (
    AnswerReceived,
    CommitStep,
    ConnectionClosed,
    Entry,
    Event,
    GenerationEntered,
    JoinIssued,
    OwnershipStep,
    Phase,
    RequestSent,
    Source,
    StateChanged,
)
from kgroup.journal.faults import StateCause
from kgroup.types import Cause, ChangeKind, MemberState
from tests.search.oracles.awaited import OUT, Awaited

__all__ = ["AnswersInTime", "MemberIds"]

_ANSWER_CAUSES: Final = frozenset(
    {
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
        StateCause.LEAVE_ENDED,
        StateCause.ROUND_NOT_PERMITTED,
        StateCause.REFUSED,
        StateCause.FENCED,
        StateCause.REBALANCE_SIGNALLED,
        StateCause.GENERATION_LOST,
        StateCause.MEMBER_LOST,
        StateCause.NOT_PERMITTED,
    }
)
"""Causes of a change of state that only an answer can be."""

_COMMIT_CAUSES: Final = frozenset(
    {
        StateCause.FENCED,
        StateCause.REBALANCE_SIGNALLED,
        StateCause.GENERATION_LOST,
        StateCause.MEMBER_LOST,
        StateCause.NOT_PERMITTED,
    }
)
"""Those of them that a commit's answer can be; it shares an instant with a JoinGroup's."""

_DISOWNING: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND})
"""Codes after which a member has no id any more."""

_KEEPING: Final = frozenset({ErrorCode.ILLEGAL_GENERATION, ErrorCode.FENCED_INSTANCE_ID})
"""Codes that a member which hears them late has no reason to drop its id for."""

_DISOWNED: Final = frozenset({StateCause.MEMBER_LOST, StateCause.MEMBER_LOST_IN_ROUND})
"""Causes of a change of state by which a member drops its id."""

_LOST_BY_ANSWER: Final = frozenset(
    each.value for each in (Cause.UNKNOWN_MEMBER, Cause.GENERATION_STALE, Cause.FENCED)
)

_JOIN: Final = ApiKey.JOIN_GROUP
_SYNC: Final = ApiKey.SYNC_GROUP
_BEAT: Final = ApiKey.HEARTBEAT
_COMMIT: Final = ApiKey.OFFSET_COMMIT

_ASKING: Final = frozenset({_JOIN, _SYNC, _BEAT, _COMMIT, ApiKey.LEAVE_GROUP})
"""What a member asks its coordinator under its id."""

_NAMING: Final = frozenset({None, ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED})
"""What a JoinGroup is told that is given an id."""

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
        leaving: whether it has sent a LeaveGroup since it went to leave.
    """

    requests: dict[tuple[int, int], Entry] = field(default_factory=dict)
    join: tuple[int, int] | None = None
    generation_id: int = -1
    held: int = -1
    member_id: str | None = None
    late: Entry | None = None
    going: bool = False
    leaving: bool = False


class AnswersInTime:
    """S8: late answers move nothing."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {AnswerReceived, ConnectionClosed, GenerationEntered}
        | {OwnershipStep, RequestSent, StateChanged}
    )

    __slots__ = ("_asked",)

    def __init__(self) -> None:
        self._asked: dict[Source, _Asked] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if isinstance(event, RequestSent):
            if event.api in (_JOIN, _SYNC, _BEAT, _COMMIT, ApiKey.LEAVE_GROUP):
                self._sent(self._of(entry.source), entry, event)
            return ()
        if isinstance(event, AnswerReceived):
            if event.api in (_JOIN, _SYNC, _BEAT, _COMMIT):
                self._answered(self._of(entry.source), entry, event)
            else:
                self._of(entry.source).late = None  # this one may be what moves it
            return ()
        asked = self._asked.get(entry.source)
        if asked is None:
            return ()
        if isinstance(event, (StateChanged, OwnershipStep)):
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
        if event.api is ApiKey.LEAVE_GROUP:
            asked.leaving = True
            return
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
    def _moved(
        asked: _Asked, entry: Entry, event: StateChanged | OwnershipStep
    ) -> tuple[Violation, ...]:
        late = asked.late
        if isinstance(event, StateChanged):
            asked.going = event.after in _GOING
            if asked.going and (event.before is MemberState.JOINING or asked.generation_id == -1):
                asked.generation_id = asked.held  # it gives the round up, and has that one still
            if event.after is MemberState.LEAVING:
                asked.leaving = False
        if late is None or late.at != entry.at:
            return ()
        if isinstance(event, StateChanged):
            # Who has no id, or stays in the group, has nothing to send: leaving ends by itself.
            unasked = event.cause == StateCause.LEAVE_ENDED and not asked.leaving
            moved = event.cause in _causes(late, event.before) and not unasked
            what = f"went from {event.before.value} to {event.after.value} ({event.cause})"
        else:
            lost = event.kind is ChangeKind.LOST and event.phase is Phase.BEGIN
            moved = lost and event.cause in _LOST_BY_ANSWER
            what = f"lost {len(event.claims)} partitions ({event.cause})"
        if not moved:
            return ()
        asked.late = None
        text = f"{entry.source} {what} by an answer that came too late"
        return (Violation("S8", text, (late, entry)),)


def _causes(late: Entry, before: MemberState) -> frozenset[str]:
    """Return what a change is due to when a late answer has made it."""
    event = late.event
    assert isinstance(event, AnswerReceived)
    if before is MemberState.ASSIGNING and event.api is _BEAT:
        # 1. A heartbeat is out; 2. the next round is joined, and its leader's assignor finds no
        # metadata; 3. the heartbeat is answered at that instant: it has never that cause.
        return _ANSWER_CAUSES - {StateCause.RETRY_LATER}
    return _COMMIT_CAUSES if event.api is _COMMIT else _ANSWER_CAUSES


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


@dataclass(slots=True)
class _Id:
    """The member id of one life.

    Args:
        member_id: what it is called, None before it was told.
        generation_id: of the newest round it was told of, -1 before.
        awaited: what it has asked, and what of that is of before.
        refused: the answer that decides about the next join, None when none does.
        keeps: whether the id must be kept after it.
        unheard: the late answer for which the id must be kept, None when it may be dropped.
    """

    member_id: str | None = None
    generation_id: int = -1
    awaited: Awaited = field(default_factory=Awaited)
    refused: Entry | None = None
    keeps: bool = False
    unheard: Entry | None = None


class MemberIds:
    """S9: which id a member joins under after it was refused."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {AnswerReceived, CommitStep, JoinIssued, OwnershipStep, RequestSent, StateChanged}
    )

    APIS: ClassVar[frozenset[ApiKey]] = _ASKING

    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids: dict[Source, _Id] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if isinstance(event, RequestSent):
            if event.api in _ASKING:
                self._sent(entry.source, event)
        elif isinstance(event, AnswerReceived):
            if event.api in _ASKING:
                self._answered(entry, event)
        elif isinstance(event, JoinIssued):
            return self._joins(entry, event)
        elif isinstance(event, CommitStep):
            self._committed(entry, event)
        else:
            self._moved(entry.source, event)
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _moved(self, source: Source, event: Event) -> None:
        """Take a change of ownership or of state."""
        mine = self._ids.get(source)
        if isinstance(event, OwnershipStep) and mine is not None:
            mine.awaited.lost(event)
        elif isinstance(event, StateChanged):
            if event.after in OUT:
                self._forget(source)
            elif mine is not None:
                mine.awaited.moved(event)
            if event.cause in _DISOWNED:
                self._may_drop(source)

    def _sent(self, source: Source, event: RequestSent) -> None:
        mine = self._ids.get(source)
        if mine is None:
            mine = self._ids[source] = _Id()
        if event.api is ApiKey.LEAVE_GROUP:
            self._forget(source)
            return
        mine.awaited.sent(event)

    def _forget(self, source: Source) -> None:
        """Let whoever is out of the group come back as anybody."""
        mine = self._ids.get(source)
        if mine is not None:
            mine.refused = mine.unheard = mine.member_id = None
            # 1. JoinGroup is out; 2. the member is out of the group; 3. the answer comes all the
            # same, and names an id that is nobody's any more.
            mine.awaited.out()

    def _may_drop(self, source: Source) -> None:
        mine = self._ids.get(source)
        if mine is not None:
            mine.unheard = None

    def _answered(self, entry: Entry, event: AnswerReceived) -> None:
        mine = self._ids.get(entry.source)
        asked, late = (None, True) if mine is None else mine.awaited.answered(event)
        if mine is None:
            return
        if event.error in _DISOWNING or event.api is _COMMIT:
            mine.unheard = None  # what a commit is told, the journal need not say
        elif late and asked is not None and event.error in _KEEPING:
            mine.unheard = entry if asked.member_id and asked.member_id == mine.member_id else None
        if asked is None or late or event.api is _COMMIT:
            return
        # A refusal names the id that was asked with: it may have been dropped since.
        if event.api is _JOIN and event.member_id and event.error in _NAMING:
            mine.member_id, mine.refused, mine.unheard = event.member_id, None, None
            if not event.error and event.generation_id is not None:
                mine.generation_id = event.generation_id
        self._refused(mine, entry, asked.member_id, asked.generation_id, event.error)

    def _committed(self, entry: Entry, event: CommitStep) -> None:
        mine = self._ids.get(entry.source)
        if mine is None or event.code is None:
            return
        mine.unheard = None
        named, generation_id, late = mine.awaited.committed(event)
        if not late and generation_id == mine.generation_id:
            self._refused(mine, entry, named, generation_id, event.code)

    @staticmethod
    def _refused(
        mine: _Id, entry: Entry, named: str | None, generation_id: int | None, code: int | None
    ) -> None:
        if not named or named != mine.member_id:
            return
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            mine.refused, mine.keeps, mine.member_id = entry, False, None
        elif code == ErrorCode.ILLEGAL_GENERATION and generation_id in (None, mine.generation_id):
            # 1. a heartbeat is out; 2. the next round is joined; 3. the heartbeat is refused: that
            # says nothing about the id in the round that was joined.
            mine.refused, mine.keeps = entry, True

    def _joins(self, entry: Entry, event: JoinIssued) -> tuple[Violation, ...]:
        mine = self._ids.get(entry.source)
        if mine is not None and mine.unheard is not None and event.member_id is None:
            late, mine.unheard = mine.unheard, None
            text = f"{entry.source} joins without its member id after an answer that came too late"
            return (Violation("S9", text, (late, entry)),)
        if mine is None or mine.refused is None:
            return ()
        refused, mine.refused = mine.refused, None
        if mine.keeps == (event.member_id is not None):
            return ()
        kept = "without its member id" if mine.keeps else "under its former member id"
        why = "ILLEGAL_GENERATION" if mine.keeps else "UNKNOWN_MEMBER_ID"
        text = f"{entry.source} joins {kept} after {why}"
        return (Violation("S9", text, (refused, entry)),)
