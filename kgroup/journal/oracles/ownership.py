"""S1 and S2: one owner per partition, in a generation and in time.

Decides: when two members own one partition.
Never: blames a killed process; it cannot say that it stopped, so only what it does counts.

S1: in one generation at most one member life has a partition in its assignment.
S2: periods of one partition at different members do not overlap in time, except that a member
    which finds out late that it lost the partition may say so late, if it delivered nothing
    meanwhile; so may one that loses its membership while its listener hears of a revocation: by
    the coordinator's word, or because no answer renewed its session for as long as that lasts. Of
    two that use one instance id, the later one takes over at once, and the other cannot know
    before it is fenced: T2 judges what it does from then on.

The race that makes S2 wait for proof:
1. m1 is killed, or stopped with SIGSTOP; it owns t-0 and writes nothing.
2. The session ends; m2 is assigned t-0. Its period overtakes m1's.
3. a) m1 is dead: nothing more comes, no violation.
   b) m1 wakes, sees its lease is over, writes LOST: no violation, S3 judges what it delivered.
   c) m1 goes on delivering, polling or committing, or revokes: both owned it.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal.events import (
    AnswerReceived,
    CommitStage,
    CommitStep,
    Delivered,
    Entry,
    Event,
    FaultStep,
    FetchIssued,
    GenerationEntered,
    JoinIssued,
    MemberStarted,
    MemberStopped,
    OwnershipStep,
    Phase,
    Polled,
    RequestSent,
    Source,
)
from kgroup.journal.oracles.violation import Violation
from kgroup.journal.periods import Ending, Period, PeriodKey, Periods
from kgroup.types import ChangeKind, TopicPartition

__all__ = ["OneOwnerInTime", "OneOwnerPerGeneration"]


_GRANTING: Final = frozenset({MemberStarted, MemberStopped, OwnershipStep, GenerationEntered})

_REFUSING: Final = frozenset(
    {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.FENCED_INSTANCE_ID}
)

_RENEWING: Final = frozenset(
    {ApiKey.HEARTBEAT, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.OFFSET_COMMIT}
)
"""Requests that renew a session, unless they are refused."""


_EVICT: Final = "EVICT"
"""The fault by which an administrator removes a member; its lease goes on, and proves nothing."""


@dataclass(frozen=True, slots=True)
class _Grant:
    """What one member holds by its latest generation."""

    generation_id: int
    partitions: frozenset[TopicPartition]
    entry: Entry


class OneOwnerPerGeneration:
    """S1: no partition is in two members' assignments of one generation."""

    __slots__ = ("_grants", "_instances", "_suspected")

    def __init__(self) -> None:
        self._grants: dict[Source, _Grant] = {}
        self._instances: dict[Source, str | None] = {}
        self._suspected: dict[Source, Violation] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        if not self._suspected and type(entry.event) not in _GRANTING:
            return ()
        source, event = entry.source, entry.event
        ends = isinstance(event, MemberStopped) or (
            isinstance(event, OwnershipStep) and event.kind is ChangeKind.LOST
        )
        suspicion = self._suspected.pop(source, None)
        proved = () if suspicion is None or ends else (suspicion,)
        if ends:
            self._grants.pop(source, None)
        if isinstance(event, MemberStarted):
            self._instances[source] = event.group_instance_id
        if isinstance(event, GenerationEntered):
            grant = _Grant(event.generation_id, frozenset(event.assignment), entry)
            self._grants[source] = grant
            self._suspect(source, grant)
        return proved

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing: whoever wrote nothing more may have been dead."""
        return ()

    def _suspect(self, source: Source, grant: _Grant) -> None:
        """Note who must not write as an owner any more; its next entry is the proof."""
        for other, theirs in self._grants.items():
            if other == source or other.group != source.group or self._is_twin(source, other):
                continue
            both = theirs.partitions & grant.partitions
            if both and theirs.generation_id == grant.generation_id:
                tp = min(both)
                self._suspected[other] = Violation(
                    "S1",
                    f"{tp} and {len(both) - 1} more are assigned to {other} and to {source} "
                    f"in generation {grant.generation_id}",
                    (theirs.entry, grant.entry),
                    tp,
                )

    def _is_twin(self, source: Source, other: Source) -> bool:
        """Tell whether the other is an earlier life of the same static member (T2 judges it)."""
        instance = self._instances.get(source)
        return instance is not None and instance == self._instances.get(other)


class OneOwnerInTime:
    """S2: no partition is owned by two members at once.

    Args:
        periods: a follower shared with other oracles of the same history.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {
            CommitStep,
            Delivered,
            FaultStep,
            FetchIssued,
            JoinIssued,
            MemberStarted,
            MemberStopped,
            OwnershipStep,
            Polled,
            AnswerReceived,
            RequestSent,
        }
    )

    __slots__ = (
        "_acted",
        "_asked",
        "_evicted",
        "_instances",
        "_overtaken",
        "_periods",
        "_refused",
        "_renewed",
        "_sessions",
        "_told",
    )

    def __init__(self, periods: Periods | None = None) -> None:
        self._refused: dict[Source, Entry] = {}
        self._evicted: dict[str, float] = {}
        self._asked: dict[Source, dict[tuple[int, int], float]] = {}
        self._renewed: dict[Source, float] = {}
        self._sessions: dict[Source, float] = {}
        self._instances: dict[Source, str] = {}
        self._periods = Periods() if periods is None else periods
        self._overtaken: dict[Source, dict[PeriodKey, Period]] = {}
        self._acted: dict[Source, Entry] = {}
        self._told: set[PeriodKey] = set()

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if isinstance(event, MemberStarted):
            self._started(entry.source, event)
            return ()
        if isinstance(event, RequestSent | AnswerReceived):
            self._talked(entry, event)
            return ()
        if isinstance(event, FaultStep):
            if event.fault == _EVICT and event.phase is Phase.BEGIN:
                self._evicted[event.target] = entry.at
            return ()
        if _is_over(event):
            self._refused[entry.source] = entry
        found = self._changed(entry) if type(event) in Periods.KINDS else ()
        if not self._overtaken:
            return found
        mine = self._overtaken.get(entry.source)
        return (*found, *self._act(entry, mine)) if mine else found

    def finish(self) -> tuple[Violation, ...]:
        """Report members that went on as owners and never gave the partition up."""
        return tuple(
            violation
            for source, periods in self._overtaken.items()
            if source in self._acted
            for period in periods.values()
            if not self._is_evicted(period, self._acted[source].at)
            for violation in self._tell(period, self._acted[source], "went on and never gave it up")
        )

    def _started(self, source: Source, event: MemberStarted) -> None:
        if event.group_instance_id is not None:
            self._instances[source] = event.group_instance_id
        if event.session_timeout is not None:
            self._sessions[source] = event.session_timeout

    def _talked(self, entry: Entry, event: RequestSent | AnswerReceived) -> None:
        """Note when a session was renewed, and when the coordinator refused a member."""
        if isinstance(event, AnswerReceived) and event.error in _REFUSING:
            self._refused[entry.source] = entry
        if event.api not in _RENEWING:
            return
        asked = self._asked.setdefault(entry.source, {})
        request = (event.connection, event.correlation_id)
        if isinstance(event, RequestSent):
            if event.correlation_id == 1:
                asked.clear()  # the connection before is gone, with what was on its way
            asked[request] = entry.at
        elif event.error not in _REFUSING and request in asked:
            self._renewed[entry.source] = asked.pop(request)

    def _changed(self, entry: Entry) -> tuple[Violation, ...]:
        found: list[Violation] = []
        for period in self._periods.observe(entry):
            if self._is_twin(period) or period.overtaken is None:
                continue
            if period.ended is None:
                self._overtaken.setdefault(period.source, {})[period.key] = period
            else:
                found.extend(self._late_end(period))
        return tuple(found)

    def _is_twin(self, period: Period) -> bool:
        instance = self._instances.get(period.source)
        if instance is None or period.overtaken is None:
            return False
        return instance == self._instances.get(period.overtaken.source)

    def _was_lost(self, period: Period) -> bool:
        """Tell whether the membership was lost while the listener heard of the revocation."""
        source, revoking = period.source, period.revoking
        if revoking is None or period.overtaken is None:
            return False
        refused = self._refused.get(source)
        if refused is not None and refused.seq > revoking.seq:
            return True
        session = self._sessions.get(source)
        # The answer may just have come that tells of a session renewed long ago.
        renewed = self._renewed.get(source, revoking.at)
        return session is not None and period.overtaken.at >= renewed + session

    def _is_evicted(self, period: Period, at: float) -> bool:
        """Tell whether an administrator removed a member, which could not know of it by then."""
        evicted = self._evicted.get(period.source.member)
        session = self._sessions.get(period.source)
        return evicted is not None and session is not None and evicted <= at <= evicted + session

    def _late_end(self, period: Period) -> tuple[Violation, ...]:
        self._overtaken.get(period.source, {}).pop(period.key, None)
        if period.ending is Ending.LOST or period.ended is None or self._was_lost(period):
            return ()
        if self._is_evicted(period, period.ended.at):
            return ()
        return self._tell(period, period.ended, f"held it until {period.ended.event.KIND}")

    def _act(self, entry: Entry, mine: dict[PeriodKey, Period]) -> tuple[Violation, ...]:
        event = entry.event
        if isinstance(event, Delivered):
            period = mine.get((entry.source, event.claim))
            if period is not None and not self._is_evicted(period, entry.at):
                return self._tell(period, entry, f"delivered {event.first} to {event.last}")
        requested = isinstance(event, CommitStep) and event.stage is CommitStage.REQUESTED
        if requested or isinstance(event, Delivered | Polled | FetchIssued):
            self._acted[entry.source] = entry
        return ()

    def _tell(self, period: Period, proof: Entry, what: str) -> tuple[Violation, ...]:
        """Report a period once."""
        if period.key in self._told:
            return ()
        assert period.overtaken is not None
        assert period.began is not None
        self._told.add(period.key)
        tp = period.claim.tp
        seconds = max(0.0, proof.at - period.overtaken.at)
        text = (
            f"{tp} was assigned to {period.overtaken.source} while {period.source} owned it, "
            f"which {what}, {seconds:.3f} s later"
        )
        return (Violation("S2", text, (period.began, period.overtaken, proof), tp),)


def _is_over(event: Event) -> bool:
    """Tell whether a member writes that its membership is over: refused, or lost by its clock."""
    if isinstance(event, CommitStep):
        return event.code in _REFUSING
    return isinstance(event, JoinIssued) and event.generation_id is None
