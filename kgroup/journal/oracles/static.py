"""T1 and T2: static members restart unnoticed, and fenced ones fall silent (KIP-345).

Decides: whether a restart within the session disturbed anybody, and what follows a fence.
Never: judges a restart that overlaps another disturbance.

T1: a static member that is closed sends no LeaveGroup, unless it was asked to. One that is back
    within its session (its JoinGroup is sent before what it proved of it ends, less its margin)
    finds the generation and its partitions unchanged, and the other members are not assigned,
    revoked or robbed of anything meanwhile, unless by their own doing. That its process runs is
    not enough: what happens to the others once that proof has ended is judged if the JoinGroup
    was sent before, and only then.
T2: after FENCED_INSTANCE_ID a member delivers nothing and sends no group request, unless the fence
    is for its former id: a JoinGroup asked for another one, or gave it, or does after all, if it
    was under way; or comes by an answer that it awaits no more (S8): who is fenced hears of it
    again.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Final

from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal.events import (
    AnswerReceived,
    CommitStep,
    Delivered,
    Entry,
    Event,
    FaultStep,
    GenerationEntered,
    MemberStarted,
    MemberStopped,
    OwnershipStep,
    RequestSent,
    Source,
    StateChanged,
)
from kgroup.journal.faults import LETHAL
from kgroup.journal.oracles.awaited import Awaited
from kgroup.journal.oracles.violation import Violation
from kgroup.types import Cause, ChangeKind, Leave, MemberState

__all__ = ["FencedSilent", "StaticUnnoticed"]

_GROUP_APIS: Final = frozenset(
    {
        ApiKey.JOIN_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.LEAVE_GROUP,
        ApiKey.OFFSET_COMMIT,
    }
)

_PROVING: Final = frozenset({ApiKey.HEARTBEAT, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP})

_OWN_DOING: Final = frozenset(
    {
        Cause.CLOSING.value,
        Cause.UNSUBSCRIBED.value,
        Cause.SUBSCRIBED.value,
        Cause.POLL_TIMEOUT.value,
    }
)

_DISTURBING: Final = frozenset(
    {MemberStarted, MemberStopped, GenerationEntered, OwnershipStep, FaultStep}
)

_CLOSED: Final = "closed"
"""The reason of a member that was closed; one that failed may say goodbye for another one."""

_Instance = tuple[str | None, str]


@dataclass(slots=True)
class _Life:
    """One life of a static member.

    Args:
        source: it writes as.
        started: its first entry.
        session_timeout: seconds.
        margin: seconds a request may be on its way.
        latest: its last entry.
        generation: the newest one it entered.
        sent: (connection, correlation) -> when a request was sent that may prove its session.
        proved: when the newest one was sent that did, None while none did.
        goodbye: whether it has sent a LeaveGroup.
    """

    source: Source
    started: Entry
    session_timeout: float
    margin: float
    latest: Entry
    generation: Entry | None = None
    sent: dict[tuple[int, int], float] = field(default_factory=dict)
    proved: float | None = None
    goodbye: bool = False

    @property
    def session_until(self) -> float:
        since = self.latest.at if self.proved is None else self.proved
        return since + self.session_timeout - self.margin


@dataclass(slots=True)
class _Restart:
    """A life that follows another within the session, until it has synced.

    Args:
        before: the life before it.
        started: its first entry.
        back: its JoinGroup was sent in time.
    """

    before: _Life
    started: Entry
    back: bool = False

    def is_away(self, at: float) -> bool:
        """Tell whether the others may have been rebalanced because it is not back yet.

        1. It sends its last heartbeat, and dies a while later; 2. its next process starts within a
        session of that, and looks for the coordinator; 3. the session of step 1 ends, and the
        others are told of a round; 4. its JoinGroup is sent, too late.
        """
        return not self.back and at >= self.before.session_until


class StaticUnnoticed:
    """T1: static close and restart."""

    __slots__ = ("_disturbed", "_instances", "_lives", "_restarts")

    def __init__(self) -> None:
        self._lives: dict[_Instance, _Life] = {}
        self._instances: dict[Source, _Instance] = {}
        self._restarts: dict[Source, _Restart] = {}
        self._disturbed: dict[str | None, Entry] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        found = self._happened(entry) if type(entry.event) in _DISTURBING else ()
        if not self._instances:
            return found
        instance = self._instances.get(entry.source)
        life = None if instance is None else self._lives.get(instance)
        if life is not None and life.source == entry.source:
            life.latest = entry
            self._follow(life, entry)
        return found

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _follow(self, life: _Life, entry: Entry) -> None:
        match entry.event:
            case GenerationEntered():
                life.generation = entry
            case RequestSent(api=api) as event if api in _PROVING:
                life.sent[event.connection, event.correlation_id] = entry.at
                restart = self._restarts.get(entry.source)
                if api is ApiKey.JOIN_GROUP and restart is not None:
                    self._returns(restart, entry)
            case RequestSent(api=ApiKey.LEAVE_GROUP):
                life.goodbye = True
            case AnswerReceived(api=api) as event if api in _PROVING:
                at = life.sent.pop((event.connection, event.correlation_id), None)
                if at is not None and event.error in (None, 0, ErrorCode.REBALANCE_IN_PROGRESS):
                    life.proved = at if life.proved is None else max(at, life.proved)
            case _:
                pass

    def _returns(self, restart: _Restart, entry: Entry) -> None:
        """Judge no restart that may come too late.

        1. Its last answered heartbeat is sent; 2. the process dies a while later; 3. the next one
        starts within a session of that; 4. by when its JoinGroup arrives, the session of step 1 is
        over.
        """
        if restart.is_away(entry.at):
            self._disturb(entry.source.group, entry)
        restart.back = True

    def _missed(self, restart: _Restart, entry: Entry) -> bool:
        """Tell whether the session of another static member ended while this one was away.

        1. Both are killed; 2. one is back in time; 3. the round is for want of the other.
        """
        return any(
            life.source.group == entry.source.group
            and life.source not in (entry.source, restart.before.source)
            and restart.before.latest.at < life.session_until <= entry.at
            for life in self._lives.values()
        )

    def _happened(self, entry: Entry) -> tuple[Violation, ...]:
        match entry.event:
            case MemberStarted() as event:
                self._start(entry, event)
            case MemberStopped() as event:
                return self._stop(entry, event)
            case GenerationEntered() as event:
                return self._entered(entry, event)
            case OwnershipStep() as event:
                return self._moved(entry, event)
            case FaultStep(fault=fault, target=target):
                static = any(life.source.member == target for life in self._lives.values())
                if not (static and fault in LETHAL):  # that is what a restart begins with
                    self._disturb(entry.source.group, entry)
            case _:
                pass
        return ()

    def _disturb(self, group: str | None, entry: Entry) -> None:
        self._disturbed[group] = entry
        for source in [source for source in self._restarts if source.group == group]:
            del self._restarts[source]

    def _start(self, entry: Entry, event: MemberStarted) -> None:
        source = entry.source
        if event.group_instance_id is None or event.session_timeout is None:
            self._disturb(source.group, entry)
            return
        instance = (source.group, event.group_instance_id)
        before = self._lives.get(instance)
        self._lives[instance] = _Life(
            source, entry, event.session_timeout, event.lease_margin, entry
        )
        self._instances[source] = instance
        calm = self._disturbed.get(source.group)
        if (
            before is None
            or before.generation is None
            or entry.at - before.latest.at >= before.session_timeout
        ):
            self._disturb(source.group, entry)
        elif calm is None or before.latest.at - calm.at > before.session_timeout:
            self._restarts[source] = _Restart(before, entry)

    def _stop(self, entry: Entry, event: MemberStopped) -> tuple[Violation, ...]:
        instance = self._instances.get(entry.source)
        # What is on the wire counts, too: a member makes up its last word from what it was asked.
        life = None if instance is None else self._lives.get(instance)
        sent = life is not None and life.source == entry.source and life.goodbye
        left = event.left or (sent and event.reason == _CLOSED)
        if instance is None or (left and event.mode is Leave.LEAVE):
            self._disturb(entry.source.group, entry)
            return ()
        if not left:
            return ()
        text = f"{entry.source} is static and was closed, but sent a LeaveGroup"
        return (Violation("T1", text, (entry,)),)

    def _moved(self, entry: Entry, event: OwnershipStep) -> tuple[Violation, ...]:
        if event.cause in _OWN_DOING:
            self._disturb(entry.source.group, entry)
            return ()
        found = tuple(
            Violation(
                "T1",
                f"{entry.source} was {event.kind.value} {len(event.claims)} partitions while "
                f"{source} restarted within its session",
                (restart.started, entry),
            )
            for source, restart in self._restarts.items()
            if source.group == entry.source.group and source != entry.source and event.claims
            if not restart.is_away(entry.at) and not self._missed(restart, entry)
        )
        if event.kind is ChangeKind.LOST:
            self._disturb(entry.source.group, entry)
        return found

    def _entered(self, entry: Entry, event: GenerationEntered) -> tuple[Violation, ...]:
        restart = self._restarts.pop(entry.source, None)
        if restart is None or restart.before.generation is None or self._missed(restart, entry):
            return ()
        former = restart.before.generation
        assert isinstance(former.event, GenerationEntered)
        gone = set(former.event.assignment) ^ set(event.assignment)
        if not gone and former.event.generation_id == event.generation_id:
            return ()
        text = (
            f"{entry.source} restarted within its session from generation "
            f"{former.event.generation_id} into {event.generation_id}, "
            f"with {len(gone)} partitions changed"
        )
        return (Violation("T1", text, (former, restart.started, entry)),)


class FencedSilent:
    """T2: nothing after the fence."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {AnswerReceived, CommitStep, Delivered, OwnershipStep, RequestSent, StateChanged}
    )

    __slots__ = ("_awaited", "_fenced", "_ids")

    def __init__(self) -> None:
        self._fenced: dict[Source, Entry] = {}
        self._ids: dict[Source, str] = {}
        self._awaited: dict[Source, Awaited] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        named, late = self._follow(entry)
        fence = self._fenced.get(entry.source)
        if fence is None:
            former = named not in (None, "", self._ids.get(entry.source, named))
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
        return (Violation("T2", f"{entry.source} {what} after it was fenced", (fence, entry)),)

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _follow(self, entry: Entry) -> tuple[str | None, bool]:
        """Return the id that an answer is for, None when it is not known, and whether it is late.

        1. A heartbeat is on its way; 2. the member is removed, and joins anew, without an id; 3. it
        is given another one, of which it may not have heard; 4. the heartbeat arrives, under an id
        that the instance has no more.
        """
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
