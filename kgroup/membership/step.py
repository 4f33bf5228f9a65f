"""One step of a classic member: `step(member, event, moment) -> Step`.

Decides: nothing itself: it finds the row for each trigger and carries its actions out, timers
first, then the event, then what the actions raised, until nothing is left. Only an answer that
disowns the member, and one that was there before a timer was due, come before the timers.
Never: awaits, reads a clock, draws chance. The same arguments give the same result.
"""

from typing import assert_never

from kgroup.errors import LocalProtocolError
from kgroup.frozen import replace
from kgroup.machine.claims import HoldingState, HoldingTrigger
from kgroup.machine.coordinator import (
    COORDINATOR_ROWS,
    CoordinatorAction,
    CoordinatorTrigger,
)
from kgroup.machine.rows import Row
from kgroup.machine.wishes import Errand
from kgroup.membership import requests, translate
from kgroup.membership.actions import act, leave_state
from kgroup.membership.ending_rows import ROWS
from kgroup.membership.events import (
    Answered,
    AssignorDone,
    AssignorFailed,
    CloseRequested,
    CommitRejected,
    CoordinatorFound,
    Disconnect,
    Drained,
    Effect,
    EnforceRebalance,
    Event,
    ListenerDone,
    MetadataChanged,
    Moment,
    Polled,
    RequestFailed,
    SecondHeard,
    Send,
    Subscribed,
    Tick,
    Unsubscribed,
)
from kgroup.membership.refusals import disowns
from kgroup.membership.returning import owe_unheard
from kgroup.membership.second import renewed
from kgroup.membership.states import possible
from kgroup.membership.timers import holds, next_deadline, timer_cause, timers
from kgroup.membership.triggers import Action, Guard, Trigger
from kgroup.membership.turn import Turn
from kgroup.membership.value import Closing, GroupMember
from kgroup.membership.waiting import tell_group
from kgroup.types import Cause, ChangeKind, MemberState
from kgroup.values import dataclass

__all__ = ["MemberRow", "Step", "next_deadline", "step"]

MemberRow = Row[MemberState, Trigger, Guard, Action]

_MOST_ROWS = 64


@dataclass(frozen=True, slots=True)
class Step:
    """The result of one step.

    Args:
        member: the next value.
        effects: what is to be carried out, in order.
        rows: the rows that fired, in order.
        ignored: triggers that were raised in a state that has no row for them, in order.
    """

    member: GroupMember
    effects: tuple[Effect, ...]
    rows: tuple[MemberRow, ...]
    ignored: tuple[tuple[MemberState, Trigger], ...] = ()


def step(member: GroupMember, event: Event, moment: Moment) -> Step:
    """Return the member after `event` happened at `moment`.

    Args:
        member: the present value.
        event: what happened.
        moment: when; never earlier than that of the step before.

    Raises:
        LocalProtocolError: the table has no row for something that happened: our bug.
    """
    turn = Turn(member, moment)
    if next_deadline(member) > turn.now:  # as nearly always
        _settle(turn, _hear(turn, event))
    elif isinstance(event, SecondHeard) or disowns(member, event):
        # 1. The loop is blocked, and a thread renews the session; 2. the loop wakes, and its timers
        # are overdue: what the thread heard in time comes first, or the lease would end.
        # 1. A process stands still, and is given up meanwhile; 2. it wakes beyond its lease, and
        # the first thing it hears is that nobody knows its id, or that another has its place. The
        # lease says less: it would have the member join under that id, and the answer would come
        # too late to mean anything.
        _settle(turn, _hear(turn, event))
        _run_due(turn)
    else:
        _run_due(turn)
        _settle(turn, _hear(turn, event))
    return Step(turn.member, _still_wanted(turn), tuple(turn.fired), turn.ignored)


_AWAITED = frozenset({Errand.JOIN_GROUP, Errand.SYNC_GROUP, Errand.HEARTBEAT})


def _still_wanted(turn: Turn) -> tuple[Effect, ...]:
    """Leave out what was asked for and given up within the step.

    1. A process stands still, and wakes; 2. its lease is over, and it joins; 3. it was not polled
    for as long, so it is out of the group at once. A JoinGroup that went out after all would have
    the group wait for a member that does not come, and a heartbeat would keep its place.
    1. A heartbeat is due while SyncGroup is out; 2. the answer to that is heard in the same step,
    and asks for one of its own: two would be in flight.
    """
    awaited = (turn.member.round.ticket, turn.member.heartbeat)
    return tuple(
        each
        for each in turn.effects
        if not isinstance(each, Send)
        or each.ticket.errand not in _AWAITED
        or each.ticket in awaited
    )


# -- timers --------------------------------------------------------------------------------


