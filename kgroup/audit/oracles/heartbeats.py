"""L3 and B5: heartbeats come when they should, and only then.

Decides: whether a member's heartbeats keep its session without a flood.
Never: judges a member whose coordinator is being looked for, or that a fault concerns: it may be
unable to send anything.

L3: no heartbeat before a JoinGroup was answered or after LeaveGroup was sent; one generation has
    at most one in flight, not counting what was sent before its sync (the lease of a generation
    needs a heartbeat sent after it) or under a former member id, and what went to a former
    coordinator; in a stable generation the next is sent within 1.2 intervals, the first within one;
    while the answer to SyncGroup is awaited, too, for a leader may be slow, and the sessions of its
    followers run on: there the first has two, as its connection may have to be opened; the
    session is at least three intervals long. With `isolated_heartbeats` each has two: a thread
    sends one when the loop is late, and may have to open its connection.
B5: the same while the listener runs, up to the rebalance timeout and to the loss of the generation.
    For a member that has sent JoinGroup and is in no generation since, up to the end of its lease:
    without a generation it has nothing to confirm.
"""

import math
from dataclasses import field
from typing import ClassVar, Final

from kgroup.audit.oracles.watch import Violation
from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal.events import (
    AnswerReceived,
    CallbackStage,
    CallbackStep,
    CommitStep,
    ConnectionClosed,
    Entry,
    Event,
    FaultStep,
    GenerationEntered,
    JoinIssued,
    MemberStarted,
    MemberStopped,
    OwnershipStep,
    Phase,
    RequestSent,
    Source,
    StateChanged,
)
from kgroup.journal.faults import Faults, StateCause
from kgroup.types import ChangeKind, MemberState
from kgroup.values import dataclass

_BEATING: Final = frozenset(
    {
        MemberState.STABLE,
        MemberState.PREPARING,
        MemberState.JOINING,
        MemberState.SYNCING,
        MemberState.ASSIGNING,
        MemberState.RELEASING,
    }
)
"""States in which a member that has a generation keeps its session."""

_JUDGED: Final = frozenset({MemberState.STABLE, MemberState.SYNCING})
"""States in which L3 asks for the next one; while a listener runs, B5 does."""

_LOSING: Final = frozenset(
    {StateCause.LEASE_EXPIRED, StateCause.GENERATION_LOST, StateCause.MEMBER_LOST}
)
"""Causes of a change of state by which a generation is lost."""

_REFUSING: Final = frozenset(
    {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.FENCED_INSTANCE_ID}
)
"""Answers to a commit by which a generation is lost."""

_LATEST: Final = 1.2
"""Intervals between two heartbeats, at most."""

_JOINED: Final = 2.0
"""Intervals from JoinGroup's answer to the first heartbeat, at most; it may need a connection."""

_ISOLATED: Final = 2.0
"""Intervals between two heartbeats, at most, where a thread sends those that the loop does not."""


@dataclass(slots=True)
class _Heartbeats:
    """The heartbeats of one member life; instants in monotonic seconds.

    Args:
        started: its first entry.
        interval: between two heartbeats, None when not known.
        patience: after which an unanswered heartbeat is given up.
        rebalance_timeout: how long the listener may take.
        margin: seconds taken off the lease.
        isolated: whether a thread sends heartbeats beside the loop.
        member: whether a JoinGroup was answered, and no LeaveGroup sent since.
        left: the LeaveGroup, None before.
        joined: the latest JoinGroup, None before, and once a generation was entered.
        synced: number of the entry that entered the generation.
        generation_id: the generation that was entered last, None before.
        lost: number of the entry that says that it is lost, 0 while it is not.
        flight: (connection, correlation) -> heartbeats that await an answer.
        state: of the member.
        base: what the next heartbeat is measured from, None while it cannot be judged.
        limit: seconds after `base` at which the next one is late.
        inside: the call of the listener that runs.
    """

    started: Entry
    interval: float | None
    patience: float
    rebalance_timeout: float
    margin: float
    isolated: bool = False
    member: bool = False
    left: Entry | None = None
    joined: Entry | None = None
    synced: int = 0
    generation_id: int | None = None
    lost: int = 0
    flight: dict[tuple[int, int], Entry] = field(default_factory=dict)
    state: MemberState | None = None
    base: Entry | None = None
    limit: float = 0.0
    inside: Entry | None = None

    def measure(self, base: Entry | None, intervals: float = _LATEST) -> None:
        """Measure the next heartbeat from an entry on, or not at all."""
        self.base = base
        most = max(intervals, _ISOLATED) if self.isolated else intervals
        self.limit = most * (self.interval or 0.0)

    def lease_ends(self) -> float:
        """Return until when a JoinGroup proves a generation, whatever heartbeats are answered.

        1. A member joins, and the leader is slow; 2. it gives everything up, to leave; 3. the round
        takes longer than the rebalance timeout: its lease ends, and with it the generation; 4. what
        is lost by that is given up already, so nothing says so but the clock.
        """
        if self.joined is None:
            return math.inf
        return self.joined.at + self.rebalance_timeout - self.margin

    def turn(self, entry: Entry, event: StateChanged) -> None:
        """Take a change of state; a member that has just joined must keep its session from now on.

        What was due before that stays due, unless it was excused until now.

        1. A member is to give up what it has, and a commit of that is slow; 2. its lease ends: what
        is lost by that is given up already, so no change of ownership says so; 3. on_revoked
        begins, and a heartbeat that was sent before is answered.
        """
        self.state = event.after
        excused = self.base is None or entry.at > self.base.at + self.limit
        if event.after is MemberState.SYNCING and excused:
            self.measure(entry, _JOINED)
        elif event.cause in _LOSING:
            self.lose(entry)

    def lose(self, entry: Entry) -> None:
        """Expect nothing more of a generation that is lost, whatever is answered to it."""
        self.base, self.lost = None, entry.seq


