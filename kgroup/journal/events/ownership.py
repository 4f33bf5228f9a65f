"""Ownership begins and ends, and the listener is called.

Decides: the edges by which periods of ownership are judged.
Never: speaks of records.
KIPs: 429.
"""

from typing import ClassVar

from kgroup.types import ChangeKind, Claim, TopicPartition
from kgroup.values import dataclass
from kgroup.words import Word


class Phase(Word):
    """Which edge of something that takes time."""

    BEGIN = "begin"
    END = "end"


class CallbackStage(Word):
    """How far one listener callback has come."""

    ENTER = "enter"
    OVERDUE = "overdue"
    EXIT = "exit"
    RAISE = "raise"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnershipStep:
    """Claims begin or end: assigned, revoked or lost, with its two edges.

    Ownership begins at ASSIGNED END (the listener has returned) and ends at REVOKED END or
    LOST BEGIN; from REVOKED BEGIN on nothing is delivered. Without a listener both edges are
    emitted all the same.

    Args:
        kind: assigned, revoked or lost.
        phase: before or after the listener.
        claims: the periods that begin or end; kept ones are not listed.
        member_id: id of the member, None when it has none (a manual assignment).
        generation_id: generation at the time, None when it is already gone.
        cause: why, in words.
        serial: number of the change, rising within one member.
    """

    KIND: ClassVar[str] = "ownership"
    kind: ChangeKind
    phase: Phase
    claims: tuple[Claim, ...]
    member_id: str | None = None
    generation_id: int | None = None
    cause: str = ""
    serial: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsEnded:
    """The member decided that claims end: revoked or lost. The listener hears of it later.

    A change that revokes is decided when nothing of its claims is handed out any more.

    Args:
        kind: revoked or lost.
        claims: the periods that end.
        member_id: id of the member, None when it has none.
        generation_id: generation at the time, None when it is already gone.
        cause: why, in words.
        serial: number of the change, as `ownership` repeats it.
    """

    KIND: ClassVar[str] = "claims_ended"
    kind: ChangeKind
    claims: tuple[Claim, ...]
    member_id: str | None = None
    generation_id: int | None = None
    cause: str = ""
    serial: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackStep:
    """The application's listener was called, could not be cut off, returned or raised.

    Args:
        kind: which callback.
        stage: enter, exit or raise; overdue when it goes on although its time is over.
        serial: number of the change it belongs to.
        error: text of the exception, "" unless it raised.
    """

    KIND: ClassVar[str] = "callback"
    kind: ChangeKind
    stage: CallbackStage
    serial: int
    error: str = ""


# -- claims ----------------------------------------------------------------------------------------
#
# Keys that are claimed through a log: what a Marshal member writes about them, and reads back.
#
# Decides: what is written of a claim's way from a message to ownership, and back.
# Never: carries the periods of ownership; that is `ownership`, for any member alike. Says nothing
# of what only shows which members are there.
#
# A member owns a key under an epoch, the offset of its accepted claim. Nothing proves it but a
# heartbeat that was read back and counts; the lease is reckoned from its writing (`ClaimStep`).


class ClaimMessage(Word):
    """What a message about a key asks for."""

    CLAIM = "claim"
    HEARTBEAT = "heartbeat"
    RELEASE = "release"
    PROBE = "probe"


class ClaimStage(Word):
    """How far one message about a key has come."""

    WRITTEN = "written"
    READ = "read"
    FAILED = "failed"
    UNKNOWN = "unknown"


class ClaimVerdict(Word):
    """What a record about a key did, as every reader of the log finds."""

    ACCEPTED = "accepted"
    ADOPTED = "adopted"
    RENEWED = "renewed"
    RELEASED = "released"
    PROBED = "probed"
    REFUSED = "refused"
    VOID = "void"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyChanged:
    """A key took a row of its table to another phase of this member's dealings with it.

    Args:
        tp: the partition.
        before: phase it left, in the words of the table, e.g. "claim written".
        after: phase it entered, e.g. "claim accepted".
        cause: what triggered it, in the words of the table.
    """

    KIND: ClassVar[str] = "key"
    tp: TopicPartition
    before: str
    after: str
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimStep:
    """A message about a key is about to be written, failed, or stands in the log.

    Of others' messages only those are journalled that change a key this member has to do with.

    Args:
        stage: written, then read, whether or not it failed, or nobody knows, in between; only
            read for the message of another.
        message: a claim, a heartbeat, a release, or the probe of a hand-out at most once.
        tp: the partition.
        ticket: number of the message, rising within one member; None for one of another's.
        epoch: offset of the accepted claim it is written under; of a claim that was read, the
            epoch that holds behind it. None without one.
        position: next offset to read that it carries, None in a claim.
        offset: of the record in the coordination partition, None before it was read.
        verdict: accepted (a claim), adopted (a heartbeat that makes an owner), renewed, released,
            probed, refused or void; None before it was read.
        lease_end: monotonic seconds up to which it proves ownership, by the member's reckoning;
            None when it proves nothing.
        sender: client id and instance id, with a slash between; None for one of its own.
        error: why it was not written, or why nobody knows.
    """

    KIND: ClassVar[str] = "claim"
    stage: ClaimStage
    message: ClaimMessage
    tp: TopicPartition
    ticket: int | None = None
    epoch: int | None = None
    position: int | None = None
    offset: int | None = None
    verdict: ClaimVerdict | None = None
    lease_end: float | None = None
    sender: str | None = None
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRejected:
    """Something in the log of claims is no message, or is not believed; it changes nothing.

    Written for the first of each reason, and once a minute while there are more.

    Args:
        tp: coordination partition.
        reason: why; of a batch that cannot be read, and counts as one, "damaged batch".
        count: that were rejected for it so far, in all that this member has read.
        offset: of the last one in this partition.
    """

    KIND: ClassVar[str] = "rejected"
    tp: TopicPartition
    reason: str
    count: int
    offset: int
