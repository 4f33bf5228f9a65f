"""S3: records are delivered only while ownership can be proved.

Decides: until when a member's answers from the coordinator prove its ownership.
Never: trusts the member's own arithmetic; it reads requests and answers.

The lease ends at min(A + S, B + R) - margin, where
A = sending time of the last heartbeat answered without error or with REBALANCE_IN_PROGRESS;
B = latest sending time of a heartbeat answered without error while the generation it names is
    synced, of an answered JoinGroup, or of a SyncGroup answered without error;
S, R, margin = session timeout, rebalance timeout and margin from `MemberStarted`.
Before the first answered heartbeat of a membership there is no A and so no lease; a loss ends it.
KIPs: 62.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from kgroup.codes import ApiKey, ErrorCode
from kgroup.frozen import replace
from kgroup.journal.events import (
    AnswerReceived,
    ConnectionClosed,
    Delivered,
    Entry,
    Event,
    GenerationEntered,
    JoinIssued,
    MemberStarted,
    OwnershipStep,
    Phase,
    RequestSent,
    Source,
)
from kgroup.journal.oracles.violation import Violation
from kgroup.types import ChangeKind

__all__ = ["LeaseHeld"]

_PROVING: Final = frozenset({ApiKey.HEARTBEAT, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP})


@dataclass(frozen=True, slots=True)
class _Lease:
    """What one member life can prove; None where nothing is known yet."""

    session_timeout: float
    rebalance_timeout: float
    margin: float
    generation_id: int | None = None
    session: Entry | None = None  # A
    round: Entry | None = None  # B
    told: bool = True  # of every loss

    @property
    def until(self) -> float | None:
        if self.session is None or self.round is None:
            return None
        ends = (self.session.at + self.session_timeout, self.round.at + self.rebalance_timeout)
        return min(ends) - self.margin

    def lost(self, *, told: bool = True) -> "_Lease":
        return replace(self, generation_id=None, session=None, round=None, told=told)


class LeaseHeld:
    """S3: no delivery after the lease.

    Args:
        slack: seconds forgiven, for logs whose stamps are made later than the decisions.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {
            AnswerReceived,
            ConnectionClosed,
            Delivered,
            GenerationEntered,
            JoinIssued,
            MemberStarted,
            OwnershipStep,
            RequestSent,
        }
    )

    __slots__ = ("_leases", "_sent", "_slack")

    def __init__(self, slack: float = 0.0) -> None:
        self._slack = slack
        self._leases: dict[Source, _Lease] = {}
        self._sent: dict[Source, dict[tuple[int, int], Entry]] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry; members without a group have no lease."""
        source, event = entry.source, entry.event
        if isinstance(event, MemberStarted):
            self._start(source, event)
        lease = self._leases.get(source)
        if lease is None:
            return ()
        match event:
            case RequestSent() if event.api in _PROVING:
                self._sent[source][event.connection, event.correlation_id] = entry
            case AnswerReceived() if event.api in _PROVING:
                self._answered(lease, entry, event)
            case ConnectionClosed(connection=connection):
                sent = self._sent[source]
                for key in [key for key in sent if key[0] == connection]:
                    del sent[key]
            case GenerationEntered(generation_id=generation_id):
                self._leases[source] = replace(lease, generation_id=generation_id)
            case JoinIssued() | OwnershipStep():
                self._leases[source] = _after_loss(lease, event)
            case Delivered():
                return self._delivered(lease, entry, event)
            case _:
                pass
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _start(self, source: Source, event: MemberStarted) -> None:
        if event.session_timeout is None or event.rebalance_timeout is None:
            return
        self._leases[source] = _Lease(
            event.session_timeout, event.rebalance_timeout, event.lease_margin
        )
        self._sent[source] = {}

    def _answered(self, lease: _Lease, entry: Entry, event: AnswerReceived) -> None:
        sent = self._sent[entry.source].pop((event.connection, event.correlation_id), None)
        if sent is None:
            return
        assert isinstance(sent.event, RequestSent)
        fine = event.error in (None, ErrorCode.NONE)
        if event.api is ApiKey.HEARTBEAT:
            if fine or event.error == ErrorCode.REBALANCE_IN_PROGRESS:
                lease = replace(lease, session=_later(lease.session, sent))
            fine = fine and sent.event.generation_id == lease.generation_id
        if fine:
            lease = replace(lease, round=_later(lease.round, sent))
        self._leases[entry.source] = lease

    def _delivered(self, lease: _Lease, entry: Entry, event: Delivered) -> tuple[Violation, ...]:
        until = lease.until
        proofs = tuple(proof for proof in (lease.session, lease.round) if proof is not None)
        if until is None:
            text = f"{event.claim} delivered before a heartbeat of the membership was answered"
        elif entry.at > until + self._slack:
            text = (
                f"{event.claim} delivered {entry.at - until:.3f} s after the lease of "
                f"{entry.source} had ended"
            )
        else:
            return ()
        return (Violation("S3", text, (*proofs, entry), event.claim.tp),)


def _after_loss(lease: _Lease, event: JoinIssued | OwnershipStep) -> _Lease:
    """Return the lease of a member that has lost everything, if that is what an event says.

    1. A generation is lost; 2. the listener is busy; 3. the same one is given again and proved
    (R6); 4. the listener hears of the loss: that of step 1.
    """
    match event:
        case JoinIssued(generation_id=None) if lease.generation_id is not None:
            return lease.lost(told=False)
        case OwnershipStep(kind=ChangeKind.LOST, phase=Phase.BEGIN):
            return lease.lost() if lease.told else replace(lease, told=True)
        case _:
            return lease


def _later(known: Entry | None, sent: Entry) -> Entry:
    return sent if known is None or sent.at > known.at else known
