"""One step of a member of a KIP-848 group: `step(member, event, moment) -> Step`.

Decides: nothing itself: it finds the row for each trigger and carries its actions out, timers
first, then the event, then what the actions raised, until nothing is left.
Never: awaits, reads a clock, draws chance. The same arguments give the same result.
"""

from typing import Final, assert_never

from kgroup.consumer_group import reconciling, requests, translate
from kgroup.consumer_group.actions import act, enter_state
from kgroup.consumer_group.events import (
    Answered,
    CoordinatorFound,
    Disconnect,
    Effect,
    Event,
    LookForTopics,
    Note,
    RequestFailed,
    Send,
    TopicsNamed,
)
from kgroup.consumer_group.rows import ROWS
from kgroup.consumer_group.states import possible
from kgroup.consumer_group.timers import holds, next_deadline, timer_cause, timers
from kgroup.consumer_group.triggers import Trigger
from kgroup.consumer_group.turn import MemberRow, Turn
from kgroup.consumer_group.value import ConsumerGroupMember
from kgroup.errors import LocalProtocolError
from kgroup.frozen import replace
from kgroup.machine.coordinator import (
    COORDINATOR_ROWS,
    CoordinatorAction,
    CoordinatorTrigger,
)
from kgroup.machine.wishes import (
    CloseRequested,
    CommitRejected,
    Drained,
    Errand,
    ListenerDone,
    Moment,
    Polled,
    Subscribed,
    Tick,
    Unsubscribed,
)
from kgroup.types import Cause, MemberState
from kgroup.values import dataclass

__all__ = ["MemberRow", "Step", "next_deadline", "step"]

_MOST_ROWS: Final = 64


@dataclass(frozen=True, slots=True)
class Step:
    """The result of one step.

    Args:
        member: the next value.
        effects: what is to be carried out, in order.
        rows: the rows that fired, in order.
        ignored: triggers that were raised in a state that has no row for them, in order.
    """

    member: ConsumerGroupMember
    effects: tuple[Effect, ...]
    rows: tuple[MemberRow, ...]
    ignored: tuple[tuple[MemberState, Trigger], ...] = ()


def step(member: ConsumerGroupMember, event: Event, moment: Moment) -> Step:
    """Return the member after `event` happened at `moment`.

    Args:
        member: the present value.
        event: what happened.
        moment: when; never earlier than that of the step before.

    Raises:
        LocalProtocolError: the table has no row for something that happened: our bug.
    """
    turn = Turn(member, moment)
    _run_due(turn)
    _settle(turn, _hear(turn, event))
    return Step(turn.member, _still_wanted(turn), tuple(turn.fired), turn.ignored)


def _still_wanted(turn: Turn) -> tuple[Effect, ...]:
    """Leave out heartbeats that were given up within the step: one is in flight at a time.

    1. A process stands still, and wakes; 2. its lease is over, and it joins; 3. it was not polled
    for as long, so it is out of the group at once. Its join must not go out after all.
    """
    return tuple(
        each
        for each in turn.effects
        if not isinstance(each, Send)
        or each.ticket.errand is not Errand.CONSUMER_GROUP_HEARTBEAT
        or each.ticket == turn.member.heartbeat
        or _is_farewell(each)
    )


def _is_farewell(effect: Send) -> bool:
    return getattr(effect.request, "member_epoch", 0) < 0


# -- timers --------------------------------------------------------------------------------


def _run_due(turn: Turn) -> None:
    """Fire what is overdue, earliest first: an expired lease ends before a late answer helps."""
    for _ in range(_MOST_ROWS):
        if next_deadline(turn.member) > turn.now:
            return  # as nearly always
        due = [(at, timer.value, timer) for timer, at in timers(turn.member) if at <= turn.now]
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
            return _tell_unnamed(turn, translate.hear_answer(turn, event))
        case Polled():
            turn.put(wishes=replace(turn.member.wishes, polled_at=turn.now))
            dormant = turn.member.state is MemberState.DORMANT
            return Trigger.POLL_RESUMED if dormant else None
        case Subscribed() | Unsubscribed() | CloseRequested():
            return _wish(turn, event)
        case TopicsNamed():
            lacked = turn.member.unnamed()
            turn.put(names=event.names)
            named = bool(lacked - turn.member.unnamed())
            waits = turn.member.state is MemberState.RECONCILING
            return Trigger.TOPICS_NAMED if named and waits else None
        case Drained():
            reconciling.hear_drained(turn, event)
            return None
        case ListenerDone():
            reconciling.hear_listener(turn, event)
            return None
        case CommitRejected():
            return translate.hear_commit(turn, event)
        case CoordinatorFound():
            return translate.hear_coordinator(turn, event)
        case RequestFailed():
            return translate.hear_failure(turn, event)
        case _:
            assert_never(event)


