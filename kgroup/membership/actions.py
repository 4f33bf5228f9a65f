"""What the rows of the round do: one arm per action.

Decides: how each action changes the member and which effects it asks for.
Never: which action runs when; the rows say that.
KIPs: 345, 394, 429, 568, 800.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from kgroup.errors import GroupError, UnauthorizedError
from kgroup.machine.claims import HoldingState, HoldingTrigger
from kgroup.machine.tickets import Errand
from kgroup.membership import requests
from kgroup.membership.coordinator import CoordinatorTrigger
from kgroup.membership.events import Disconnect, Done, Note, Raise, RunAssignor, Tell
from kgroup.membership.triggers import Action, Trigger
from kgroup.membership.turn import Turn
from kgroup.membership.value import GroupMember, Identity
from kgroup.types import (
    Cause,
    ChangeKind,
    Claim,
    Generation,
    Leave,
    MemberState,
    TopicPartition,
)

__all__ = ["act", "leave_state", "owe_unheard", "tell_group"]


def act(turn: Turn, action: Action) -> None:
    """Carry out one action."""
    _ARMS[action](turn)


def leave_state(turn: Turn, *, replied: bool) -> None:
    """Drop the awaited reply when a row leaves the state that awaits it.

    A parked request that is given up takes its connection with it: the broker answers one request
    per connection at a time, and some parked ones are never answered.
    """
    member = turn.member
    ticket = member.round.ticket
    parked = ticket is not None and ticket.errand in (Errand.JOIN_GROUP, Errand.SYNC_GROUP)
    if parked and not replied and member.coordinator.node_id is not None:
        turn.effects.append(Disconnect(member.coordinator.node_id, parked_only=True))
    turn.put_round(replace(member.round, ticket=None))


def tell_group(turn: Turn) -> None:
    """Raise what follows when something was given up: the hand-back is complete, a round is owed.

    Asked for after every change of the holdings, it raises only what the present state can hear.
    """
    member = turn.member
    match member.state:
        case MemberState.PREPARING if not member.must_hand_back():
            turn.raised.append(Trigger.HANDED_BACK)
        case MemberState.RELEASING if not member.holdings:
            turn.raised.append(Trigger.HANDED_BACK)
        case MemberState.STABLE if member.owes_round():
            turn.raised.append(Trigger.ROUND_OWED)
        case _:
            pass


# -- holdings ------------------------------------------------------------------------------


def _release(turn: Turn, claims: tuple[Claim, ...]) -> None:
    member = turn.member
    turn.put_holdings(member.holdings.after(HoldingTrigger.RELEASED, claims))
    if claims:
        limit = turn.now + member.settings.rebalance_timeout / 2
        turn.put_round(replace(turn.member.round, drain_until=limit))
    tell_group(turn)


def _cut_drains(turn: Turn) -> None:
    draining = turn.member.holdings.having(HoldingState.DRAINING)
    turn.put_round(replace(turn.member.round, drain_until=None))
    if not draining:
        return
    names = ", ".join(str(claim.tp) for claim in draining)
    turn.effects.append(Tell(Note.DRAIN_CUT, names))
    turn.put_holdings(turn.member.holdings.after(HoldingTrigger.DRAINED, draining))
    turn.cause = turn.member.release_cause()
    turn.call_listener(ChangeKind.REVOKED, removed=draining)


def _lose_all(turn: Turn) -> None:
    holdings = turn.member.holdings
    # What is being revoked has been told to the application: revoked or lost, never both.
    lost = holdings.having(HoldingState.HELD, HoldingState.DRAINING)
    turn.put_holdings(holdings.after(HoldingTrigger.LOST, holdings.claims))
    if lost:
        turn.call_listener(ChangeKind.LOST, removed=lost)
    tell_group(turn)


# -- the round -----------------------------------------------------------------------------


def _send_join(turn: Turn) -> None:
    member = turn.member
    ticket = turn.draw(Errand.JOIN_GROUP)
    turn.send(ticket, requests.join_group(member), member.settings.parked_timeout)
    turn.put_wishes(replace(member.wishes, enforced=None))
    turn.put_round(
        replace(
            member.round,
            ticket=ticket,
            told_topics=member.wishes.topics or frozenset(),
            told=frozenset() if member.eager else member.holdings.partitions,
            drain_until=None,
            returned=member.settings.group_instance_id is not None
            and member.identity.member_id is None,
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
    # A heartbeat of the older generation may still be answered; its ticket is void now.
    turn.member = replace(
        turn.member,
        heartbeat=None,
        heartbeat_at=turn.now + member.settings.heartbeat_interval,
        round=replace(
            turn.member.round,
            leader=turn.leads,
            watched=None,
            watch=None,
            failing_since=None,
        ),
    )


def _run_assignor(turn: Turn) -> None:
    joined = turn.joined
    assert joined is not None
    ticket = turn.draw(Errand.RUN_ASSIGNOR)
    turn.put_round(replace(turn.member.round, ticket=ticket))
    turn.effects.append(RunAssignor(ticket, joined.protocol_name or "", joined.members))


def _send_sync(turn: Turn) -> None:
    member = turn.member
    if member.coordinator.node_id is None:
        # 1. the assignor runs; 2. a heartbeat finds the coordinator gone; 3. the result is here.
        turn.raised.append(Trigger.COORDINATOR_LOST)
        return
    ticket = turn.draw(Errand.SYNC_GROUP)
    done = turn.assignor
    request = requests.sync_group(member, () if done is None else done.assignments)
    turn.send(ticket, request, member.settings.parked_timeout)
    watched = member.round.watched if done is None else done.watched
    turn.put_round(replace(member.round, ticket=ticket, watched=watched))


def _watch_topics(turn: Turn) -> None:
    joined = turn.joined
    assert joined is not None
    watch = turn.draw(Errand.RUN_ASSIGNOR)
    turn.put_round(replace(turn.member.round, watch=watch))
    node_id = turn.member.coordinator.node_id
    name = joined.protocol_name or ""
    turn.effects.append(RunAssignor(watch, name, joined.members, unasked=True, node_id=node_id))


def _adopt(turn: Turn) -> None:
    member = turn.member
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
    turn.put_round(
        replace(
            turn.member.round,
            assigned=usable,
            told=turn.member.round.told | assigned,
            completed=member.round.completed + 1,
            attempts=0,
            unheard=_unheard(member, assigned),
        )
    )
    turn.call_listener(ChangeKind.ASSIGNED, added=added)
    if _asks_anew(member):
        _owe_told(turn)
    owe_unheard(turn)
    tell_group(turn)


def _asks_anew(member: GroupMember) -> bool:
    """Tell whether a static member came back with other topics than it was remembered with."""
    before = member.round.remembered
    told = member.round.told_topics
    return member.round.returned and before is not None and before.topics != told


def _unheard(member: GroupMember, assigned: frozenset[TopicPartition]) -> frozenset[str]:
    """Return the topics a static member came back with and the leader may not have heard of.

    1. A static member restarts with one topic more; 2. it is given its old assignment at once,
    without a round; 3. the leader never hears of the topic. When nothing is remembered, nobody can
    tell a topic that is new from one that went to others: one round in vain is the smaller harm.
    When it is, a topic that nobody was given is suspect all the same: 4. that process dies before
    its round; 5. the next one asks for the same topics, and the coordinator remembers them.
    """
    if not member.round.returned:
        return frozenset()
    before = member.round.remembered
    heard = frozenset(tp.topic for tp in assigned)
    if before is not None:
        heard |= before.assigned
    return member.round.told_topics - heard


def owe_unheard(turn: Turn) -> bool:
    """Owe a round as soon as a topic that the group has not heard of has partitions.

    The JoinGroup of that round differs from the one before in the generation it names, so a
    coordinator in Stable takes it for a change and begins a round, also from a follower.
    """
    if not turn.member.unheard():
        return False
    _owe_told(turn)
    return True


def _owe_told(turn: Turn) -> None:
    """Owe the round in which the group is told all topics this member asks for."""
    turn.put_round(replace(turn.member.round, unheard=frozenset()))
    turn.put_wishes(replace(turn.member.wishes, enforced=Cause.SUBSCRIBED.value))


def _send_heartbeat(turn: Turn) -> None:
    member = turn.member
    # Timer and adoption may both ask; the next one is due an interval after this one.
    due = turn.now + member.settings.heartbeat_interval
    turn.member = replace(member, heartbeat_at=due)
    if member.coordinator.node_id is None or member.identity.generation is None:
        return
    ticket = turn.draw(Errand.HEARTBEAT)
    turn.send(ticket, requests.heartbeat(member), member.settings.heartbeat_timeout)
    turn.member = replace(turn.member, heartbeat=ticket)


def _forget(turn: Turn, identity: Identity) -> None:
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
            unheard=frozenset(),
            remembered=None,
        ),
    )


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
    """Tell whether the coordinator could not know who leaves: a static member needs no id."""
    return member.identity.member_id is None and member.settings.group_instance_id is None


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
    if turn.member.trouble is None:
        turn.effects.append(Tell(Note.NOT_PERMITTED, str(error)))
    turn.member = replace(turn.member, trouble=error)


# -- which is which ------------------------------------------------------------------------


def _store_member_id(turn: Turn) -> None:
    assert turn.joined is not None
    turn.put_identity(Identity(member_id=turn.joined.member_id))


def _back_off(turn: Turn) -> None:
    attempts = turn.member.round.attempts + 1
    retry_at = turn.now + turn.backoff(attempts)
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
        Action.RELEASE_ALL: lambda turn: _release(turn, turn.member.holdings.claims),
        Action.CUT_DRAINS: _cut_drains,
        Action.SEND_JOIN: _send_join,
        Action.STORE_MEMBER_ID: _store_member_id,
        Action.ENTER_GENERATION: _enter_generation,
        Action.RUN_ASSIGNOR: _run_assignor,
        Action.SEND_SYNC: _send_sync,
        Action.WATCH_TOPICS: _watch_topics,
        Action.ADOPT: _adopt,
        Action.SEND_HEARTBEAT: _send_heartbeat,
        Action.LOSE_ALL: _lose_all,
        Action.FORGET_GENERATION: lambda turn: _forget(
            turn, Identity(member_id=turn.member.identity.member_id)
        ),
        Action.FORGET_MEMBER: lambda turn: _forget(turn, Identity()),
        Action.BACK_OFF: _back_off,
        Action.BACK_OFF_LONGEST: _back_off_longest,
        Action.COMPLAIN: _complain,
        Action.KEEP_PACE: _keep_pace,
        Action.SEND_FAREWELL: _send_farewell,
        Action.SEND_LEAVE: _leave,
        Action.RAISE: _raise,
        Action.FINISH: lambda turn: turn.effects.append(Done()),
    }
)
"""One arm for every action; the coverage theorem has each of them used by a row."""
