"""T2: fenced members fall silent (KIP-345).

T2: after FENCED_INSTANCE_ID a member delivers nothing and sends no group request, unless the fence
    is for its former id: a JoinGroup asked for another one, or gave it, or does after all, if it
    was under way; or comes by an answer that it awaits no more (S8): who is fenced hears of it
    again.

Decides: what a member may do after a fence, and whether the fence is for it.
Never: judges what the twin that has its place does.
"""

from typing import ClassVar, Final

from kgroup.audit.oracles.watch import Violation
from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal.events import (
    AnswerReceived,
    CommitStep,
    Delivered,
    Entry,
    Event,
    OwnershipStep,
    RequestSent,
    Source,
    StateChanged,
)
from kgroup.types import MemberState
from tests.search.oracles import excuses
from tests.search.oracles.awaited import Awaited

_GROUP_APIS: Final = frozenset(
    {
        ApiKey.JOIN_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.LEAVE_GROUP,
        ApiKey.OFFSET_COMMIT,
    }
)


class FencedSilent:
    """T2: nothing after the fence.

    Args:
        slack: seconds that the turn of an event loop may take in which the member hears of it.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {AnswerReceived, CommitStep, Delivered, OwnershipStep, RequestSent, StateChanged}
    )

    __slots__ = ("_awaited", "_fenced", "_ids", "_slack")

    def __init__(self, slack: float = 0.0) -> None:
        self._slack = slack
        self._fenced: dict[Source, Entry] = {}
        self._ids: dict[Source, str] = {}
        self._awaited: dict[Source, Awaited] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        named, late = self._follow(entry)
        fence = self._fenced.get(entry.source)
        if fence is None:
            former = excuses.fence_of_a_former_id(named, self._ids.get(entry.source))
            if _fences(entry) and not (late or former):
                self._fenced[entry.source] = entry
            return ()
        match entry.event:
            case AnswerReceived(api=ApiKey.JOIN_GROUP, error=0 | None):
                del self._fenced[entry.source]
                return ()
            case Delivered(claim=claim, count=count):
                what = f"was given {count} records of {claim}"
            case RequestSent(api=api) if api in _GROUP_APIS:
                what = f"sent {api.name}"
            case _:
                return ()
        if entry.at - fence.at < self._slack:
            return ()
        return (Violation("T2", f"{entry.source} {what} after it was fenced", (fence, entry)),)

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _follow(self, entry: Entry) -> tuple[str | None, bool]:
        """Return the id that an answer is for, None if unknown, and whether it is late."""
        source, event = entry.source, entry.event
        awaited = self._awaited.setdefault(source, Awaited())
        match event:
            case RequestSent(api=api) if api in _GROUP_APIS:
                awaited.sent(event)
                if api is ApiKey.JOIN_GROUP and event.member_id is not None:
                    self._ids[source] = event.member_id
            case AnswerReceived():
                request, late = awaited.answered(event)
                if event.api is ApiKey.JOIN_GROUP and not event.error and event.member_id:
                    self._ids[source] = event.member_id
                return None if request is None else request.member_id, late
            case CommitStep():
                named, _, late = awaited.committed(event)
                return named, late
            case OwnershipStep():
                awaited.lost(event)
            case StateChanged():
                awaited.moved(event)
            case _:
                pass
        return None, False


def _fences(entry: Entry) -> bool:
    match entry.event:
        case AnswerReceived(error=ErrorCode.FENCED_INSTANCE_ID):
            return True
        case CommitStep(code=ErrorCode.FENCED_INSTANCE_ID):
            return True
        case StateChanged(after=MemberState.FENCED):
            return True
        case _:
            return False
