"""Records on their way: fetched, delivered, done, committed.

Decides: how positions and deliveries are written, always under a claim.
Never: carries a record; offsets only.

`Delivered` is emitted BEFORE the records reach the application: a process killed in between
has then logged too much, never too little, and no record can be used that no log knows.
"""

from typing import ClassVar, Final

from kgroup.types import Claim
from kgroup.values import dataclass
from kgroup.words import Word


class CommitStage(Word):
    """How far one partition of one commit has come."""

    REQUESTED = "requested"
    OK = "ok"
    ERROR = "error"
    UNKNOWN = "unknown"


class PositionMove(Word):
    """Why a position jumped without a delivery."""

    RESET = "reset"
    SEEK = "seek"
    TRUNCATED = "truncated"
    RECREATED = "recreated"


class PauseCause(Word):
    """What holds a claim back."""

    APPLICATION = "application"
    UNCOMMITTED = "max_uncommitted"


@dataclass(frozen=True, slots=True)
class OffsetRead:
    """The coordinator, or the log of claims, said where a claim begins.

    Args:
        claim: the period of ownership.
        offset: committed offset, None when nothing is committed.
        generation_id: generation at the time, None without one, as where keys are claimed.
        leader_epoch: epoch stored with the offset (KIP-320), None without one.
    """

    KIND: ClassVar[str] = "offset_read"
    claim: Claim
    offset: int | None
    generation_id: int | None = None
    leader_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class PositionMoved:
    """A position was set by the reset policy, by a seek, or because the log is another one.

    Args:
        claim: the period of ownership.
        offset: the next offset to fetch.
        move: by the policy; by a seek; to where the logs part, because the log lost records that
            were read (KIP-320); to the beginning, because the topic was made anew (KIP-516).
    """

    KIND: ClassVar[str] = "position"
    claim: Claim
    offset: int
    move: PositionMove


@dataclass(frozen=True, slots=True)
class FetchIssued:
    """Records were asked for under a claim; in a fetch session once for each offset (KIP-227).

    Args:
        claim: the period of ownership, stamped on what comes back.
        offset: first offset asked for.
        node_id: broker asked, None when not known.
    """

    KIND: ClassVar[str] = "fetch_issued"
    claim: Claim
    offset: int
    node_id: int | None = None


@dataclass(frozen=True, slots=True)
class FetchAnswered:
    """Records, or an error, came back for a claim.

    Args:
        claim: the period of ownership they were asked under.
        offset: first offset that was asked for.
        next_offset: offset after the last one received; equal to `offset` when nothing came.
        error: error code of the partition, None or 0 without one.
    """

    KIND: ClassVar[str] = "fetch_answered"
    claim: Claim
    offset: int
    next_offset: int
    error: int | None = None


@dataclass(frozen=True, slots=True)
class Delivered:
    """Records are about to be handed to the application.

    Args:
        claim: the period of ownership.
        first: offset of the first record.
        last: offset of the last record, inclusive.
        count: how many records; fewer than `last - first + 1` when offsets are invisible.
    """

    KIND: ClassVar[str] = "deliver"
    claim: Claim
    first: int
    last: int
    count: int


@dataclass(frozen=True, slots=True)
class Done:
    """The application is done with every record of a claim below an offset.

    Args:
        claim: the period of ownership.
        next_offset: first offset that is not done.
    """

    KIND: ClassVar[str] = "done"
    claim: Claim
    next_offset: int


@dataclass(frozen=True, slots=True)
class Paused:
    """Delivery of some claims stopped.

    Args:
        claims: the periods of ownership that rest.
        cause: the application asked for it; or as many records as `max_uncommitted` are handed out
            beyond what is committed, and a read came for more.
    """

    KIND: ClassVar[str] = "paused"
    claims: tuple[Claim, ...]
    cause: PauseCause = PauseCause.APPLICATION


@dataclass(frozen=True, slots=True)
class Resumed:
    """Delivery of some claims may go on, unless they rest for another cause.

    Args:
        claims: the periods of ownership that go on.
        cause: the one that ended: the application asked for it; or a commit, or a seek, made room,
            and a read came.
    """

    KIND: ClassVar[str] = "resumed"
    claims: tuple[Claim, ...]
    cause: PauseCause = PauseCause.APPLICATION


@dataclass(frozen=True, slots=True)
class Polled:
    """The application asked for records."""

    KIND: ClassVar[str] = "poll"


POLL_NOTED_EVERY: Final = 0.5
"""Seconds after which a member hears of another poll at the latest: it need not hear of each.

The simulation tells it so seldom; a consumer more often.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitStep:
    """One partition of one commit was asked for, or its outcome is known.

    Args:
        stage: requested, then exactly one of ok, error and unknown; only an error without a code,
            refused here before anything was sent, may come without a request.
        commit_id: number of the commit, rising within one member in order of submission.
        claim: the period of ownership it is made under.
        offset: next offset to read, as committed.
        member_id: id it is sent under, None for a manual assignment, and where keys are claimed:
            there the claim stands for itself, see `ClaimStep`.
        generation_id: generation it is sent under; None as for `member_id`.
        code: error code of the partition, None without one.
    """

    KIND: ClassVar[str] = "commit"
    stage: CommitStage
    commit_id: int
    claim: Claim
    offset: int
    member_id: str | None = None
    generation_id: int | None = None
    code: int | None = None
