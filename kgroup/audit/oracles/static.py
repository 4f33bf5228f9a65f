"""T1: static members restart unnoticed (KIP-345).

T1: a static member that is closed sends no LeaveGroup, unless it was asked to. One that is back
    within its session, by its JoinGroup, finds its generation and its partitions unchanged, and
    meanwhile the other members are not assigned, revoked or robbed of anything.

Decides: whether a restart within the session disturbed a group that was otherwise at rest.
Never: judges a restart beside another disturbance, from a session before the end of the former
process until the new one is in its generation. A disturbance is: another member starts, stops, is
killed, is silent for a session (if static), gives partitions up by its own doing or loses them, or
a fault begins or ends; what is seen of it may come a session later. Nor judges a restart of a
process that ended amid a round.
"""

from dataclasses import field
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
from kgroup.values import dataclass

_PROVING: Final = frozenset({ApiKey.HEARTBEAT, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP})

_OWN_DOING: Final = frozenset(
    cause.value
    for cause in (Cause.CLOSING, Cause.UNSUBSCRIBED, Cause.SUBSCRIBED, Cause.POLL_TIMEOUT)
)

_CLOSED: Final = "closed"
"""The reason of a member that was closed; one that failed may leave for another one."""


@dataclass(slots=True)
class _Life:
    """One process of a static member.

    Args:
        source: it writes as.
        session: seconds.
        margin: seconds a request may be on its way.
        latest: its last entry.
        generation: the newest one it entered.
        sent: (connection, correlation) -> when a request was sent that may prove its session.
        proved: when the newest one was sent that did, None while none did.
        busy: since it entered a generation it joined another round, or heard of one.
        goodbye: whether it has sent a LeaveGroup.
    """

    source: Source
    session: float
    margin: float
    latest: Entry
    generation: Entry | None = None
    sent: dict[tuple[int, int], float] = field(default_factory=dict)
    proved: float | None = None
    busy: bool = False
    goodbye: bool = False

    @property
    def session_until(self) -> float:
        since = self.latest.at if self.proved is None else self.proved
        return since + self.session - self.margin


@dataclass(slots=True)
class _Restart:
    """A process that follows another one within the session, until it is in a generation.

    Args:
        before: the process before it.
        started: its first entry.
        calm: nothing else disturbed the group; else it is not judged.
        back: its JoinGroup was sent in time.
    """

    before: _Life
    started: Entry
    calm: bool
    back: bool = False


