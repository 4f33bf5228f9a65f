"""One step of a Marshal member: `step(member, event, moment) -> Step`.

Decides: the order of things in a step: what is overdue, then the event, then what follows from
both: ownership, commits, the plan, the end.
Never: awaits, reads a clock, draws chance. The same arguments give the same result.
"""

import math
from types import MappingProxyType
from typing import Final, assert_never

from kgroup.errors import LocalProtocolError
from kgroup.frozen import replace
from kgroup.machine.claims import HoldingState, HoldingTrigger
from kgroup.machine.wishes import (
    CloseRequested,
    Done,
    Drained,
    ListenerDone,
    Moment,
    Polled,
    Subscribed,
    Tick,
    Unsubscribed,
)
from kgroup.marshal.admission import AdmissionStage, AdmissionTrigger
from kgroup.marshal.admitting import ask, end_admission, move, send_commits
from kgroup.marshal.committing import answer_commits, hear_commit_request, refuse_all
from kgroup.marshal.events import (
    AdmitRequested,
    AppendFailed,
    Assigned,
    CommitRequested,
    CountsChanged,
    Effect,
    Event,
    LogLost,
    LogOpened,
    LogRead,
    Note,
    OffsetsCommitted,
    PositionFailed,
    PositionFound,
    Tell,
)
from kgroup.marshal.handing_back import cut_drains, give_up, hear_drained, hear_listener
from kgroup.marshal.hearing import (
    hear_append_failed,
    hear_commit,
    hear_log_lost,
    hear_log_opened,
    hear_log_read,
    hear_position,
)
from kgroup.marshal.key_actions import fire
from kgroup.marshal.key_rows import KeyPhase, KeyTrigger
from kgroup.marshal.key_state import KeyLife, timers_of
from kgroup.marshal.member import MarshalMember
from kgroup.marshal.messages import Kind
from kgroup.marshal.plan import plan
from kgroup.marshal.showing import presence_due, show_presence
from kgroup.marshal.turn import KeyRow, Turn
from kgroup.types import Cause, ChangeKind, Claim, TopicPartition
from kgroup.values import dataclass

_MOST_ROUNDS: Final = 64


@dataclass(frozen=True, slots=True)
class Step:
    """The result of one step.

    Args:
        member: the next value.
        effects: what is to be carried out, in order.
        rows: which row of which key fired, in order.
    """

    member: MarshalMember
    effects: tuple[Effect, ...]
    rows: tuple[tuple[TopicPartition, KeyRow], ...]


def step(member: MarshalMember, event: Event, moment: Moment) -> Step:
    """Return the member after `event` happened at `moment`.

    Args:
        member: the present value.
        event: what happened.
        moment: when; never earlier than that of the step before.

    Raises:
        LocalProtocolError: the table has no row for something that happened: our bug.
    """
    turn = Turn(member, moment)
    if not member.left:
        _run_due(turn)
        _hear(turn, event)
        _conclude(turn)
        _run_due(turn)
        _end(turn)
    elif isinstance(event, AdmitRequested):
        ask(turn, event)
    elif isinstance(event, CommitRequested):
        hear_commit_request(turn, event)
        refuse_all(turn)
    return Step(turn.member, tuple(turn.effects), tuple(turn.fired))


def next_deadline(member: MarshalMember) -> float:
    """Return the instant at which a `Tick` is due, infinity when nothing runs."""
    if member.left:
        return math.inf
    keys, presence = member.key_due, presence_due(member)
    return min(keys, member.plan_at, presence, _poll_limit(member), _close_at(member))


# -- timers --------------------------------------------------------------------------------