def _run_due(turn: Turn) -> None:
    """Fire what is overdue, earliest first: an expired lease ends before a late answer helps."""
    for _ in range(_MOST_ROWS):
        if next_deadline(turn.member) > turn.now:
            return  # as nearly always
        due = [(at, timer.value, timer) for timer, at in timers(turn.member) if at <= turn.now]
        if not due:
            return
        timer = min(due)[2]
        if isinstance(timer, CoordinatorTrigger):
            turn.asked.append(timer)
            _settle(turn, None)
        else:
            turn.cause = timer_cause(timer, turn.cause)
            _settle(turn, timer)
    raise LocalProtocolError(f"{turn.member.state.name}: timers fire without end")


# -- events --------------------------------------------------------------------------------


def _hear(turn: Turn, event: Event) -> Trigger | None:  # noqa: C901 - one arm per event
    match event:  # what happens most often first
        case Tick():
            return None
        case Answered():
            return translate.hear_answer(turn, event)
        case Polled():
            turn.put_wishes(replace(turn.member.wishes, polled_at=turn.now))
            dormant = turn.member.state is MemberState.DORMANT
            return Trigger.POLL_RESUMED if dormant else None
        case Subscribed() | Unsubscribed() | CloseRequested() | EnforceRebalance():
            return _wish(turn, event)
        case MetadataChanged():
            turn.member = replace(turn.member, counts=event.counts, places=event.places)
            turn.cause = Cause.TOPICS_CHANGED
            unheard = owe_unheard(turn)
            return Trigger.TOPICS_CHANGED if unheard or turn.member.recounted() else None
        case Drained():
            _drained(turn, event)
            return None
        case ListenerDone():
            _listener_done(turn, event)
            return None
        case CommitRejected():
            return translate.hear_commit(turn, event)
        case SecondHeard():
            turn.put_lease(renewed(turn.member, event.beats))
            return None
        case CoordinatorFound():
            return translate.hear_coordinator(turn, event)
        case RequestFailed():
            return translate.hear_failure(turn, event)
        case AssignorDone() | AssignorFailed():
            return translate.hear_assignor(turn, event)
        case _:
            assert_never(event)


def _wish(
    turn: Turn, event: Subscribed | Unsubscribed | CloseRequested | EnforceRebalance
) -> Trigger | None:
    wishes = turn.member.wishes
    match event:
        case Subscribed():
            if event.topics == wishes.topics:
                return None
            turn.cause = Cause.SUBSCRIBED if wishes.topics is None else Cause.TOPICS_CHANGED
            polled_at = turn.now if wishes.topics is None else wishes.polled_at
            turn.put_wishes(replace(wishes, topics=event.topics, polled_at=polled_at))
            return Trigger.SUBSCRIBED
        case Unsubscribed():
            turn.cause = Cause.UNSUBSCRIBED
            turn.put_wishes(replace(wishes, topics=None, enforced=None))
            lead = replace(turn.member.lead, failure=None, failing_since=None)
            turn.member = replace(turn.member, trouble=None, lead=lead, memory=None)
            return Trigger.UNSUBSCRIBED
        case CloseRequested():
            turn.cause = Cause.CLOSING
            closing = Closing(event.mode, event.reason, event.release_by, event.leave_by)
            turn.put_wishes(replace(wishes, closing=closing))
            return Trigger.CLOSE_REQUESTED
        case EnforceRebalance():
            turn.cause = Cause.ENFORCED
            turn.put_wishes(replace(wishes, enforced=event.reason or Cause.ENFORCED.value))
            return Trigger.REBALANCE_ENFORCED
        case _:
            assert_never(event)


def _drained(turn: Turn, event: Drained) -> None:
    member = turn.member
    draining = member.holdings.having(HoldingState.DRAINING)
    drained = frozenset(event.claims)  # thousands, when a member has given up half of much
    ready = tuple(claim for claim in draining if claim in drained)
    if member.eager and len(ready) < len(draining):
        # Eager hands everything back in one call; what is still in hand holds the rest up.
        return
    if ready:
        turn.put_holdings(member.holdings.after(HoldingTrigger.DRAINED, ready))
        turn.cause = member.release_cause(ready)
        turn.call_listener(ChangeKind.REVOKED, removed=ready)


def _listener_done(turn: Turn, event: ListenerDone) -> None:
    member = turn.member
    done = tuple(change for change in member.changes if change.serial == event.serial)
    if not done:
        return
    turn.member = replace(
        member, changes=tuple(change for change in member.changes if change not in done)
    )
    if done[0].kind is not ChangeKind.REVOKED:
        return
    turn.put_holdings(member.holdings.after(HoldingTrigger.REVOKED, done[0].removed))
    if turn.member.state is MemberState.STABLE:
        _take_back(turn)
    tell_group(turn)


def _take_back(turn: Turn) -> None:
    """Acquire anew what the assignment gave back while it was being revoked.

    1. p drains; 2. on_revoked(p) runs; 3. a round still claims p, and the leader gives p back;
    4. on_revoked returns: p is ours, in a new period of ownership.
    """
    member = turn.member
    holdings, added = member.holdings.acquire(member.round.assigned)
    if added:
        turn.put_holdings(holdings)
        turn.cause = Cause.ASSIGNED
        turn.call_listener(ChangeKind.ASSIGNED, added=added)


