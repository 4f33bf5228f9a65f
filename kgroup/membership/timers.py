"""The timers of a member: which of them run, and when each is due.

Decides: the instant of every timer of a state.
Never: fires one; `step` does.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from kgroup.machine.claims import HoldingState
from kgroup.machine.coordinator import CoordinatorState, CoordinatorTrigger
from kgroup.membership.states import FACTS
from kgroup.membership.triggers import Guard, Trigger
from kgroup.membership.value import GroupMember
from kgroup.types import Cause, MemberState


def timers(member: GroupMember) -> Iterator[tuple[Trigger | CoordinatorTrigger, float]]:
    """Yield the timers that run now, with their instants."""
    for trigger, armed in _TIMERS[member.state]:
        at = armed(member)
        if at is not None:
            yield trigger, at


def next_deadline(member: GroupMember) -> float:
    """Return the instant at which a `Tick` is due, infinity when nothing runs."""
    # Asked for twice in every step, so it does not go through `timers`.
    due = math.inf
    for _, armed in _TIMERS[member.state]:
        at = armed(member)
        if at is not None and at < due:
            due = at
    return due


def _search_due(member: GroupMember) -> float | None:
    coordinator = member.coordinator
    return coordinator.search_at if coordinator.state is CoordinatorState.WAITING else None


def _heartbeat_due(member: GroupMember) -> float | None:
    sends = member.identity.generation is not None
    idle = member.heartbeat is None and member.coordinator.node_id is not None
    return member.heartbeat_at if sends and idle else None


def _lease_over(member: GroupMember) -> float | None:
    return member.lease.limit() if member.holdings.states else None


def _close_limit(member: GroupMember) -> float | None:
    closing = member.wishes.closing
    if closing is None:
        return None
    return closing.leave_by if member.state is MemberState.LEAVING else closing.release_by


def _release_limit(member: GroupMember) -> float | None:
    return member.round.release_until if member.wishes.closing is None else None


def _hand_over_limit(member: GroupMember) -> float | None:
    if member.round.hand_over is None:
        return None
    pause, limit = member.round.hand_over
    return limit if pause is None else pause


Armed: TypeAlias = Callable[[GroupMember], float | None]

_ARMED: Mapping[Trigger, Armed] = MappingProxyType(
    {
        Trigger.HEARTBEAT_DUE: _heartbeat_due,
        Trigger.LEASE_EXPIRED: _lease_over,
        Trigger.POLL_EXPIRED: lambda member: (
            member.wishes.polled_at + member.settings.poll_interval
        ),
        Trigger.BACKOFF_OVER: lambda member: member.round.retry_at,
        Trigger.DRAIN_LIMIT: lambda member: member.round.drain_until,
        Trigger.REJOIN_DUE: lambda member: member.lead.rejoin_at,
        Trigger.CLOSE_LIMIT: _close_limit,
        Trigger.RELEASE_LIMIT: _release_limit,
        Trigger.HAND_OVER_LIMIT: _hand_over_limit,
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
        case Trigger.REJOIN_DUE:
            return Cause.REJOIN_DUE
        case _:
            return cause


# -- guards ----------------------------------------------------------------------------------------
#
# What the guards of the rows ask of a member.
#
# Decides: whether each guard holds at an instant; of each family exactly one does.
# Never: changes the member.


def holds(member: GroupMember, guard: Guard, now: float) -> bool:
    """Tell whether a guard holds at an instant."""
    return _ASKED[guard](member, now)


def _closing(member: GroupMember) -> bool:
    return member.wishes.closing is not None


def _static(member: GroupMember) -> bool:
    return member.settings.group_instance_id is not None


def _resumes(member: GroupMember) -> bool:
    return member.lease.lapsed and bool(member.holdings.states)


def _may_join(member: GroupMember) -> bool:
    return not member.still_revoking() and not _resumes(member)


def _hands_over(member: GroupMember) -> bool:
    given = member.holdings.having(HoldingState.DRAINING, HoldingState.REVOKING)
    return member.round.hand_over is not None and bool(given)


def _wants_join(member: GroupMember) -> bool:
    return not _closing(member) and member.wishes.topics is not None


_ASKED: Mapping[Guard, Callable[[GroupMember, float], bool]] = MappingProxyType(
    {
        Guard.HANDS_BACK: lambda member, _: bool(member.must_hand_back()),
        Guard.HANDS_NOTHING: lambda member, _: not member.must_hand_back(),
        Guard.HANDING_OVER: lambda member, _: not member.must_hand_back() and _hands_over(member),
        Guard.REJOINS: lambda member, _: not member.must_hand_back() and not _hands_over(member),
        Guard.DYNAMIC: lambda member, _: not _static(member),
        Guard.STATIC: lambda member, _: _static(member),
        Guard.CLOSING: lambda member, _: _closing(member),
        Guard.NOT_CLOSING: lambda member, _: not _closing(member),
        Guard.WANTS_JOIN: lambda member, _: _wants_join(member),
        Guard.WANTS_NOTHING: lambda member, _: not _closing(member) and not _wants_join(member),
        Guard.IN_PACE: lambda member, now: now >= member.join_due_at(),
        Guard.OUT_OF_PACE: lambda member, now: now < member.join_due_at(),
        Guard.STILL_REVOKING: lambda member, _: (
            bool(member.still_revoking()) and not _resumes(member)
        ),
        Guard.JOINS_NOW: lambda member, now: _may_join(member) and now >= member.join_due_at(),
        Guard.JOINS_LATER: lambda member, now: _may_join(member) and now < member.join_due_at(),
        Guard.LAPSES: lambda member, _: member.settings.outlives_lease,
        Guard.ENDS: lambda member, _: not member.settings.outlives_lease,
        Guard.RESUMES: lambda member, _: _resumes(member),
    }
)
"""Complete: the coverage theorem has every guard in a family, and every family in a row."""