def _run_due(turn: Turn) -> None:
    """Fire what is overdue: an expired claim ends before any late answer."""
    for _ in range(_MOST_ROUNDS):
        if next_deadline(turn.member) > turn.now:
            return
        for life in [one for one in turn.member.lives.values() if one.due <= turn.now]:
            _run_key(turn, life)
        # 1. A process stands still; 2. it wakes, and its claims have expired, and all other timers
        # are due. The listener is not asked to give up what is lost already.
        _take_losses(turn)
        if _poll_limit(turn.member) <= turn.now:
            _fall_asleep(turn)
        if _close_at(turn.member) <= turn.now:
            _stop_waiting(turn)
        turn.replan = turn.replan or turn.member.plan_at <= turn.now
        _conclude(turn)
        if turn.member.left:
            return
    raise LocalProtocolError(f"{turn.member.state.name}: timers fire without end")


def _run_key(turn: Turn, life: KeyLife) -> None:
    # The end of the claim comes first, however long the others are due: nothing is written after.
    timer = next((timer for timer, at in timers_of(life) if at <= turn.now), None)
    cut = life.drain_until is not None and life.drain_until <= turn.now
    if cut and life.claim is not None and timer is not KeyTrigger.EXPIRED:
        cut_drains(turn, (life.claim,))
        return
    if timer is None:
        _run_batch(turn, life)
        return
    if timer is KeyTrigger.EXPIRED:
        turn.cause = Cause.SESSION_EXPIRED
    if timer is KeyTrigger.WRITE_LIMIT:
        probe = life.write is not None and life.write.kind is Kind.CLAIMING_MESSAGES
        if life.phase is KeyPhase.CLAIMING and not life.failures:
            turn.effects.append(Tell(Note.CLAIM_UNCONFIRMED, str(life.tp)))
        life = replace(life, write=None)
        turn.put(move(turn, life, AdmissionTrigger.FAILED) if probe else life)
        if probe:
            return
    fire(turn, life.tp, timer)


def _run_batch(turn: Turn, life: KeyLife) -> None:
    batch = life.admission
    if batch is not None and batch.stage is AdmissionStage.WAITING and life.write is None:
        turn.put(move(turn, life, AdmissionTrigger.TURN))


def _poll_limit(member: MarshalMember) -> float:
    wishes = member.wishes
    if member.dormant or wishes.closing is not None or not wishes.wants_anything:
        return math.inf
    return wishes.polled_at + member.settings.rebalance_timeout


def _fall_asleep(turn: Turn) -> None:
    """Give everything up: the application does not read, so others should."""
    turn.member = replace(turn.member, dormant=True)
    plan(turn)
    cut_drains(turn, turn.member.holdings.having(HoldingState.DRAINING))


def _close_at(member: MarshalMember) -> float:
    closing = member.wishes.closing
    if closing is None:
        return math.inf
    return closing.release_by if member.holdings else closing.leave_by


def _stop_waiting(turn: Turn) -> None:
    """Go on without the listener; at the very end, without an answer."""
    closing = turn.member.wishes.closing
    assert closing is not None
    turn.replan = True
    cut_drains(turn, turn.member.holdings.having(HoldingState.DRAINING))
    give_up(turn, turn.member.holdings.having(HoldingState.REVOKING))
    if turn.now >= closing.leave_by:
        _leave(turn)


# -- events --------------------------------------------------------------------------------


def _hear(turn: Turn, event: Event) -> None:  # noqa: C901 - one arm per event
    match event:
        case Tick():
            pass
        case LogRead():
            hear_log_read(turn, event)
        case Polled() | Subscribed() | Assigned() | Unsubscribed() | CloseRequested():
            _wish(turn, event)
        case CommitRequested():
            hear_commit_request(turn, event)
        case AdmitRequested():
            ask(turn, event)
        case OffsetsCommitted():
            hear_commit(turn, event)
        case Drained():
            hear_drained(turn, event)
        case ListenerDone():
            hear_listener(turn, event)
        case PositionFound() | PositionFailed():
            hear_position(turn, event)
        case AppendFailed():
            hear_append_failed(turn, event)
        case LogOpened():
            hear_log_opened(turn, event)
        case LogLost():
            hear_log_lost(turn, event)
        case CountsChanged():
            turn.replan = turn.replan or event.counts != turn.member.counts
            turn.member = replace(turn.member, counts=MappingProxyType(dict(event.counts)))
        case _:
            assert_never(event)


