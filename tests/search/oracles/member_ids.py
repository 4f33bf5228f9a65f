"""S9: a member joins again under the right member id.

S9: the member id is kept after ILLEGAL_GENERATION and dropped after UNKNOWN_MEMBER_ID. A late
    answer about another generation, or about another process in its place, changes nothing: the
    member keeps its id, and its next JoinGroup hears what is so.

Decides: under which id a member may join after an answer refused it.
Never: judges what a JoinGroup claims; `handover` does.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Final

from kgroup.audit.oracles.watch import Violation
from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal.events import (
    AnswerReceived,
    CommitStep,
    Entry,
    Event,
    JoinIssued,
    OwnershipStep,
    RequestSent,
    Source,
    StateChanged,
)
from kgroup.journal.faults import StateCause
from tests.search.oracles import excuses
from tests.search.oracles.awaited import OUT, Awaited

_DISOWNING: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND})
"""Codes after which a member has no id any more."""

_KEEPING: Final = frozenset({ErrorCode.ILLEGAL_GENERATION, ErrorCode.FENCED_INSTANCE_ID})
"""Codes that a member which hears them late has no reason to drop its id for."""

_DISOWNED: Final = frozenset({StateCause.MEMBER_LOST, StateCause.MEMBER_LOST_IN_ROUND})
"""Causes of a change of state by which a member drops its id."""

_JOIN: Final = ApiKey.JOIN_GROUP
_COMMIT: Final = ApiKey.OFFSET_COMMIT

_ASKING: Final = frozenset(
    {_JOIN, _COMMIT, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP}
)
"""What a member asks its coordinator under its id."""

_NAMING: Final = frozenset({None, ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED})
"""What a JoinGroup is told that is given an id."""


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
        """A member that is out of the group may come back under any id."""
        mine = self._ids.get(source)
        if mine is not None:
            mine.refused = mine.unheard = mine.member_id = None
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
        elif code == ErrorCode.ILLEGAL_GENERATION and not excuses.refused_in_an_earlier_round(
            generation_id, mine.generation_id
        ):
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