class Heartbeats:
    """L3 and B5: the rhythm of heartbeats.

    Args:
        slack: seconds forgiven, e.g. the lag of a loop.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {
            AnswerReceived,
            CallbackStep,
            CommitStep,
            ConnectionClosed,
            FaultStep,
            GenerationEntered,
            JoinIssued,
            MemberStarted,
            MemberStopped,
            OwnershipStep,
            RequestSent,
            StateChanged,
        }
    )

    __slots__ = ("_faults", "_latest", "_lives", "_slack")

    def __init__(self, slack: float = 0.05) -> None:
        self._slack = slack
        self._faults = Faults()
        self._lives: dict[Source, _Heartbeats] = {}
        self._latest: Entry | None = None

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry; members without a group have no heartbeats."""
        event = entry.event
        self._latest = entry
        if isinstance(event, (MemberStarted, FaultStep)):
            self._faults.observe(entry)
            return self._start(entry, event) if isinstance(event, MemberStarted) else ()
        beats = self._lives.get(entry.source)
        if beats is None:
            return ()
        if isinstance(event, RequestSent):
            return self._sent(beats, entry, event)
        if isinstance(event, AnswerReceived):
            self._answered(beats, entry, event)
            return ()
        if isinstance(event, CommitStep):
            self._committed(beats, entry, event)
            return ()
        return self._moved(beats, entry)

    def finish(self) -> tuple[Violation, ...]:
        """Report members that fell silent."""
        latest = self._latest
        if latest is None:
            return ()
        lives = self._lives.values()
        return tuple(violation for beats in lives for violation in self._late(beats, latest))

    # -- single events ---------------------------------------------------------------------

    def _start(self, entry: Entry, event: MemberStarted) -> tuple[Violation, ...]:
        session, interval = event.session_timeout, event.heartbeat_interval
        if session is None or event.rebalance_timeout is None:
            return ()
        patience = max(interval or 0.0, session / 3)
        self._lives[entry.source] = _Heartbeats(
            entry,
            interval,
            patience,
            event.rebalance_timeout,
            event.lease_margin,
            event.isolated_heartbeats,
        )
        if interval is None or session >= 3 * interval:
            return ()
        text = f"{entry.source} has a session of {session} s and a heartbeat every {interval} s"
        return (Violation("L3", text, (entry,)),)

    def _sent(self, beats: _Heartbeats, entry: Entry, event: RequestSent) -> tuple[Violation, ...]:
        if event.api is ApiKey.LEAVE_GROUP:
            found = self._late(beats, entry)
            beats.member, beats.left, beats.base = False, entry, None
            return found
        if event.api is ApiKey.JOIN_GROUP:
            beats.joined = entry
        if event.api is ApiKey.FIND_COORDINATOR:
            beats.base = None
        if event.api is not ApiKey.HEARTBEAT:
            return ()
        found = (*self._unfit(beats, entry, event), *self._late(beats, entry))
        beats.flight[event.connection, event.correlation_id] = entry
        beats.base = None
        return found

    def _unfit(self, beats: _Heartbeats, entry: Entry, event: RequestSent) -> tuple[Violation, ...]:
        if not beats.member:
            when = "before it has joined" if beats.left is None else "after it has left"
            text = f"{entry.source} sent a heartbeat {when}"
            return (Violation("L3", text, (beats.left or beats.started, entry)),)
        for sent in beats.flight.values():
            assert isinstance(sent.event, RequestSent)
            same = _of(sent.event) == _of(event)
            if same and sent.seq > beats.synced and entry.at - sent.at < beats.patience:
                text = f"{entry.source} sent a heartbeat while another awaited its answer"
                return (Violation("L3", text, (sent, entry)),)
        return ()

    @staticmethod
    def _answered(beats: _Heartbeats, entry: Entry, event: AnswerReceived) -> None:
        if event.api is ApiKey.JOIN_GROUP:
            if not event.error:
                beats.member, beats.left = True, None
            return
        if event.api is not ApiKey.HEARTBEAT:
            return
        sent = beats.flight.pop((event.connection, event.correlation_id), None)
        if sent is None:
            return
        if sent.seq < beats.lost:
            return
        due = sent.at + (beats.interval or 0.0)
        beats.measure(None if event.error else sent if entry.at < due else entry)

    @staticmethod
    def _committed(beats: _Heartbeats, entry: Entry, event: CommitStep) -> None:
        """Expect no heartbeat of a member that hears from a commit that its generation is over.

        1. It has unsubscribed, and commits what was in hand; 2. that is refused: no state changes,
        and what it gives up is lost by that, so no change of ownership says so. The step tells what
        the member is by then: one of the generation before leaves it the one it has.
        """
        if event.code in _REFUSING and event.generation_id is None:
            beats.lose(entry)

    def _moved(self, beats: _Heartbeats, entry: Entry) -> tuple[Violation, ...]:
        event = entry.event
        found: tuple[Violation, ...] = ()
        if isinstance(event, StateChanged):
            found = self._late(beats, entry)
            beats.turn(entry, event)
        elif isinstance(event, GenerationEntered):
            beats.member, beats.synced, beats.joined = True, entry.seq, None
            beats.generation_id, beats.lost = event.generation_id, 0
            beats.measure(entry, 1.0)
        elif isinstance(event, JoinIssued):
            if event.generation_id is None:
                # 1. a heartbeat is answered; 2. the generation is lost; 3. while the member joins
                # anew, it has none to send a heartbeat for, and the next one has a base of its own.
                # Nor has one that was sent before, for a generation that was never entered.
                beats.lose(entry)
        elif isinstance(event, CallbackStep):
            found = self._late(beats, entry)
            if event.stage is CallbackStage.OVERDUE:
                return found
            entered = event.stage is CallbackStage.ENTER and event.kind is not ChangeKind.LOST
            beats.inside = entry if entered else None
        elif isinstance(event, OwnershipStep):
            self._lost(beats, entry, event)
        elif isinstance(event, ConnectionClosed):
            beats.base = None
            gone = [key for key in beats.flight if key[0] == event.connection]
            for key in gone:
                del beats.flight[key]
        else:
            found = self._late(beats, entry)
            del self._lives[entry.source]
        return found

    @staticmethod
    def _lost(beats: _Heartbeats, entry: Entry, event: OwnershipStep) -> None:
        """Expect no heartbeat of a member that has no generation.

        1. JoinGroup is out, and parked; 2. the lease ends: there is nothing to send a heartbeat
        for; 3. one that was sent before is answered; 4. the next generation stands, longer than an
        interval later, and another round is owed in the same step, before it is written down. The
        generation may be one that was joined, and never entered: the leader was slow.
        """
        begins = event.kind is ChangeKind.LOST and event.phase is Phase.BEGIN
        lost, entered = event.generation_id, beats.generation_id
        if begins and (lost == entered or (lost or 0) > (entered or 0)):
            beats.lose(entry)

    # -- gaps ------------------------------------------------------------------------------

    def _late(self, beats: _Heartbeats, entry: Entry) -> tuple[Violation, ...]:
        base = beats.base
        if base is None or beats.interval is None or beats.flight:
            return ()
        due = base.at + beats.limit
        if entry.at <= due + self._slack:
            return ()
        rule = self._rule(beats, due)
        if rule is None or self._faults.calm_since(beats.started.source.member) > base.at:
            return ()
        beats.base = None
        text = (
            f"{beats.started.source}: the next heartbeat was due {entry.at - due:.3f} s ago, "
            f"{beats.limit:.3f} s after the last"
        )
        return (Violation(rule, text, (base, entry)),)

    @staticmethod
    def _rule(beats: _Heartbeats, due: float) -> str | None:
        if beats.inside is not None and beats.state in _BEATING:
            in_time = due < beats.inside.at + beats.rebalance_timeout
            return "B5" if in_time and due < beats.lease_ends() else None
        return "L3" if beats.state in _JUDGED else None


def _of(beat: RequestSent) -> tuple[int, int | None, str | None]:
    """Return what a heartbeat is one of; a second one of the same has to wait for its answer.

    1. A static member has a heartbeat out, unsubscribes, and subscribes again; 2. it joins without
    its id, and is given another in the generation that stands (KIP-345); 3. the next heartbeat is
    due: the answer to the first is about the former id.
    """
    return beat.connection, beat.generation_id, beat.member_id