def _wish(
    turn: Turn, event: Polled | Subscribed | Assigned | Unsubscribed | CloseRequested
) -> None:
    wishes = turn.member.wishes
    match event:
        case Polled():
            turn.replan = turn.replan or turn.member.dormant
            turn.member = replace(turn.member, dormant=False)
            wishes = replace(wishes, polled_at=turn.now)
        case Subscribed():
            polled_at = wishes.polled_at if wishes.wants_anything else turn.now
            wishes = replace(wishes, topics=event.topics, partitions=None, polled_at=polled_at)
        case Assigned():
            polled_at = wishes.polled_at if wishes.wants_anything else turn.now
            wishes = replace(wishes, topics=None, partitions=event.partitions, polled_at=polled_at)
        case Unsubscribed():
            wishes = replace(wishes, topics=None, partitions=None)
        case CloseRequested():
            wishes = replace(wishes, closing=wishes.closing or event)
        case _:
            assert_never(event)
    if not isinstance(event, Polled):
        turn.replan = True
        turn.member = replace(turn.member, trouble=None)
    turn.member = replace(turn.member, wishes=wishes)


# -- what follows --------------------------------------------------------------------------


def _conclude(turn: Turn) -> None:
    """Draw the consequences of what fired; the plan may make more fire."""
    _take_losses(turn)
    _take_gains(turn)
    answer_commits(turn)
    turn.keep_lives()
    if turn.replan:
        plan(turn)
    send_commits(turn)
    turn.keep_lives()
    show_presence(turn)
    turn.proved.clear()


def _take_losses(turn: Turn) -> None:
    if not turn.lost:
        return
    member, lost = turn.member, tuple(sorted(turn.lost, key=lambda claim: claim.tp))
    turn.lost.clear()
    states = member.holdings.states
    ended = tuple(c for c in lost if states.get(c) in (HoldingState.HELD, HoldingState.DRAINING))
    turn.put_holdings(member.holdings.after(HoldingTrigger.LOST, lost))
    if ended:
        turn.call_listener(ChangeKind.LOST, removed=ended)
    if member.settings.whole_topics:
        topics = frozenset(claim.tp.topic for claim in lost)
        turn.member = replace(turn.member, forfeited=turn.member.forfeited | topics)
    turn.replan = True


def _take_gains(turn: Turn) -> None:
    # 1. A first heartbeat is read back; 2. the same reading has the claim of another member that
    # took the key since. A claim lost before the listener heard of it was never owned.
    gained = [tp for tp in turn.gained if turn.life(tp).phase is KeyPhase.OWNED]
    turn.gained.clear()
    if not gained:
        return
    holdings, added = turn.member.holdings.acquire(gained)
    turn.put_holdings(holdings)
    for claim in added:
        turn.put(replace(turn.life(claim.tp), claim=claim))
    turn.member = replace(turn.member, rounds=turn.member.rounds + 1)
    turn.cause = Cause.CLAIMED
    turn.call_listener(ChangeKind.ASSIGNED, added=_in_order(added))
    turn.replan = True


def _in_order(claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    return tuple(sorted(claims, key=lambda claim: claim.tp))


def _end(turn: Turn) -> None:
    """End when everything is given back, and what was said on the way out has been answered."""
    member = turn.member
    if member.wishes.closing is None or member.left or member.holdings or member.offset_commits:
        return
    if all(life.is_idle for life in member.lives.values()):
        _leave(turn)


def _leave(turn: Turn) -> None:
    holdings = turn.member.holdings.after(HoldingTrigger.LOST, turn.member.holdings.claims)
    turn.member = replace(turn.member, left=True, holdings=holdings)
    for life in turn.member.lives.values():
        end_admission(turn, turn.life(life.tp))
    refuse_all(turn)
    turn.effects.append(Done())
