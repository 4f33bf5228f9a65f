"""S2: no partition is used by two members at the same time.

Once another member owns a partition, its former owner delivers nothing of it, and does not begin to
revoke it. A member that leaves because it has given everything back has nothing left to revoke.

Decides: when two members owned one partition.
Never: blames a member that learns late of a loss, or whose listener began in time and is slow:
until then it must only deliver nothing.
KIPs: 345.

The race:
1. m1 is killed, or stopped with SIGSTOP; it owns t-0 and writes nothing.
2. The session ends; m2 is assigned t-0. Its period overtakes m1's.
3. m1 is dead, or wakes and reports a loss: no violation. m1 delivers or revokes: both owned t-0.
"""

from math import inf
from typing import ClassVar, Final

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import (
    Delivered,
    Entry,
    Event,
    FaultStep,
    GenerationEntered,
    MemberStarted,
    OwnershipStep,
    Phase,
    RoundStored,
    Source,
    StateChanged,
)
from kgroup.journal.faults import StateCause
from kgroup.journal.periods import Period, PeriodKey, Periods
from kgroup.types import ChangeKind, MemberState

_EVICT: Final = "EVICT"
"""The fault by which an administrator removes a member."""

EXCUSES: Final = {
    "removed": "A member that an administrator removed learns of it within one session. "
    "1. m1 owns t-0; 2. an administrator removes m1, and t-0 is given to m2; 3. m1 goes on until "
    "its next heartbeat is refused.",
    "replaced": "A member whose instance id another process uses learns of it within one session. "
    "1. m1 owns t-0 as instance i; 2. a second process joins as i and is m2; 3. the round that "
    "begins ends at once and gives t-0 to another; 4. m1 goes on until it is fenced.",
    "twin": "Of two processes with one instance id the later one takes over at once; T2 judges "
    "what the earlier one does.",
}
"""Situations that look like a breach and are none, with the steps that make each true."""


class OneOwnerInTime:
    """S2: no partition is owned by two members at once.

    Args:
        periods: a follower shared with other oracles of the same history.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = Periods.KINDS | {
        Delivered,
        FaultStep,
        MemberStarted,
        RoundStored,
        StateChanged,
    }

    ONE_PARTITION: ClassVar[bool] = True
    __slots__ = (
        "_evicted",
        "_gone",
        "_instances",
        "_overtaken",
        "_periods",
        "_replaced",
        "_reported",
        "_sessions",
    )

    def __init__(self, periods: Periods | None = None) -> None:
        self._periods = Periods() if periods is None else periods
        self._evicted: dict[str, float] = {}
        self._gone: dict[Source, Entry] = {}
        self._instances: dict[Source, str] = {}
        self._overtaken: dict[PeriodKey, Period] = {}
        self._replaced: dict[str, tuple[str, float]] = {}
        self._sessions: dict[Source, float] = {}
        self._reported: set[PeriodKey] = set()

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if isinstance(event, Delivered):
            return self._delivered(entry, event)
        if isinstance(event, OwnershipStep):
            return self._moved(entry, event)
        self._periods.observe(entry)
        match event:
            case MemberStarted(group_instance_id=instance, session_timeout=session):
                if instance is not None:
                    self._instances[entry.source] = instance
                if session is not None:
                    self._sessions[entry.source] = session
            case FaultStep(phase=Phase.BEGIN, fault=fault, target=target) if fault == _EVICT:
                self._evicted[target] = entry.at
            case RoundStored():
                self._stored(entry, event)
            case StateChanged(after=MemberState.LEAVING, cause=StateCause.HANDED_BACK):
                self._gone[entry.source] = entry
            case GenerationEntered():
                self._gone.pop(entry.source, None)
            case _:
                pass
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _moved(self, entry: Entry, event: OwnershipStep) -> tuple[Violation, ...]:
        found: tuple[Violation, ...] = ()
        for period in self._periods.observe(entry):
            revokes = event.kind is ChangeKind.REVOKED and period.revoking is entry
            gone = self._gone.get(period.source)
            if revokes and gone is not None:
                text = f"{period.source} revokes {period.claim} after it left as if that were done"
                found += (Violation("S2", text, (gone, entry), period.claim.tp),)
            if period.overtaken is None or self._is_twin(period, period.overtaken):
                continue
            self._overtaken.setdefault(period.key, period)
            if revokes:
                found += self._went_on(period, entry, "revoked it")
            if period.ended is not None:
                self._overtaken.pop(period.key, None)
        return found

    def _is_twin(self, period: Period, other: Entry) -> bool:
        """Apply the excuse "twin"."""
        instance = self._instances.get(period.source)
        return instance is not None and instance == self._instances.get(other.source)

    def _stored(self, entry: Entry, event: RoundStored) -> None:
        """Note under which member id each instance takes part, and since when."""
        for member in event.members:
            if member.instance_id is not None:
                known = self._replaced.get(member.instance_id)
                if known is None or known[0] != member.member_id:
                    self._replaced[member.instance_id] = (member.member_id, entry.at)

    def _cannot_know(self, period: Period, at: float) -> bool:
        """Apply the excuses "removed" and "replaced"."""
        since = self._evicted.get(period.source.member, -inf)
        present, replaced = self._replaced.get(self._instances.get(period.source, ""), ("", -inf))
        if present != period.member_id:
            since = max(since, replaced)
        given_before = self._periods.asked(period) <= since
        return given_before and at <= since + self._sessions.get(period.source, -inf)

    def _delivered(self, entry: Entry, event: Delivered) -> tuple[Violation, ...]:
        period = self._overtaken.get((entry.source, event.claim)) if self._overtaken else None
        if period is None:
            return ()
        return self._went_on(period, entry, f"delivered {event.first} to {event.last}")

    def _went_on(self, period: Period, entry: Entry, what: str) -> tuple[Violation, ...]:
        """Report a former owner that goes on; one violation a period."""
        if period.key in self._reported or self._cannot_know(period, entry.at):
            return ()
        self._reported.add(period.key)
        assert period.overtaken is not None
        assert period.began is not None
        tp = period.claim.tp
        text = (
            f"{tp} was assigned to {period.overtaken.source} while {period.source} owned it, "
            f"which {what}, {entry.at - period.overtaken.at:.3f} s later"
        )
        return (Violation("S2", text, (period.began, period.overtaken, entry), tp),)
