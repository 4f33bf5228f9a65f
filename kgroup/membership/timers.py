"""The timers of a member: which of them run, and when each is due.

Decides: the instant of every timer of a state.
Never: fires one; `step` does.
"""

from collections.abc import Iterator

from kgroup.membership.coordinator import CoordinatorState, CoordinatorTrigger
from kgroup.membership.states import FACTS
from kgroup.membership.triggers import Trigger
from kgroup.membership.value import GroupMember
from kgroup.types import Cause, MemberState

__all__ = ["timer_cause", "timers"]


def timers(member: GroupMember) -> Iterator[tuple[Trigger | CoordinatorTrigger, float]]:
    """Yield the timers that run now, with their instants."""
    facts = FACTS[member.state]
    for trigger in facts.timers:
        at = _armed(member, trigger)
        if at is not None:
            yield trigger, at
    if facts.seeks and member.coordinator.state is CoordinatorState.WAITING:
        yield CoordinatorTrigger.SEARCH_DUE, member.coordinator.search_at


def _armed(member: GroupMember, timer: Trigger) -> float | None:
    closing = member.wishes.closing
    match timer:
        case Trigger.HEARTBEAT_DUE:
            sends = member.identity.generation is not None
            idle = member.heartbeat is None and member.coordinator.node_id is not None
            return member.heartbeat_at if sends and idle else None
        case Trigger.LEASE_EXPIRED:
            return member.lease.limit() if member.holdings else None
        case Trigger.POLL_EXPIRED:
            return member.wishes.polled_at + member.settings.rebalance_timeout
        case Trigger.BACKOFF_OVER:
            return member.round.retry_at
        case Trigger.DRAIN_LIMIT:
            return member.round.drain_until
        case Trigger.REJOIN_DUE:
            return member.lead.rejoin_at
        case Trigger.CLOSE_LIMIT if closing is not None:
            leaving = member.state is MemberState.LEAVING
            return closing.leave_by if leaving else closing.release_by
        case _:
            return None


def timer_cause(timer: Trigger, cause: Cause) -> Cause:
    """Return why ownership changes when a timer fires, `cause` when the timer does not say."""
    match timer:
        case Trigger.LEASE_EXPIRED:
            return Cause.SESSION_EXPIRED
        case Trigger.POLL_EXPIRED:
            return Cause.POLL_TIMEOUT
        case Trigger.CLOSE_LIMIT:
            return Cause.CLOSING
        case Trigger.REJOIN_DUE:
            return Cause.REJOIN_DUE
        case _:
            return cause
