"""What the rows of the round do: one arm per action.

Decides: how each action changes the member and which effects it asks for.
Never: which action runs when; the rows say that.
KIPs: 345, 394, 429, 568, 800.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kgroup.errors import GroupError, KGroupError, UnauthorizedError
from kgroup.frozen import replace
from kgroup.machine.claims import HoldingState, HoldingTrigger
from kgroup.machine.coordinator import CoordinatorTrigger
from kgroup.machine.wishes import Errand
from kgroup.membership import leadership, requests
from kgroup.membership.events import Disconnect, Done, Note, Raise, Tell
from kgroup.membership.lapsing import is_resumed, lapse
from kgroup.membership.requests import memory_of
from kgroup.membership.returning import (
    asks_anew,
    claimed,
    let_go,
    look_again,
    owe_round,
    owe_unheard,
    unheard_topics,
    unsettled_by_loss,
)
from kgroup.membership.triggers import Action, Trigger
from kgroup.membership.turn import Turn
from kgroup.membership.value import GroupMember, Identity
from kgroup.membership.waiting import (
    await_listener,
    begin_handing_over,
    go_on_handing_over,
    stop_waiting,
    take_back_calls,
    tell_group,
    tell_unasked,
)
from kgroup.types import Cause, ChangeKind, Claim, Generation, Leave


def act(turn: Turn, action: Action) -> None:
    """Carry out one action."""
    _ARMS[action](turn)


def leave_state(turn: Turn, *, replied: bool) -> None:
    """Drop the awaited reply when a row leaves the state that awaits it.

    A parked request that is given up takes its connection with it: some are never answered.
    """
    member = turn.member
    ticket = member.round.ticket
    parked = ticket is not None and ticket.errand in (Errand.JOIN_GROUP, Errand.SYNC_GROUP)
    if parked and not replied and member.coordinator.node_id is not None:
        turn.effects.append(Disconnect(member.coordinator.node_id, parked_only=True))
    turn.put_round(replace(member.round, ticket=None))


# -- holdings ------------------------------------------------------------------------------


def _release(turn: Turn, claims: tuple[Claim, ...]) -> None:
    member = turn.member
    turn.put_holdings(member.holdings.after(HoldingTrigger.RELEASED, claims))
    if claims:
        limit = turn.now + member.settings.rebalance_timeout / 2
        turn.put_round(replace(turn.member.round, drain_until=limit))
    tell_group(turn)


def _release_all(turn: Turn) -> None:
    member = turn.member
    closing = member.wishes.closing is not None  # then it has a limit of its own
    limit = None if closing else turn.now + member.settings.rebalance_timeout
    turn.put_round(replace(member.round, release_until=limit))
    _release(turn, member.holdings.claims)


def _cut_drains(turn: Turn) -> None:
    draining = turn.member.holdings.having(HoldingState.DRAINING)
    turn.put_round(replace(turn.member.round, drain_until=None))
    if not draining:
        return
    names = ", ".join(str(claim.tp) for claim in draining)
    turn.effects.append(Tell(Note.DRAIN_CUT, names))
    turn.put_holdings(turn.member.holdings.after(HoldingTrigger.DRAINED, draining))
    turn.cause = turn.member.release_cause(draining)
    turn.call_listener(ChangeKind.REVOKED, removed=draining)


def _lose_all(turn: Turn) -> None:
    holdings = turn.member.holdings
    # Revoked or lost, never both: what on_revoked runs for hears of nothing else.
    revoking = frozenset(holdings.having(HoldingState.REVOKING)) - take_back_calls(turn)
    lost = tuple(claim for claim in holdings.claims if claim not in revoking)
    turn.put_holdings(holdings.after(HoldingTrigger.LOST, holdings.claims))
    if lost:
        turn.call_listener(ChangeKind.LOST, removed=lost)
    tell_group(turn)


# -- the round -----------------------------------------------------------------------------


def _send_join(turn: Turn) -> None:
    member = turn.member
    try:
        request = requests.join_group(member)
    except KGroupError as error:
        turn.cause = Cause.FAILED
        turn.error = error
        turn.raised.append(Trigger.SUBSCRIPTION_FAILED)
        return
    leadership.begin_round(turn)
    ticket = turn.draw(Errand.JOIN_GROUP)
    turn.send(ticket, request, member.settings.parked_timeout)
    turn.put_wishes(replace(member.wishes, enforced=None))
    turn.put_round(
        replace(
            member.round,
            ticket=ticket,
            joined_topics=member.wishes.topics or frozenset(),
            believed=frozenset() if member.eager else member.holdings.partitions,
            held_back=claimed(member),
            drain_until=None,
            release_until=None,
            returned=member.settings.group_instance_id is not None
            and member.identity.member_id is None,
            bare=member.identity.generation is None,
            introduced=True,
            paced_until=max(member.round.paced_until, turn.now) + member.settings.join_interval,
        )
    )


def _enter_generation(turn: Turn) -> None:
    joined = turn.joined
    assert joined is not None
    member = turn.member
    generation = Generation(
        group_id=member.settings.group_id,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        group_instance_id=member.settings.group_instance_id,
        protocol_name=joined.protocol_name,
    )
    turn.put_identity(Identity(member_id=joined.member_id, generation=generation))
    leadership.enter_as(turn, leader=turn.leads)
    # A heartbeat of the older generation may still be answered; its ticket is void now. The next
    # one stays due when it was: rounds that follow each other fast must not put it off for ever.
    was_due = member.heartbeat_at
    due = was_due if was_due > turn.now else turn.now + member.settings.heartbeat_interval
    turn.member = replace(
        turn.member,
        heartbeat=None,
        heartbeat_at=due,
        round=replace(
            turn.member.round,
            leader=turn.leads,
            watched=None,
            watched_places=MappingProxyType({}),
            watch=None,
            failing_since=None,
        ),
    )


def _send_sync(turn: Turn) -> None:
    member = turn.member
    if member.coordinator.node_id is None:
        # 1. the assignor runs; 2. a heartbeat finds the coordinator gone; 3. the result is here.
        turn.raised.append(Trigger.COORDINATOR_LOST)
        return
    ticket = turn.draw(Errand.SYNC_GROUP)
    done = turn.assignor
    if done is not None:
        leadership.offer(turn, done)
    request = requests.sync_group(member, () if done is None else done.assignments)
    turn.send(ticket, request, member.settings.parked_timeout)
    turn.put_round(replace(member.round, ticket=ticket))
    if done is not None:
        now = turn.member.round
        turn.put_round(replace(now, watched=done.watched, watched_places=done.places))


def _adopt(turn: Turn) -> None:
    resumed = is_resumed(turn.member)
    if not resumed:
        leadership.stand(turn)
    member = turn.member
    generation = member.identity.generation
    assert generation is not None
    assigned = turn.assigned
    wanted = member.wishes.topics or frozenset()
    usable = frozenset(tp for tp in assigned if tp.topic in wanted)
    kept = tuple(claim for claim in member.holdings.claims if claim.tp in usable)
    gone = tuple(claim for claim in member.holdings.claims if claim.tp not in usable)
    holdings = member.holdings.after(HoldingTrigger.RETURNED, kept)
    holdings = holdings.after(HoldingTrigger.RELEASED, gone)
    holdings, added = holdings.acquire(usable)
    turn.put_identity(replace(member.identity, synced=True))
    turn.put_holdings(holdings)
    believed_now = tell_unasked(turn)
    turn.put_round(
        replace(
            turn.member.round,
            assigned=usable,
            assigned_in=generation.generation_id,
            believed=turn.member.round.believed | believed_now,
            held_back=frozenset(),
            unsettled=False,
            completed=member.round.completed + (not resumed),
            attempts=0,
            unheard=member.round.unheard if resumed else unheard_topics(member, assigned),
            remembered=None,
        )
    )
    begin_handing_over(turn, gone)
    turn.member = replace(turn.member, memory=memory_of(generation.protocol_name, turn.user_data))
    if added or not resumed:
        turn.call_listener(ChangeKind.ASSIGNED, added=added)
    if not resumed and asks_anew(member, assigned):
        owe_round(turn)
    owe_unheard(turn)
    tell_group(turn)


def _send_heartbeat(turn: Turn) -> None:
    member = turn.member
    due = turn.now + member.settings.heartbeat_interval
    turn.member = replace(member, heartbeat_at=due)
    if member.coordinator.node_id is None or member.identity.generation is None:
        return
    ticket = turn.draw(Errand.HEARTBEAT)
    turn.send(ticket, requests.heartbeat(member), member.settings.heartbeat_timeout)
    turn.member = replace(turn.member, heartbeat=ticket)


def _beat_unless_out(turn: Turn) -> None:
    if turn.member.heartbeat is None:
        _send_heartbeat(turn)


def _forget(turn: Turn, identity: Identity) -> None:
    # What was claimed under an id that the coordinator does not know is held back for nobody.
    known = identity.member_id == turn.member.identity.member_id
    held_back = let_go(turn.member) if known else frozenset()
    unsettled = known and unsettled_by_loss(turn.member)
    leadership.forget_lead(turn)
    turn.put_identity(identity)
    turn.put_lease(turn.member.lease.ended())
    turn.member = replace(
        turn.member,
        heartbeat=None,
        round=replace(
            turn.member.round,
            leader=False,
            watched=None,
            watch=None,
            assigned=frozenset(),
            assigned_in=None,
            unheard=MappingProxyType({}),
            remembered=None,
            held_back=held_back,
            unsettled=unsettled,
        ),
    )


def _go(turn: Turn) -> None:
    held_back, unsettled = let_go(turn.member), turn.member.round.unsettled
    _forget(turn, Identity())
    turn.put_round(replace(turn.member.round, held_back=held_back, unsettled=unsettled))


# -- the end -------------------------------------------------------------------------------


def _leave(turn: Turn) -> None:
    closing = turn.member.wishes.closing
    mode = Leave.DEFAULT if closing is None else closing.mode
    static = turn.member.settings.group_instance_id is not None
    stays = mode is Leave.REMAIN or (mode is Leave.DEFAULT and static)
    if stays or _unnamed(turn.member):
        turn.raised.append(Trigger.LEAVE_ENDED)
    elif not _send_leave(turn, awaited=True):
        # A member that goes without a word is missed for a whole session.
        turn.asked.append(CoordinatorTrigger.NEEDED)


def _unnamed(member: GroupMember) -> bool:
    """Tell whether the member has no id to leave under.

    The coordinator would take its instance id alone, and remove the process that has the instance
    now: 1. A static member closes, and is to leave; 2. a heartbeat says that it is fenced, for
    another process has its place; 3. it has handed everything back: a LeaveGroup would remove the
    other process. A member without an id cannot rule that out, be it that it came back, that its
    id was unknown, or that its JoinGroup is not answered. What it may leave behind ends with its
    session; a wrong removal of another process that works does not heal so well.
    """
    return member.identity.member_id is None


def _send_leave(turn: Turn, *, awaited: bool) -> bool:
    member = turn.member
    if _unnamed(member) or member.coordinator.node_id is None:
        return False
    ticket = turn.draw(Errand.LEAVE_GROUP)
    turn.send(ticket, requests.leave_group(member, turn.cause), member.settings.request_timeout)
    if awaited:
        turn.put_round(replace(turn.member.round, ticket=ticket))
    return True


def _raise(turn: Turn) -> None:
    turn.effects.append(Raise(turn.error or GroupError("the coordinator refused this member")))


def _complain(turn: Turn) -> None:
    error = turn.error
    assert isinstance(error, UnauthorizedError)
    if not isinstance(turn.member.trouble, UnauthorizedError):
        turn.effects.append(Tell(Note.NOT_PERMITTED, str(error)))
    turn.member = replace(turn.member, trouble=error)


# -- which is which ------------------------------------------------------------------------


def _store_member_id(turn: Turn) -> None:
    assert turn.joined is not None
    turn.put_identity(Identity(member_id=turn.joined.member_id))


def _back_off_round(turn: Turn) -> None:
    _back_off_to(turn, turn.member.settings.round_backoff_max)


def _back_off_to(turn: Turn, longest: float) -> None:
    attempts = turn.member.round.attempts + 1
    retry_at = turn.now + turn.backoff(attempts, longest)
    turn.put_round(replace(turn.member.round, attempts=attempts, retry_at=retry_at))


def _back_off_longest(turn: Turn) -> None:
    turn.put_round(replace(turn.member.round, retry_at=turn.now + turn.longest_backoff()))


def _keep_pace(turn: Turn) -> None:
    turn.put_round(replace(turn.member.round, retry_at=turn.member.join_due_at()))


def _send_farewell(turn: Turn) -> None:
    _send_leave(turn, awaited=False)


_ARMS: Mapping[Action, Callable[[Turn], None]] = MappingProxyType(
    {
        Action.SEEK_COORDINATOR: lambda turn: turn.asked.append(CoordinatorTrigger.NEEDED),
        Action.BEGIN_RELEASE: lambda turn: _release(turn, turn.member.must_hand_back()),
        Action.RELEASE_ALL: _release_all,
        Action.CUT_DRAINS: _cut_drains,
        Action.AWAIT_LISTENER: await_listener,
        Action.STOP_WAITING: stop_waiting,
        Action.GO_ON_HANDING_OVER: go_on_handing_over,
        Action.SEND_JOIN: _send_join,
        Action.STORE_MEMBER_ID: _store_member_id,
        Action.ENTER_GENERATION: _enter_generation,
        Action.RUN_ASSIGNOR: leadership.run_assignor,
        Action.SEND_SYNC: _send_sync,
        Action.WATCH_TOPICS: leadership.watch_topics,
        Action.LOOK_AGAIN: look_again,
        Action.ADOPT: _adopt,
        Action.SEND_HEARTBEAT: _send_heartbeat,
        Action.BEAT_UNLESS_OUT: _beat_unless_out,
        Action.LAPSE: lapse,
        Action.LOSE_ALL: _lose_all,
        Action.FORGET_GENERATION: lambda turn: _forget(
            turn, Identity(member_id=turn.member.identity.member_id)
        ),
        Action.FORGET_MEMBER: lambda turn: _forget(turn, Identity()),
        Action.GO: _go,
        Action.BACK_OFF: lambda turn: _back_off_to(turn, turn.member.settings.retry_backoff_max),
        Action.BACK_OFF_LONGEST: _back_off_longest,
        Action.BACK_OFF_ROUND: _back_off_round,
        Action.NOTE_FAILURE: leadership.note_failure,
        Action.COMPLAIN: _complain,
        Action.KEEP_PACE: _keep_pace,
        Action.SEND_FAREWELL: _send_farewell,
        Action.SEND_LEAVE: _leave,
        Action.RAISE: _raise,
        Action.FINISH: lambda turn: turn.effects.append(Done()),
    }
)
"""One arm for every action; the coverage theorem has each of them used by a row."""
