"""What goes into a Marshal member and what comes out of it.

Decides: the shapes of events (past participles) and effects (imperatives).
Never: carries either out. The events of members of every kind stand in `machine.wishes`. A message
    counts when it was read back; the answer to writing it changes only how long the member waits.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from types import MappingProxyType

from kgroup.machine.wishes import (
    CallListener,
    CloseRequested,
    Done,
    Drained,
    ListenerDone,
    Polled,
    Raise,
    Subscribed,
    Tell,
    Tick,
    Unsubscribed,
)
from kgroup.marshal.key_state import Pause
from kgroup.marshal.messages import Extension, Kind
from kgroup.marshal.presence import NOBODY, UNKNOWN, Limits, Presence, Waits
from kgroup.marshal.rules import Verdict
from kgroup.marshal.standing import Standing
from kgroup.types import Claim, TopicPartition
from kgroup.values import dataclass

__all__ = [
    "AdmitRequested",
    "Admitted",
    "Append",
    "AppendFailed",
    "Assigned",
    "CommitOffsets",
    "CommitRequested",
    "Committed",
    "CountsChanged",
    "Effect",
    "Event",
    "FindPosition",
    "KeyRead",
    "LogLost",
    "LogOpened",
    "LogRead",
    "Note",
    "OffsetsCommitted",
    "PositionFailed",
    "PositionFound",
    "Tell",
]


@dataclass(frozen=True, slots=True)
class Assigned:
    """The application asks for exactly these partitions, claimed through the log all the same."""

    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class CountsChanged:
    """The cluster view changed; topic -> partition count, 0 for a topic that is not there."""

    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class LogOpened:
    """A coordination partition was read to its end, for the first time or anew.

    Args:
        partition: number of the coordination partition.
        topics: subscribed topics whose claims it has.
        next_offset: behind the last record that was read.
        time: log time of the latest message, milliseconds; -1 before any.
        since: log time of the first message that was read, -1 before any.
        append_time: whether log time is the broker's.
        complete: whether nothing that the log ever held is missing before what was read.
        is_go: whether headers do not count: all members behave as beside the original library.
        keys: what is known of each key of this group.
        presence: the members that are there.
        limits: how much each of them takes at most.
        waits: how long each was there without taking anything.
        pause: of this group, None without.
    """

    partition: int
    topics: frozenset[str]
    next_offset: int
    time: int
    since: int
    append_time: bool
    complete: bool
    keys: Mapping[TopicPartition, Standing]
    presence: Presence = field(default_factory=lambda: NOBODY)
    limits: Limits = field(default_factory=lambda: NOBODY)
    waits: Waits = field(default_factory=lambda: UNKNOWN)
    pause: Pause | None = None
    is_go: bool = False


@dataclass(frozen=True, slots=True)
class KeyRead:
    """One record about a key of this group.

    Args:
        tp: the partition that the key is about.
        kind: type of the message.
        verdict: what it did.
        offset: of the record.
        client_id: of its sender.
        instance_id: of its sender.
        nonce: of its sender, None without.
        tail: position that it carries, 0 in a claim.
        standing: of the key, behind this record.
    """

    tp: TopicPartition
    kind: Kind
    verdict: Verdict
    offset: int
    client_id: bytes
    instance_id: bytes
    nonce: bytes | None
    tail: int
    standing: Standing


@dataclass(frozen=True, slots=True)
class LogRead:
    """A coordination partition was read on.

    Args:
        partition: number of the coordination partition.
        next_offset: behind the last record that was read, whatever it was.
        time: log time of the latest message, milliseconds; -1 before any.
        since: log time of the first message that was read, -1 before any.
        reads: records about this group, in order.
        presence: the members that are there.
        limits: how much each of them takes at most.
        waits: how long each was there without taking anything.
        pause: of this group, None without.
    """

    partition: int
    next_offset: int
    time: int
    since: int
    reads: tuple[KeyRead, ...] = ()
    presence: Presence = field(default_factory=lambda: NOBODY)
    limits: Limits = field(default_factory=lambda: NOBODY)
    waits: Waits = field(default_factory=lambda: UNKNOWN)
    pause: Pause | None = None


@dataclass(frozen=True, slots=True)
class LogLost:
    """What was read of a coordination partition is not the log any more; it is read anew.

    Its tail was cut off, or retention has overtaken this reader; with `error` the member ends.
    Without a `reason` nothing is wrong: its topics are not subscribed any more.
    """

    partition: int
    reason: str | None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class AppendFailed:
    """A message was not written, or it is not known whether it was.

    Args:
        ticket: of the `Append`.
        error: why.
        maybe: whether it may have been written all the same.
    """

    ticket: int
    error: Exception
    maybe: bool


@dataclass(frozen=True, slots=True)
class PositionFound:
    """Where a partition is to be read from; never below the start of its log, nor beyond its end.

    Args:
        ticket: of the `FindPosition`.
        offset: next to read.
    """

    ticket: int
    offset: int


@dataclass(frozen=True, slots=True)
class PositionFailed:
    """There is no position, or no answer came in time.

    Args:
        ticket: of the `FindPosition`.
        error: why.
    """

    ticket: int
    error: Exception


@dataclass(frozen=True, slots=True)
class OffsetsCommitted:
    """The group coordinator answered a commit of positions, or did not.

    Args:
        ticket: of the `CommitOffsets`.
        error: why it failed, None when all were committed.
    """

    ticket: int
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class CommitRequested:
    """The application commits.

    Args:
        serial: of the commit; `Committed` carries it.
        offsets: claim -> next offset to read.
    """

    serial: int
    offsets: Mapping[Claim, int]


@dataclass(frozen=True, slots=True)
class AdmitRequested:
    """Records are to be handed out, at most once (`Guarantee.AT_MOST_ONCE`).

    Args:
        serial: of the question; `Admitted` carries it.
        claim: the claim of the records.
        until: offset behind the last of them.
    """

    serial: int
    claim: Claim
    until: int


Event = (
    Subscribed
    | Assigned
    | Unsubscribed
    | CloseRequested
    | CountsChanged
    | Polled
    | Drained
    | ListenerDone
    | LogOpened
    | LogRead
    | LogLost
    | AppendFailed
    | PositionFound
    | PositionFailed
    | OffsetsCommitted
    | CommitRequested
    | AdmitRequested
    | Tick
)


@dataclass(frozen=True, slots=True)
class Append:
    """Write a message; messages of one topic are written in the order of these effects.

    The writer adds its ids, and a time that no peer sees in the future.

    Args:
        ticket: what a failure must carry.
        kind: type of the message.
        topic: of the key; a presence has a name that no topic can have.
        partition: of the key.
        tail: position that it carries, 0 in a claim.
        extension: its headers.
        timeout: seconds from now for which the member waits for it.
    """

    ticket: int
    kind: Kind
    topic: str
    partition: int
    tail: int
    extension: Extension
    timeout: float


@dataclass(frozen=True, slots=True)
class FindPosition:
    """Find out where to begin.

    Args:
        ticket: what the reply must carry.
        tp: the partition.
        known: what the log of claims says, None when it says nothing.
        furthest: whether a committed offset beyond `known` counts more: at most once.
    """

    ticket: int
    tp: TopicPartition
    known: int | None
    furthest: bool


@dataclass(frozen=True, slots=True)
class CommitOffsets:
    """Commit positions with the group coordinator, as a consumer without a group would.

    Args:
        ticket: what the reply must carry.
        offsets: partition -> next offset to read.
        timeout: seconds from now.
    """

    ticket: int
    offsets: Mapping[TopicPartition, int]
    timeout: float


@dataclass(frozen=True, slots=True)
class Committed:
    """Answer a `CommitRequested`.

    Args:
        serial: of the commit.
        refused: claim -> why, of those that are not committed; the others are in the log.
        unknown: whether what was refused may have been written all the same.
    """

    serial: int
    refused: Mapping[Claim, str] = field(default_factory=lambda: MappingProxyType({}))
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class Admitted:
    """Answer an `AdmitRequested`.

    Args:
        serial: of the question.
        admitted: whether they may be handed out; if not, they never are by this claim.
    """

    serial: int
    admitted: bool


class Note(Enum):
    """What a person should know; the one that logs it leaves out what it logged a moment ago."""

    CLAIM_UNCONFIRMED = "a claim was not read back in time; tried again"
    WRITE_REFUSED = "a message was not written to the coordination topic"
    COMMIT_REFUSED = "positions were not committed with the group coordinator; claims are kept"
    NO_POSITION = "where a partition is to be begun is not known yet; it is asked for again"
    LOG_LOST = "the coordination topic is not what was read of it; all claims in it are lost"
    MIXED_GROUP = "a peer without kgroup's headers writes for this group"
    DRAIN_CUT = "a batch was in hand when its partition had to go; at least once it comes again"


Effect = (
    Append
    | FindPosition
    | CommitOffsets
    | Committed
    | Admitted
    | CallListener
    | Tell[Note]
    | Raise
    | Done
)
