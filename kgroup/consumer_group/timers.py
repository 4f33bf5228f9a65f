"""The timers of a member: which of them run, and when each is due; and what guards ask.

Decides: the instant of every timer of a state; whether each guard holds at an instant.
Never: fires one; `step` does. Changes the member.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from kgroup.consumer_group.states import FACTS
from kgroup.consumer_group.triggers import Guard, Trigger
from kgroup.consumer_group.value import ConsumerGroupMember
from kgroup.machine.coordinator import CoordinatorState, CoordinatorTrigger
from kgroup.types import Cause, MemberState


def timers(member: ConsumerGroupMember) -> Iterator[tuple[Trigger | CoordinatorTrigger, float]]:
    """Yield the timers that run now, with their instants."""
    for trigger, armed in _TIMERS[member.state]:
        at = armed(member)
        if at is not None:
            yield trigger, at


def next_deadline(member: ConsumerGroupMember) -> float:
    """Return the instant at which a `Tick` is due, infinity when nothing runs."""
    return min((at for _, at in timers(member)), default=math.inf)


def _search_due(member: ConsumerGroupMember) -> float | None:
    coordinator = member.coordinator
    return coordinator.search_at if coordinator.state is CoordinatorState.WAITING else None


def _heartbeat_due(member: ConsumerGroupMember) -> float | None:
    sends = member.identity.generation is not None
    idle = member.heartbeat is None and member.coordinator.node_id is not None
    return member.heartbeat_at if sends and idle else None


def _lease_over(member: ConsumerGroupMember) -> float | None:
    return member.lease.limit() if member.holdings.states else None


def _close_limit(member: ConsumerGroupMember) -> float | None:
    closing = member.wishes.closing
    if closing is None:
        return None
    return closing.leave_by if member.state is MemberState.LEAVING else closing.release_by


def _release_limit(member: ConsumerGroupMember) -> float | None:
    return member.pace.release_until if member.wishes.closing is None else None


Armed: TypeAlias = Callable[[ConsumerGroupMember], float | None]

_ARMED: Mapping[Trigger, Armed] = MappingProxyType(
    {
        Trigger.HEARTBEAT_DUE: _heartbeat_due,
        Trigger.LEASE_EXPIRED: _lease_over,
        Trigger.POLL_EXPIRED: lambda member: (
            member.wishes.polled_at + member.settings.poll_interval
        ),
        Trigger.BACKOFF_OVER: lambda member: member.pace.retry_at,
        Trigger.DRAIN_LIMIT: lambda member: member.pace.drain_until,
        Trigger.RELEASE_LIMIT: _release_limit,
        Trigger.CLOSE_LIMIT: _close_limit,
    }
)
"""When each timer is due, None while it does not run."""

_SEARCH: tuple[CoordinatorTrigger, Armed] = (CoordinatorTrigger.SEARCH_DUE, _search_due)

_TIMERS: Mapping[MemberState, tuple[tuple[Trigger | CoordinatorTrigger, Armed], ...]] = (
    MappingProxyType(
        {
            state: (
                *((each, _ARMED[each]) for each in sorted(facts.timers, key=lambda one: one.value)),
                *((_SEARCH,) if facts.seeks else ()),
            )
            for state, facts in FACTS.items()
        }
    )
)
"""The timers that may run in each state."""


def timer_cause(timer: Trigger, cause: Cause) -> Cause:
    """Return why ownership changes when a timer fires, `cause` when the timer does not say."""
    match timer:
        case Trigger.LEASE_EXPIRED:
            return Cause.SESSION_EXPIRED
        case Trigger.POLL_EXPIRED:
            return Cause.POLL_TIMEOUT
        case Trigger.CLOSE_LIMIT:
            return Cause.CLOSING
        case _:
            return cause


# -- guards ----------------------------------------------------------------------------------------


def holds(member: ConsumerGroupMember, guard: Guard, now: float) -> bool:
    """Tell whether a guard holds at an instant."""
    return _ASKED[guard](member, now)


def _closing(member: ConsumerGroupMember) -> bool:
    return member.wishes.closing is not None


def _wants_join(member: ConsumerGroupMember) -> bool:
    return not _closing(member) and member.wishes.topics is not None


_ASKED: Mapping[Guard, Callable[[ConsumerGroupMember, float], bool]] = MappingProxyType(
    {
        Guard.STILL_REVOKING: lambda member, _: bool(member.still_revoking()),
        Guard.JOINS_NOW: lambda member, now: (
            not member.still_revoking() and now >= member.join_due_at()
        ),
        Guard.JOINS_LATER: lambda member, now: (
            not member.still_revoking() and now < member.join_due_at()
        ),
        Guard.KNOWN: lambda member, _: member.identity.generation is not None,
        Guard.UNKNOWN: lambda member, _: member.identity.generation is None,
        Guard.SETTLED: lambda member, _: member.is_settled(),
        Guard.UNSETTLED: lambda member, _: not member.is_settled(),
        Guard.CLOSING: lambda member, _: _closing(member),
        Guard.NOT_CLOSING: lambda member, _: not _closing(member),
        Guard.WANTS_JOIN: lambda member, _: _wants_join(member),
        Guard.WANTS_NOTHING: lambda member, _: not _closing(member) and not _wants_join(member),
    }
)
"""Complete: the coverage theorem has every guard in a family, and every family in a row."""
