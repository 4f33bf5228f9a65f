"""S3: records are delivered only while ownership can be proved.

S3: a member delivers only within its lease, which ends at min(A + S, B + R) - margin, where
A = sending time of the last heartbeat answered without error or with REBALANCE_IN_PROGRESS;
B = latest sending time of a heartbeat answered without error while the generation it names is
    synced, of an answered JoinGroup, or of a SyncGroup answered without error;
S, R, margin = session timeout, rebalance timeout and margin from `MemberStarted`.
Before the first answered heartbeat of a membership there is no A and so no lease; a loss ends it.

Decides: until when a member's answers from the coordinator prove its ownership.
Never: trusts the member's own arithmetic; it reads requests and answers.

Who claims keys through a log (Marshal) has a lease of each, which ends at K + S - margin, where
K = writing time of the last heartbeat of the key that was read back and counts, since the claim
    was accepted;
S, margin = the lease it asks for, as session timeout, and the least that it takes off.
A claim that is accepted, a message that is void, and a release that counts, end it (`key_lease`).
KIPs: 62.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Final

from kgroup.audit.oracles.watch import Violation
from kgroup.codes import ApiKey, ErrorCode
from kgroup.journal.events import (
    AnswerReceived,
    ClaimsEnded,
    ClaimStep,
    ConnectionClosed,
    Delivered,
    Entry,
    Event,
    GenerationEntered,
    JoinIssued,
    MemberStarted,
    RequestSent,
    Source,
)
from kgroup.types import ChangeKind
from tests.search.oracles import excuses
from tests.search.oracles.key_lease import KeyLeases

_PROVING: Final = frozenset({ApiKey.HEARTBEAT, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP})


@dataclass(slots=True)
class _Lease:
    """What one member life can prove; None where nothing is known yet."""

    session_timeout: float
    rebalance_timeout: float
    margin: float
    generation_id: int | None = None
    session: Entry | None = None  # A
    round: Entry | None = None  # B
    sent: dict[tuple[int, int], Entry] = field(default_factory=dict)

    @property
    def until(self) -> float | None:
        if self.session is None or self.round is None:
            return None
        ends = (self.session.at + self.session_timeout, self.round.at + self.rebalance_timeout)
        return min(ends) - self.margin

    def lose(self) -> None:
        self.generation_id = self.session = self.round = None


class LeaseHeld:
    """S3: no delivery after the lease.

    Args:
        slack: seconds forgiven, for logs whose stamps are made later than the decisions.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {
            AnswerReceived,
            ClaimStep,
            ClaimsEnded,
            ConnectionClosed,
            Delivered,
            GenerationEntered,
            JoinIssued,
            MemberStarted,
            RequestSent,
        }
    )

    APIS: ClassVar[frozenset[ApiKey]] = _PROVING

    __slots__ = ("_keys", "_leases", "_slack")

    def __init__(self, slack: float = 0.0) -> None:
        self._slack = slack
        self._keys: dict[Source, KeyLeases] = {}
        self._leases: dict[Source, _Lease] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry; members without a group have no lease."""
        event = entry.event
        if isinstance(event, (RequestSent, AnswerReceived)) and event.api not in _PROVING:
            return ()
        if isinstance(event, MemberStarted):
            self._start(entry.source, event)
        lease = self._leases.get(entry.source)
        if lease is None:
            return ()
        if isinstance(event, ClaimStep):
            self._claimed(lease, entry, event)
            return ()
        if isinstance(event, Delivered):
            keys = self._keys.get(entry.source)
            if keys is not None:
                return keys.delivered(entry, event, self._slack)
            return self._delivered(lease, entry, event)
        _follow(lease, entry)
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

    def _claimed(self, lease: _Lease, entry: Entry, event: ClaimStep) -> None:
        keys = self._keys.get(entry.source)
        if keys is None:
            keys = KeyLeases(lease.session_timeout - lease.margin)
            self._keys[entry.source] = keys
        keys.follow(entry, event)

    def _delivered(self, lease: _Lease, entry: Entry, event: Delivered) -> tuple[Violation, ...]:
        until = lease.until
        if until is not None and entry.at <= until + self._slack:
            return ()
        proofs = tuple(proof for proof in (lease.session, lease.round) if proof is not None)
        if until is None:
            text = f"{event.claim} delivered before a heartbeat of the membership was answered"
        else:
            text = (
                f"{event.claim} delivered {entry.at - until:.3f} s after the lease of "
                f"{entry.source} had ended"
            )
        return (Violation("S3", text, (*proofs, entry), event.claim.tp),)


def _follow(lease: _Lease, entry: Entry) -> None:
    match entry.event:
        case RequestSent() as event:
            lease.sent[event.connection, event.correlation_id] = entry
        case AnswerReceived() as event:
            _answered(lease, event)
        case ConnectionClosed(connection=connection):
            for key in [key for key in lease.sent if key[0] == connection]:
                del lease.sent[key]
        case GenerationEntered(generation_id=generation_id):
            lease.generation_id = generation_id
        case JoinIssued(generation_id=None):
            lease.lose()
        case ClaimsEnded(kind=ChangeKind.LOST, cause=cause):
            if not excuses.lost_as_a_member(cause):
                lease.lose()
        case _:
            pass


def _answered(lease: _Lease, event: AnswerReceived) -> None:
    sent = lease.sent.pop((event.connection, event.correlation_id), None)
    if sent is None:
        return
    assert isinstance(sent.event, RequestSent)
    fine = not event.error
    if event.api is ApiKey.HEARTBEAT:
        if fine or event.error == ErrorCode.REBALANCE_IN_PROGRESS:
            lease.session = _later(lease.session, sent)
        fine = fine and sent.event.generation_id == lease.generation_id
    if fine:
        lease.round = _later(lease.round, sent)


def _later(known: Entry | None, sent: Entry) -> Entry:
    return sent if known is None or sent.at > known.at else known
