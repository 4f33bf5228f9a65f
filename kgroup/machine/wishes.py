"""What any member hears from its application and its clock, and what it always answers with.

Decides: the shapes of events (past participles) and effects (imperatives) that every way to
    coordinate has in common; what else there is stands in the room of each.
Never: carries either out.
KIPs: 62 (polls), 568 (enforced rounds), 800 (reasons).
"""

from enum import Enum
from typing import Generic, TypeVar

from kgroup.journal import ClaimsEnded
from kgroup.machine.reactions import Reaction
from kgroup.types import Claim, Generation, Leave, OwnershipChange
from kgroup.values import dataclass
from kgroup.words import Word

N = TypeVar("N", bound=Enum)


@dataclass(frozen=True, slots=True)
class Moment:
    """When a step happens, and its luck.

    Args:
        now: seconds on a clock that never goes back.
        chance: a number in [0, 1), drawn by the caller; spreads retries.
    """

    now: float
    chance: float = 0.5


@dataclass(frozen=True, slots=True)
class Subscribed:
    """The application asks for exactly these topics (a pattern is already resolved).

    Args:
        topics: names; none with `pattern`.
        pattern: one that the coordinator resolves, where the protocol has that (KIP-848).
    """

    topics: frozenset[str]
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class Unsubscribed:
    """The application asks for nothing any more."""


@dataclass(frozen=True, slots=True)
class CloseRequested:
    """The consumer closes.

    Args:
        mode: whether to tell the group.
        reason: sent to a coordinator (KIP-800).
        release_by: instant after which listeners and batches are not waited for.
        leave_by: instant after which no answer of a broker is waited for.
    """

    mode: Leave
    reason: str
    release_by: float
    leave_by: float


@dataclass(frozen=True, slots=True)
class EnforceRebalance:
    """The application wants a round (KIP-568)."""

    reason: str


@dataclass(frozen=True, slots=True)
class Polled:
    """The application asked for records (KIP-62)."""


@dataclass(frozen=True, slots=True)
class Drained:
    """No record of these draining claims is in the application's hands."""

    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class ListenerDone:
    """The listener returned, raised or ran out of time for change `serial`."""

    serial: int


@dataclass(frozen=True, slots=True)
class CommitRejected:
    """A commit under `generation` was answered with something the membership must know.

    Or a question for committed offsets was: that the coordinator is another one.
    """

    reaction: Reaction
    generation: Generation
    code: int


@dataclass(frozen=True, slots=True)
class Tick:
    """A deadline may have passed."""


@dataclass(frozen=True, slots=True)
class CallListener:
    """Tell the application about a change; `ListenerDone` follows."""

    change: OwnershipChange


def claims_ended(change: OwnershipChange) -> ClaimsEnded:
    """Make the journal's event of a change that removes claims."""
    generation = change.generation
    return ClaimsEnded(
        kind=change.kind,
        claims=change.removed,
        member_id=None if generation is None else generation.member_id,
        generation_id=None if generation is None else generation.generation_id,
        cause=change.cause.value,
        serial=change.serial,
    )


@dataclass(frozen=True, slots=True)
class Tell(Generic[N]):
    """Log something a person may have to act on.

    Args:
        note: what; each way to coordinate has notes of its own.
        detail: which, and with which values.
        error: logged with where it was raised, None when that tells nothing.
    """

    note: N
    detail: str = ""
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Raise:
    """The membership is over: raise this in the calls that read."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Done:
    """The membership has ended; nothing more will come."""


# -- tickets ---------------------------------------------------------------------------------------
#
# Tickets: which reply belongs to which request.
#
# Decides: identity of every effect that has a reply. A reply whose ticket the present state does
# not await is dropped before the table sees it, so a late answer changes nothing.
# Never: judges the reply.


class Errand(Word):
    """What a ticket was drawn for."""

    FIND_COORDINATOR = "FindCoordinator"
    JOIN_GROUP = "JoinGroup"
    SYNC_GROUP = "SyncGroup"
    HEARTBEAT = "Heartbeat"
    CONSUMER_GROUP_HEARTBEAT = "ConsumerGroupHeartbeat"
    LEAVE_GROUP = "LeaveGroup"
    RUN_ASSIGNOR = "assignor"


@dataclass(frozen=True, slots=True)
class Ticket:
    """One awaited reply.

    Args:
        errand: what was sent.
        serial: rising within one member; never reused.
        sent_at: instant of sending, seconds; the lease counts from here.
    """

    errand: Errand
    serial: int
    sent_at: float