def _wish(turn: Turn, event: Subscribed | Unsubscribed | CloseRequested) -> Trigger | None:
    wishes = turn.member.wishes
    match event:
        case Subscribed():
            if (event.topics, event.pattern) == (wishes.topics, wishes.pattern or None):
                return None
            turn.cause = Cause.SUBSCRIBED if wishes.topics is None else Cause.TOPICS_CHANGED
            polled_at = turn.now if wishes.topics is None else wishes.polled_at
            pattern = event.pattern or (None if wishes.pattern is None else "")
            asked = replace(wishes, topics=event.topics, pattern=pattern)
            turn.put(wishes=replace(asked, polled_at=polled_at))
            return Trigger.SUBSCRIBED
        case Unsubscribed():
            turn.cause = Cause.UNSUBSCRIBED
            turn.put(wishes=replace(wishes, topics=None, pattern=None), trouble=None)
            return Trigger.UNSUBSCRIBED
        case CloseRequested():
            turn.cause = Cause.CLOSING
            turn.put(wishes=replace(wishes, closing=event))
            return Trigger.CLOSE_REQUESTED
        case _:
            assert_never(event)


def _tell_unnamed(turn: Turn, trigger: Trigger | None) -> Trigger | None:
    """Tell of topics that have had no name for longer than a heartbeat; look for them again."""
    since = turn.member.pace.unnamed_since
    if since is not None and turn.now - since > turn.member.interval:
        ids = ", ".join(sorted(each.hex() for each in turn.member.unnamed()))
        turn.tell_once(Note.TOPICS_UNNAMED, f"topic ids {ids}")
        turn.effects.append(LookForTopics())
    return trigger


# -- rows ----------------------------------------------------------------------------------


def _settle(turn: Turn, trigger: Trigger | None) -> None:
    """Fire rows until nothing is raised any more; coordinator knowledge first."""
    pending = [] if trigger is None else [trigger]
    for _ in range(_MOST_ROWS):
        if turn.asked:
            _move_coordinator(turn, turn.asked.pop(0))
        elif pending:
            _fire(turn, pending.pop(0))
        elif turn.raised:
            _fire(turn, turn.raised.pop(0))
        else:
            return
    raise LocalProtocolError(f"{turn.member.state.name}: rows fire without end")


def _fire(turn: Turn, trigger: Trigger) -> None:
    member = turn.member
    if trigger not in possible(member.state):
        # 1. an answer is awaited; 2. a timer due in the same step moved the state; 3. the answer
        # means nothing any more. Nor does what an action raised for a state that another trigger
        # has moved away from.
        turn.ignored = (*turn.ignored, (member.state, trigger))
        return
    row = ROWS.find(member.state, trigger, lambda guard: holds(member, guard, turn.now))
    turn.fired.append(row)
    if row.to is not row.at:
        enter_state(turn, row.to)
    for action in row.do:
        act(turn, action)


def _move_coordinator(turn: Turn, trigger: CoordinatorTrigger) -> None:
    before = turn.member.coordinator
    if not COORDINATOR_ROWS.cell(before.state, trigger):
        return
    row = COORDINATOR_ROWS.find(before.state, trigger, lambda _: True)
    turn.put(coordinator=replace(before, state=row.to))
    for action in row.do:
        _act_on_coordinator(turn, action)


def _act_on_coordinator(turn: Turn, action: CoordinatorAction) -> None:
    coordinator = turn.member.coordinator
    match action:
        case CoordinatorAction.SEND_FIND:
            ticket = turn.draw(Errand.FIND_COORDINATOR)
            # Once: a member that has joined must not wait for it with its next heartbeat.
            unknown = turn.member.settings.session_timeout is None
            look = unknown and not turn.member.session_told
            request = requests.find_coordinator(turn.member)
            timeout = turn.member.heartbeat_timeout
            turn.effects.append(Send(ticket, request, None, timeout, look))
            turn.put(coordinator=replace(coordinator, ticket=ticket))
        case CoordinatorAction.TAKE_NODE:
            # The session may be close to its end: ask for a heartbeat at once.
            turn.put(heartbeat_at=min(turn.member.heartbeat_at, turn.now))
        case CoordinatorAction.DROP_NODE:
            assert coordinator.node_id is not None
            turn.effects.append(Disconnect(coordinator.node_id))
            turn.put(coordinator=replace(coordinator, node_id=None), heartbeat=None)
            turn.say_everything()
            turn.raised.append(Trigger.COORDINATOR_LOST)
        case CoordinatorAction.WAIT:
            attempts = coordinator.attempts + 1
            search_at = turn.now + turn.backoff(attempts)
            turn.put(coordinator=replace(coordinator, attempts=attempts, search_at=search_at))
        case CoordinatorAction.WAIT_LONGEST:
            search_at = turn.now + turn.longest_backoff()
            turn.put(coordinator=replace(coordinator, search_at=search_at))
        case CoordinatorAction.ANNOUNCE:
            turn.raised.append(Trigger.COORDINATOR_READY)
        case _:
            assert_never(action)
