"""T1: static members restart unnoticed (KIP-345).

Decides: whether a restart within the session disturbed anybody.
Never: judges a restart that overlaps another disturbance.

T1: a static member that is closed sends no LeaveGroup, unless it was asked to. One that is back
    within its session (its JoinGroup is sent before what it proved of it ends, less its margin)
    finds the generation and its partitions unchanged, and the other members are not assigned,
    revoked or robbed of anything meanwhile, unless by their own doing. That its process runs is
    not enough: what happens to the others once that proof has ended is judged if the JoinGroup
    was sent before, and only then.
"""

from dataclasses import dataclass, field
from typing import Final

from kgroup.audit.oracles.watch import Violation
from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal.events import (
    AnswerReceived,
    Entry,
    FaultStep,
    GenerationEntered,
    MemberStarted,
    MemberStopped,
    OwnershipStep,
    RequestSent,
    Source,
)
from kgroup.journal.faults import LETHAL
from kgroup.types import Cause, ChangeKind, Leave

__all__ = ["StaticUnnoticed"]

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
        rebalance_timeout: seconds, 0 when it is not known.
        margin: seconds a request may be on its way.
        latest: its last entry.
        generation: the newest one it entered.
        sent: (connection, correlation) -> when a request was sent that may prove its session.
        proved: when the newest one was sent that did, None while none did.
        settled: when the newest one was sent that was told of no round, None while none was.
        signalled: since it last entered a generation it was told that the group is rebalancing.
        goodbye: whether it has sent a LeaveGroup.
        joining: it has sent a JoinGroup since it last entered a generation.
        ghost: the life before it ended while it was joining, in a round that others had cause for.
        resumed: the generation that it came back to and finds its partitions in, None without one.
    """

    source: Source
    started: Entry
    session_timeout: float
    rebalance_timeout: float
    margin: float
    latest: Entry
    generation: Entry | None = None
    sent: dict[tuple[int, int], float] = field(default_factory=dict)
    proved: float | None = None
    settled: float | None = None
    signalled: bool = False
    goodbye: bool = False
    joining: bool = False
    ghost: bool = False
    resumed: int | None = None

    @property
    def session_until(self) -> float:
        since = self.latest.at if self.proved is None else self.proved
        return since + self.session_timeout - self.margin

    @property
    def rested(self) -> float:
        """When the group was last at rest for it: a round it was told of began before it ended.

        1. Another member is gone; 2. a heartbeat of this one is in order; 3. the session of step 1
        ends; 4. this one is told of the round, and dies before it is over: its restart did not
        begin that round, and what did may be as long ago as a session before step 2.
        """
        return self.settled if self.signalled and self.settled is not None else self.latest.at


@dataclass(slots=True)
class _Restart:
    """A life that follows another within the session, until it has synced.

    Args:
        before: the life before it.
        started: its first entry.
        calm: nothing else disturbed the group since a session before it; else it is not judged.
        back: its JoinGroup was sent in time.
    """

    before: _Life
    started: Entry
    calm: bool
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
        self._disturbed: dict[str | None, float] = {}

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
                life.generation, life.joining, life.signalled = entry, False, False
            case RequestSent(api=api) as event if api in _PROVING:
                life.sent[event.connection, event.correlation_id] = entry.at
                if api is ApiKey.JOIN_GROUP:
                    self._joins(life, entry)
            case RequestSent(api=ApiKey.LEAVE_GROUP):
                life.goodbye = True
            case AnswerReceived(api=api) as event if api in _PROVING:
                at = life.sent.pop((event.connection, event.correlation_id), None)
                if at is not None and event.error in (None, 0, ErrorCode.REBALANCE_IN_PROGRESS):
                    life.proved = at if life.proved is None else max(at, life.proved)
                    self._told(life, event, at)
            case _:
                pass

    def _told(self, life: _Life, event: AnswerReceived, sent: float) -> None:
        if event.error == ErrorCode.REBALANCE_IN_PROGRESS:
            life.signalled = True
        elif event.api is ApiKey.SYNC_GROUP or not (life.joining or life.signalled):
            life.settled = sent  # amid a round a heartbeat may be in order, too

    def _joins(self, life: _Life, entry: Entry) -> None:
        life.joining = True
        if life.ghost:
            self._haunt(life, entry)
        restart = self._restarts.get(entry.source)
        if restart is not None:
            self._returns(restart, entry)

    def _haunt(self, life: _Life, entry: Entry) -> None:
        """Judge no restart beside a round for want of a process that is no more.

        1. It dies before it has sent SyncGroup; 2. its next process is given its place, under
        another id; 3. a rebalance timeout after the round the coordinator misses that SyncGroup of
        the former id, and begins another one.
        """
        self._disturb(entry.source.group, entry.at + life.rebalance_timeout + life.margin)

    def _returns(self, restart: _Restart, entry: Entry) -> None:
        """Judge no restart that may come too late.

        1. Its last answered heartbeat is sent; 2. the process dies a while later; 3. the next one
        starts within a session of that; 4. by when its JoinGroup arrives, the session of step 1 is
        over. It is a newcomer then, and disturbs who else restarts, whatever became of its own.
        """
        if restart.is_away(entry.at):
            self._disturb(entry.source.group, entry.at)
        restart.back = True

    def _missed(self, restart: _Restart, entry: Entry) -> bool:
        """Tell whether the session of another static member ended while this one was away.

        1. Both are killed; 2. one is back in time; 3. the round is for want of the other.
        """
        return any(
            life.source.group == entry.source.group
            and life.source not in (entry.source, restart.before.source)
            and restart.before.rested < life.session_until + 2 * life.margin
            and life.session_until <= entry.at
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
                    self._disturb(entry.source.group, entry.at)
            case _:
                pass
        return ()

    def _disturb(self, group: str | None, until: float) -> None:
        self._disturbed[group] = max(until, self._disturbed.get(group, until))
        for source, restart in self._restarts.items():
            if source.group == group:
                restart.calm = False

    def _start(self, entry: Entry, event: MemberStarted) -> None:
        source = entry.source
        if event.group_instance_id is None or event.session_timeout is None:
            self._disturb(source.group, entry.at)
            return
        instance = (source.group, event.group_instance_id)
        before = self._lives.get(instance)
        calm = before is not None and self._was_calm(before)
        self._lives[instance] = life = _Life(
            source,
            entry,
            event.session_timeout,
            event.rebalance_timeout or 0.0,
            event.lease_margin,
            entry,
            ghost=before is not None and before.joining and not calm,
        )
        self._instances[source] = instance
        if life.ghost:
            self._haunt(life, entry)
        if (
            before is None
            or before.generation is None
            or entry.at - before.latest.at >= before.session_timeout
        ):
            self._disturb(source.group, entry.at)
        else:
            self._restarts[source] = _Restart(before, entry, calm)

    def _was_calm(self, life: _Life) -> bool:
        """Tell whether nothing else had disturbed the group for a session when a life ended."""
        until = self._disturbed.get(life.source.group)
        return until is None or life.rested - until > life.session_timeout

    def _stop(self, entry: Entry, event: MemberStopped) -> tuple[Violation, ...]:
        instance = self._instances.get(entry.source)
        # What is on the wire counts, too: a member makes up its last word from what it was asked.
        life = None if instance is None else self._lives.get(instance)
        sent = life is not None and life.source == entry.source and life.goodbye
        left = event.left or (sent and event.reason == _CLOSED)
        if instance is None or (left and event.mode is Leave.LEAVE):
            self._disturb(entry.source.group, entry.at)
            return ()
        if not left:
            return ()
        text = f"{entry.source} is static and was closed, but sent a LeaveGroup"
        return (Violation("T1", text, (entry,)),)

    def _moved(self, entry: Entry, event: OwnershipStep) -> tuple[Violation, ...]:
        if event.cause in _OWN_DOING:
            self._disturb(entry.source.group, entry.at)
            return ()
        own = self._resumes(entry.source, event)
        found = tuple(
            Violation(
                "T1",
                f"{entry.source} was {event.kind.value} {len(event.claims)} partitions while "
                f"{source} restarted within its session",
                (restart.started, entry),
            )
            for source, restart in self._restarts.items()
            if restart.calm and source.group == entry.source.group and source != entry.source
            if event.claims and not own
            if not restart.is_away(entry.at) and not self._missed(restart, entry)
        )
        if event.kind is ChangeKind.LOST:
            self._disturb(entry.source.group, entry.at)
        return found

    def _resumes(self, source: Source, event: OwnershipStep) -> bool:
        """Tell whether a member that came back itself is told what its process before had."""
        instance = self._instances.get(source)
        life = None if instance is None else self._lives[instance]
        resumed = None if life is None or life.source != source else life.resumed
        same = resumed is not None and event.generation_id == resumed
        return same and event.kind is ChangeKind.ASSIGNED

    def _entered(self, entry: Entry, event: GenerationEntered) -> tuple[Violation, ...]:
        restart = self._restarts.pop(entry.source, None)
        if restart is None or restart.before.generation is None:
            return ()
        former = restart.before.generation
        assert isinstance(former.event, GenerationEntered)
        gone = set(former.event.assignment) ^ set(event.assignment)
        if not gone and former.event.generation_id == event.generation_id:
            self._lives[self._instances[entry.source]].resumed = event.generation_id
            return ()
        if not restart.calm or self._missed(restart, entry):
            return ()
        text = (
            f"{entry.source} restarted within its session from generation "
            f"{former.event.generation_id} into {event.generation_id}, "
            f"with {len(gone)} partitions changed"
        )
        return (Violation("T1", text, (former, restart.started, entry)),)