# -- rows ----------------------------------------------------------------------------------


def _settle(turn: Turn, trigger: Trigger | None) -> None:
    """Fire rows until nothing is raised any more; coordinator knowledge first."""
    if trigger is None and not turn.asked and not turn.raised:
        return
    pending = [] if trigger is None else [trigger]
    for _ in range(_MOST_ROWS):
        if turn.asked:
            _move_coordinator(turn, turn.asked.pop(0))
            continue
        if pending:
            _fire(turn, pending.pop(0), replied=True)
            continue
        if not turn.raised:
            return
        _fire(turn, turn.raised.pop(0), replied=False)
    raise LocalProtocolError(f"{turn.member.state.name}: rows fire without end")


_BY_REPLY = frozenset(
    {
        Trigger.ELECTED,
        Trigger.ELECTED_UNASKED,
        Trigger.JOINED,
        Trigger.MEMBER_ID_GIVEN,
        Trigger.SYNCED,
        Trigger.ASSIGNMENT_UNREADABLE,
        Trigger.REJOIN_ASKED,
        Trigger.RETRY_LATER,
        Trigger.GENERATION_LOST_IN_ROUND,
        Trigger.MEMBER_LOST_IN_ROUND,
        Trigger.ROUND_NOT_PERMITTED,
    }
)


# A round that begins in one of these has a cause of its own; in others it goes on.
_SETTLED = frozenset(
    {
        MemberState.UNSUBSCRIBED,
        MemberState.STABLE,
        MemberState.ASSIGNING,
        MemberState.SYNCING,
        MemberState.DORMANT,
        MemberState.LEAVING,
    }
)


def _fire(turn: Turn, trigger: Trigger, *, replied: bool) -> None:
    member = turn.member
    if trigger not in possible(member.state):
        # 1. a reply is awaited; 2. a timer due in the same step moved the state; 3. the reply,
        # drawn for the state before, means nothing any more. Nor does what an action raised for
        # a state that another trigger has moved away from.
        turn.ignored = (*turn.ignored, (member.state, trigger))
        return
    row = ROWS.find(member.state, trigger, lambda guard: holds(member, guard, turn.now))
    turn.fired.append(row)
    if row.at in _SETTLED and row.to in (MemberState.FINDING, MemberState.PREPARING):
        turn.put_round(replace(turn.member.round, cause=turn.cause))
    if row.to is not row.at:
        replied = replied and trigger in _BY_REPLY
        if not replied:
            turn.give_up(member.round.ticket)
        leave_state(turn, replied=replied)
        turn.member = replace(turn.member, state=row.to)
    for action in row.do:
        act(turn, action)


def _move_coordinator(turn: Turn, trigger: CoordinatorTrigger) -> None:
    before = turn.member.coordinator
    if not COORDINATOR_ROWS.cell(before.state, trigger):
        return
    row = COORDINATOR_ROWS.find(before.state, trigger, lambda _: True)
    turn.put_coordinator(replace(before, state=row.to))
    for action in row.do:
        _act_on_coordinator(turn, action)


def _act_on_coordinator(turn: Turn, action: CoordinatorAction) -> None:
    coordinator = turn.member.coordinator
    match action:
        case CoordinatorAction.SEND_FIND:
            ticket = turn.draw(Errand.FIND_COORDINATOR)
            timeout = turn.member.settings.heartbeat_timeout
            request = requests.find_coordinator(turn.member)
            recall = turn.member.recalls()
            turn.effects.append(Send(ticket, request, None, timeout, recall))
            turn.put_coordinator(replace(coordinator, ticket=ticket))
        case CoordinatorAction.TAKE_NODE:
            # The session may be close to its end: ask for a heartbeat at once.
            turn.member = replace(turn.member, heartbeat_at=min(turn.member.heartbeat_at, turn.now))
        case CoordinatorAction.DROP_NODE:
            assert coordinator.node_id is not None
            turn.effects.append(Disconnect(coordinator.node_id, parked_only=False))
            turn.put_coordinator(replace(coordinator, node_id=None))
            turn.give_up(turn.member.heartbeat)
            turn.member = replace(turn.member, heartbeat=None)
            turn.raised.append(Trigger.COORDINATOR_LOST)
        case CoordinatorAction.WAIT:
            attempts = coordinator.attempts + 1
            pause = turn.backoff(attempts, turn.member.settings.retry_backoff_max)
            turn.put_coordinator(
                replace(coordinator, attempts=attempts, search_at=turn.now + pause)
            )
        case CoordinatorAction.WAIT_LONGEST:
            search_at = turn.now + turn.longest_backoff()
            turn.put_coordinator(replace(coordinator, search_at=search_at))
        case CoordinatorAction.ANNOUNCE:
            turn.raised.append(Trigger.COORDINATOR_READY)
        case _:
            assert_never(action)
