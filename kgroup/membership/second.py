"""Heartbeats beside a blocked loop: what a second speaker may say, when, and what that proves.

Decides: in which states a member lends its word; when the second speaks, and when it is silent;
what an answer that it heard does to the lease.
Never: follows an answer: only the member joins, loses a generation, or looks for a coordinator.
KIPs: 62 (heartbeats beside a slow application).

The second says one thing, Heartbeat, and only while the member itself is late with its own. What
it may say is lent to it as one frozen value, anew after each step of the member.
"""

import math
from typing import Final

from kgroup.codes import ApiKey
from kgroup.frozen import replace
from kgroup.machine.lease import Lease
from kgroup.machine.reactions import Reaction, reaction
from kgroup.membership.events import SecondBeat
from kgroup.membership.value import GroupMember
from kgroup.types import Generation, MemberState
from kgroup.values import dataclass

_LATE: Final = 0.5
"""Intervals by which the member's own heartbeat is overdue when the second speaks."""

_TRY_AGAIN: Final = 1.0
"""Seconds after which the second speaks again when nobody answered; an interval, if less."""

_LENT: Final = frozenset(
    {
        MemberState.STABLE,
        MemberState.PREPARING,
        MemberState.BACKING_OFF,
        MemberState.RELEASING,
    }
)
"""States in which a generation stands and no request of a round, and no farewell, is on its way."""


@dataclass(frozen=True, slots=True)
class Loan:
    """What the second may say; instants are those of the member's clock.

    Args:
        generation: the one that stands.
        node_id: the coordinator.
        interval: seconds between two heartbeats.
        due: from here on the member is late with its own heartbeat.
        until: from here on the application has not polled for too long, and nothing is said.
    """

    generation: Generation
    node_id: int
    interval: float
    due: float
    until: float


@dataclass(frozen=True, slots=True)
class Voice:
    """What the second remembers of what it has said.

    Args:
        not_before: it is silent until here.
        spent: a loan under which it was refused, None while it was not.
    """

    not_before: float = -math.inf
    spent: Loan | None = None


def lend(member: GroupMember) -> Loan | None:
    """Return what the second may say from now on, None for nothing.

    Nothing, once JoinGroup or LeaveGroup is to be sent: a member that is out of its generation, or
    of the group, has no heartbeat to send.
    """
    generation, node_id = member.identity.generation, member.coordinator.node_id
    if generation is None or node_id is None or not member.identity.synced:
        return None
    if member.state not in _LENT:
        return None
    settings = member.settings
    return Loan(
        generation=generation,
        node_id=node_id,
        interval=settings.heartbeat_interval,
        due=member.heartbeat_at + _LATE * settings.heartbeat_interval,
        until=member.wishes.polled_at + settings.poll_interval,
    )


# -- when ------------------------------------------------------------------------------------------


def beat_at(loan: Loan | None, voice: Voice) -> float:
    """Return when the second speaks unless it is lent something else; infinity for never."""
    if loan is None or loan is voice.spent:
        return math.inf
    at = max(loan.due, voice.not_before)
    return at if at < loan.until else math.inf


def may_beat(loan: Loan | None, voice: Voice, now: float) -> bool:
    """Tell whether the second speaks at `now`, which may be later than it meant to."""
    return loan is not None and beat_at(loan, voice) <= now < loan.until


def answered(voice: Voice, loan: Loan, beat: SecondBeat) -> Voice:
    """Return what the second remembers when its heartbeat was answered.

    While a round is on it goes on: the session lasts, and the round waits for the member as long as
    it would for one without a heartbeat. A coordinator that wants to be asked again is asked again.
    Any other refusal is for the member to hear: the second waits for the next loan.
    """
    match reaction(ApiKey.HEARTBEAT, beat.code):
        case Reaction.SUCCEED | Reaction.REJOIN:
            return replace(voice, not_before=beat.sent_at + loan.interval)
        case Reaction.RETRY:
            return unanswered(voice, loan, beat.heard_at)
        case _:
            return replace(voice, spent=loan)


def unanswered(voice: Voice, loan: Loan, now: float) -> Voice:
    """Return what the second remembers when nobody answered: it tries again soon."""
    return replace(voice, not_before=now + min(loan.interval, _TRY_AGAIN))


# -- what it proves --------------------------------------------------------------------------------


def renewed(member: GroupMember, beats: tuple[SecondBeat, ...]) -> Lease:
    """Return the lease of a member that hears of these answers now.

    An answer counts for the member id and the generation that stand, from its sending time on, if
    it was there before the lease had ended: the end of a lease is final (`kgroup.machine.lease`).
    """
    lease = member.lease
    for beat in beats:
        limit = lease.limit()
        late = limit is not None and beat.heard_at >= limit
        if beat.generation != member.identity.generation or late:
            continue
        match reaction(ApiKey.HEARTBEAT, beat.code):
            case Reaction.SUCCEED:
                lease = lease.confirmed(beat.sent_at, synced=member.identity.synced)
            case Reaction.REJOIN:
                lease = lease.signalled(beat.sent_at)
            case _:
                pass
    return lease
