"""L7: closing is bounded, and the coordinator is told.

L7: close() returns within its timeout. A dynamic member that may be in the group, or whose id is
    still pending, has sent LeaveGroup, as has a static one that was asked to leave. A member that
    was fenced, and a static one that has unsubscribed, has no id to leave under: an instance id
    alone would remove the process that has it now (KIP-345).

Decides: whether a member went as it should.
Never: judges when a member ends that stands still while it closes; nor what one has told that a
fault concerns while it closes, whose connection was lost while it closed, or that failed.
"""

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Final

from kgroup.audit.oracles.watch import Violation
from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal.events import (
    AnswerReceived,
    CloseAsked,
    CommitStep,
    ConnectionClosed,
    Entry,
    Event,
    FaultStep,
    GenerationEntered,
    MemberStarted,
    MemberStopped,
    RequestSent,
    Source,
    StateChanged,
)
from kgroup.journal.faults import LETHAL, STANDING, Faults
from kgroup.types import Leave, MemberState
from tests.search.oracles import excuses

_REMOVED: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})
_EXPELLING: Final = _REMOVED | {ErrorCode.ILLEGAL_GENERATION}

_REFUSING: Final = MappingProxyType(
    {
        ApiKey.JOIN_GROUP: _EXPELLING,
        ApiKey.HEARTBEAT: _EXPELLING,
        ApiKey.SYNC_GROUP: _REMOVED,
    }
)
"""Request -> what a member is told that need not leave any more."""

_ASKING: Final = frozenset({ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.LEAVE_GROUP})


@dataclass(slots=True)
class _Life:
    """What one life of a member has said so far.

    Args:
        started: its first entry.
        static: whether it has an instance id.
        known: the entry by which the coordinator may count it as a member, None without one.
        asked: the entry that closes it, None before.
        cut: whether a connection was lost while it closed.
        joins: (connection, correlation) of JoinGroups since the last LeaveGroup that await an
            answer.
    """

    started: Entry
    static: bool
    known: Entry | None = None
    asked: Entry | None = None
    cut: bool = False
    joins: set[tuple[int, int]] = field(default_factory=set)


class ClosesWell:
    """L7: the end of a member.

    Args:
        slack: seconds forgiven beyond the timeout.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {AnswerReceived, CloseAsked, CommitStep, ConnectionClosed, FaultStep}
        | {GenerationEntered, MemberStarted, MemberStopped, RequestSent, StateChanged}
    )

    __slots__ = ("_faults", "_latest", "_lives", "_slack", "_still")

    def __init__(self, slack: float = 0.05) -> None:
        self._slack = slack
        self._faults = Faults()
        self._still = Faults()
        self._lives: dict[Source, _Life] = {}
        self._latest: Entry | None = None

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        self._latest = entry
        if isinstance(event, RequestSent):
            if event.api in _ASKING:
                self._sent(entry, event)
            return ()
        if isinstance(event, AnswerReceived):
            if event.api in _REFUSING:
                self._answered(entry, event)
            return ()
        if isinstance(event, (MemberStarted, FaultStep)):
            self._faults.observe(entry)
            if isinstance(event, MemberStarted) or event.fault in STANDING | LETHAL:
                self._still.observe(entry)
            if isinstance(event, MemberStarted):
                static = event.group_instance_id is not None
                self._lives[entry.source] = _Life(entry, static)
            return ()
        life = self._lives.get(entry.source)
        return () if life is None else self._lived(life, entry)

    def finish(self) -> tuple[Violation, ...]:
        """Report those that are closing still."""
        return tuple(
            violation
            for life in self._lives.values()
            if life.asked is not None and self._latest is not None
            for violation in self._over(life, self._latest)
        )

    def _sent(self, entry: Entry, event: RequestSent) -> None:
        life = self._lives.get(entry.source)
        if life is None:
            return
        if event.api is ApiKey.LEAVE_GROUP:
            life.known = None
            life.joins.clear()
        elif event.api is ApiKey.JOIN_GROUP:
            life.joins.add((event.connection, event.correlation_id))

    def _answered(self, entry: Entry, event: AnswerReceived) -> None:
        life = self._lives.get(entry.source)
        if life is None:
            return
        number = (event.connection, event.correlation_id)
        left = excuses.left_before_the_answer(number, life.joins)
        life.joins.discard(number)
        if event.error in _REFUSING[event.api]:
            life.known = None
        elif event.member_id and not left:
            life.known = entry

    def _lived(self, life: _Life, entry: Entry) -> tuple[Violation, ...]:
        match entry.event:
            case GenerationEntered():
                life.known = entry
            case CloseAsked():
                life.asked = entry
            case CommitStep(code=code) if code in _REMOVED:
                life.known = None
            case ConnectionClosed():
                life.cut = life.asked is not None
            case StateChanged(before=before, after=after):
                gone = life.static and after is MemberState.UNSUBSCRIBED
                if gone or excuses.nobody_to_tell(before, after):
                    life.known = None
            case MemberStopped() as stopped:
                del self._lives[entry.source]
                return (*self._over(life, entry), *self._untold(life, entry, stopped))
            case _:
                pass
        return ()

    def _over(self, life: _Life, entry: Entry) -> tuple[Violation, ...]:
        asked = life.asked
        if asked is None:
            return ()
        assert isinstance(asked.event, CloseAsked)
        late = entry.at - asked.at - asked.event.timeout
        calm = self._still.calm_since(asked.source.member)
        if late <= self._slack or excuses.stood_still_since(calm, asked.at):
            return ()
        text = f"{asked.source} was closed {late:.3f} s after its timeout"
        return (Violation("L7", text, (asked, entry)),)

    def _untold(self, life: _Life, entry: Entry, stopped: MemberStopped) -> tuple[Violation, ...]:
        stays = stopped.mode is Leave.REMAIN or (life.static and stopped.mode is Leave.DEFAULT)
        if life.known is None or stays:
            return ()
        calm, since = self._faults.calm_since(entry.source.member), (life.asked or life.known).at
        if excuses.could_not_leave(life.cut, stopped.reason, calm, since):
            return ()
        text = f"{entry.source} was closed and the coordinator was not told (no LeaveGroup)"
        return (Violation("L7", text, (life.known, entry)),)