class StaticUnnoticed:
    """T1: static close and restart."""

    __slots__ = ("_disturbed", "_lives", "_restarts")

    def __init__(self) -> None:
        self._lives: dict[tuple[str | None, str], _Life] = {}
        self._restarts: dict[Source, _Restart] = {}
        self._disturbed: dict[str | None, dict[str, float]] = {}
        """Group -> the member or event that disturbed it -> until when that is seen."""

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        life = self._life(entry.source)
        if life is not None:
            life.latest = entry
        match entry.event:
            case MemberStarted() as event:
                self._start(entry, event)
            case MemberStopped() as event:
                return self._stop(life, entry, event)
            case GenerationEntered() as event:
                return self._entered(life, entry, event)
            case OwnershipStep() as event:
                return self._moved(entry, event)
            case FaultStep(fault=fault, target=target):
                # That of a member is what its own restart begins with.
                self._disturb(entry, target if fault in LETHAL else "")
            case RequestSent() as event if life is not None:
                self._sent(life, entry, event)
            case AnswerReceived() as event if life is not None:
                _answered(life, event)
            case _:
                pass
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _life(self, source: Source) -> _Life | None:
        """Return the static process that writes as a source."""
        return next((life for life in self._lives.values() if life.source == source), None)

    def _disturb(self, entry: Entry, by: str, more: float = 0.0) -> None:
        """Judge no restart beside what happens now, but that of the member it happens to.

        Args:
            entry: what happens.
            by: label of that member, "" for anybody.
            more: seconds beyond a session after which it may still be seen.
        """
        group = entry.source.group
        session = max((life.session for life in self._lives.values()), default=0.0)
        self._disturbed.setdefault(group, {})[by] = entry.at + session + more
        for source, restart in self._restarts.items():
            restart.calm &= source.group != group or source.member == by

    def _missed(self, restart: _Restart, entry: Entry) -> bool:
        """Tell whether the session of another static process may have ended meanwhile."""
        return any(
            life.session_until <= entry.at
            for (group, _), life in self._lives.items()
            if group == entry.source.group
            and life.source not in (restart.started.source, entry.source)
        )

    def _start(self, entry: Entry, event: MemberStarted) -> None:
        source, instance = entry.source, event.group_instance_id
        if instance is None or event.session_timeout is None:
            self._disturb(entry, source.member)
            return
        before = self._lives.get((source.group, instance))
        known = before is not None and before.generation is not None
        if before is not None and known and entry.at - before.latest.at < before.session:
            others = self._disturbed.get(source.group, {}).items()
            since = before.latest.at - before.session
            seen = any(until >= since for by, until in others if by != source.member)
            self._restarts[source] = _Restart(before, entry, not seen and not before.busy)
            if before.busy:  # the coordinator still waits for the SyncGroup of the former process
                self._disturb(entry, source.member, event.rebalance_timeout or 0.0)
        else:
            self._disturb(entry, source.member)
        life = _Life(source, event.session_timeout, event.lease_margin, entry)
        self._lives[source.group, instance] = life

    def _stop(
        self, life: _Life | None, entry: Entry, event: MemberStopped
    ) -> tuple[Violation, ...]:
        self._disturb(entry, entry.source.member)
        # What is on the wire counts, too: a member makes up its last word from what it was asked.
        said = life is not None and life.goodbye and event.reason == _CLOSED
        if life is None or event.mode is Leave.LEAVE or not (event.left or said):
            return ()
        text = f"{entry.source} is static and was closed, but sent a LeaveGroup"
        return (Violation("T1", text, (entry,)),)

    def _sent(self, life: _Life, entry: Entry, event: RequestSent) -> None:
        if event.api is ApiKey.LEAVE_GROUP:
            life.goodbye = True
        if event.api not in _PROVING:
            return
        life.sent[event.connection, event.correlation_id] = entry.at
        if event.api is ApiKey.JOIN_GROUP:
            life.busy = True
            restart = self._restarts.get(entry.source)
            if restart is not None and not restart.back:
                restart.back = entry.at < restart.before.session_until
                if not restart.back:
                    restart.calm = False
                    self._disturb(entry, entry.source.member)

    def _moved(self, entry: Entry, event: OwnershipStep) -> tuple[Violation, ...]:
        if event.cause in _OWN_DOING:
            self._disturb(entry, entry.source.member)
            return ()
        found = tuple(
            Violation(
                "T1",
                f"{entry.source} was {event.kind.value} {len(event.claims)} partitions while "
                f"{source} restarted within its session",
                (restart.started, entry),
            )
            for source, restart in self._restarts.items()
            if source.group == entry.source.group and source != entry.source
            if restart.calm and not self._missed(restart, entry)
            if event.claims and (restart.back or entry.at < restart.before.session_until)
        )
        if event.kind is ChangeKind.LOST:
            self._disturb(entry, entry.source.member)
        return found

    def _entered(
        self, life: _Life | None, entry: Entry, event: GenerationEntered
    ) -> tuple[Violation, ...]:
        if life is not None:
            life.generation, life.busy = entry, False
        restart = self._restarts.pop(entry.source, None)
        if restart is None or not restart.calm or self._missed(restart, entry):
            return ()
        former = restart.before.generation
        assert former is not None
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


def _answered(life: _Life, event: AnswerReceived) -> None:
    at = life.sent.pop((event.connection, event.correlation_id), None)
    if at is None or event.error not in (None, 0, ErrorCode.REBALANCE_IN_PROGRESS):
        return
    life.proved = at if life.proved is None else max(at, life.proved)
    life.busy |= event.error == ErrorCode.REBALANCE_IN_PROGRESS
