"""What an assignment makes of what is owned: released, taken, acknowledged; and what is waited for.

Decides: the order: nothing new is taken while something old is still being given up; when all is
given up; which calls of the listener are not made any more.
Never: says anything to the coordinator; decides when an assignment is asked for.
KIPs: 429 (only what moves is revoked), 848.
"""

from kgroup.consumer_group.events import LookForTopics, Note
from kgroup.consumer_group.triggers import Trigger
from kgroup.consumer_group.turn import Turn
from kgroup.frozen import with_entries
from kgroup.machine.claims import HoldingState, HoldingTrigger
from kgroup.machine.wishes import CallListener, Drained, ListenerDone, Tell
from kgroup.types import Cause, ChangeKind, Claim, MemberState, OwnershipChange

# -- an assignment -------------------------------------------------------------------------


def reconcile(turn: Turn) -> None:
    """Release what is not assigned; `progress` goes on when that is done."""
    given = turn.given
    if given is not None:
        before = turn.member.assigned
        turn.put_assigned(
            target=given,
            owes=True,
            gives_up=before.gives_up or bool(before.target - given),
            unheard=before.unheard or given != before.target or not before.taken,
        )
        turn.put(cause=turn.cause)
    _note_unnamed(turn)
    _release_undue(turn)


def drop_topics(turn: Turn) -> None:
    """Release what is not asked for any more, whatever is assigned."""
    turn.say_everything()
    turn.put(cause=turn.cause)
    _release_undue(turn)


def take(turn: Turn) -> None:
    """Take what is new, of an assignment that is not older than an answer which was lost."""
    member = turn.member
    if member.said is None:
        if member.saying is None or not member.saying.whole:
            turn.beat_soon()
        return
    takeable = member.takeable()
    holdings, added = member.holdings.acquire(takeable)
    ids = {claim: takeable[claim.tp] for claim in added}
    heard = not member.assigned.unheard
    turn.put_assigned(
        taken=with_entries(member.assigned.taken, ids),
        owes=member.assigned.owes or bool(added),
        unheard=False,
        completed=member.assigned.completed + (not heard),
    )
    turn.put_holdings(holdings)
    if added or not heard:
        turn.cause = Cause.GIVEN
        turn.call_listener(ChangeKind.ASSIGNED, added=added)
    if turn.member.assigned.owes:
        turn.beat_soon()


def _release_undue(turn: Turn) -> None:
    member = turn.member
    kept = tuple(claim for claim in member.holdings.claims if member.due(claim))
    gone = tuple(claim for claim in member.holdings.claims if not member.due(claim))
    turn.put_holdings(member.holdings.after(HoldingTrigger.RETURNED, kept))
    release(turn, gone)


def _note_unnamed(turn: Turn) -> None:
    unnamed = turn.member.unnamed()
    since = turn.member.pace.unnamed_since
    if not unnamed:
        turn.put_pace(unnamed_since=None)
        turn.may_tell(Note.TOPICS_UNNAMED)
        return
    if since is None:
        turn.put_pace(unnamed_since=turn.now)
    turn.effects.append(LookForTopics())


# -- giving up -----------------------------------------------------------------------------


def release(turn: Turn, claims: tuple[Claim, ...]) -> None:
    """Hand out nothing more of some claims; they end when nothing of them is in hand."""
    turn.put_holdings(turn.member.holdings.after(HoldingTrigger.RELEASED, claims))
    if claims:
        limit = turn.now + turn.member.settings.rebalance_timeout / 2
        due = turn.member.pace.drain_until
        turn.put_pace(drain_until=limit if due is None else min(due, limit))
    progress(turn)


def release_all(turn: Turn) -> None:
    """Give everything up before the member goes."""
    closing = turn.member.wishes.closing is not None  # then it has a limit of its own
    limit = None if closing else turn.now + turn.member.settings.rebalance_timeout
    turn.put_pace(release_until=limit)
    release(turn, turn.member.holdings.claims)


def hear_drained(turn: Turn, event: Drained) -> None:
    """Tell the listener of what is not in hand any more."""
    drained = frozenset(event.claims)
    draining = turn.member.holdings.having(HoldingState.DRAINING)
    _revoke(turn, tuple(claim for claim in draining if claim in drained))


def cut_drains(turn: Turn) -> None:
    """Do not wait for what is in hand any longer."""
    draining = turn.member.holdings.having(HoldingState.DRAINING)
    turn.put_pace(drain_until=None)
    if draining:
        turn.effects.append(Tell(Note.DRAIN_CUT, ", ".join(str(claim.tp) for claim in draining)))
    _revoke(turn, draining)


def _revoke(turn: Turn, claims: tuple[Claim, ...]) -> None:
    if not claims:
        return
    turn.put_holdings(turn.member.holdings.after(HoldingTrigger.DRAINED, claims))
    turn.cause = turn.member.release_cause(claims)
    turn.call_listener(ChangeKind.REVOKED, removed=claims)


def hear_listener(turn: Turn, event: ListenerDone) -> None:
    """Go on after a call of the listener; what it was called for is given up now."""
    member = turn.member
    done = next((change for change in member.changes if change.serial == event.serial), None)
    if done is None:
        return
    turn.put(changes=tuple(change for change in member.changes if change is not done))
    if done.kind is ChangeKind.REVOKED:
        turn.put_holdings(member.holdings.after(HoldingTrigger.REVOKED, done.removed))
        progress(turn)


def lose_all(turn: Turn) -> None:
    """End all that is owned at once, and forget what was assigned, and every proof."""
    holdings = turn.member.holdings
    # Revoked or lost, never both: what on_revoked runs for hears of nothing else.
    revoking = frozenset(holdings.having(HoldingState.REVOKING)) - _take_back_calls(turn)
    lost = tuple(claim for claim in holdings.claims if claim not in revoking)
    turn.put_holdings(holdings.after(HoldingTrigger.LOST, holdings.claims))
    turn.say_everything()
    turn.put_assigned(target=frozenset(), owes=False, gives_up=False, unheard=False)
    turn.put_pace(drain_until=None, unnamed_since=None)
    turn.put(lease=turn.member.lease.ended(), heartbeat=None)
    if lost:
        turn.call_listener(ChangeKind.LOST, removed=lost)
    progress(turn)


def progress(turn: Turn) -> None:
    """Raise what follows when something was given up; only what the present state can hear."""
    member = turn.member
    match member.state:
        case MemberState.RECONCILING if not member.giving_up():
            turn.put_pace(drain_until=None)
            turn.raised.append(Trigger.RECONCILED)
        case MemberState.PREPARING if not member.still_revoking():
            turn.put_pace(release_until=None)
            turn.raised.append(Trigger.HANDED_BACK)
        case MemberState.RELEASING if not member.holdings and not member.still_revoking():
            turn.raised.append(Trigger.HANDED_BACK)
        case _:
            pass


# -- the listener --------------------------------------------------------------------------


def await_listener(turn: Turn) -> None:
    """Set an end to the wait for calls that run for what was lost."""
    member = turn.member
    if member.pace.release_until is not None:
        return
    longest = member.settings.rebalance_timeout
    turn.put_pace(release_until=turn.now + longest)
    names = ", ".join(str(tp) for tp in sorted(member.still_revoking()))
    turn.effects.append(Tell(Note.LISTENER_AWAITED, f"{names}; {longest:g} s at most"))


def stop_waiting(turn: Turn) -> None:
    """Go on although calls of the listener have not returned."""
    turn.put_pace(release_until=None, unawaited=turn.member.next_change - 1)
    turn.cause = turn.member.release_cause()
    progress(turn)


def _take_back_calls(turn: Turn) -> frozenset[Claim]:
    """Drop the calls of on_revoked that have not begun, and return what they were for.

    1. on_assigned(q) runs; 2. on_revoked(p) is to follow; 3. the epoch is refused. When its turn
    comes, p is lost; nothing need be waited for.
    """
    waiting = _not_begun(turn)
    if not waiting:
        return frozenset()
    turn.put(changes=tuple(each for each in turn.member.changes if each not in waiting))
    turn.effects[:] = [
        each
        for each in turn.effects
        if not isinstance(each, CallListener) or each.change not in waiting
    ]
    return frozenset(claim for change in waiting for claim in change.removed)


def _not_begun(turn: Turn) -> tuple[OwnershipChange, ...]:
    """Return the calls of on_revoked that wait for another call, or that this step asked for."""
    asked = [each.change for each in turn.effects if isinstance(each, CallListener)]
    return tuple(
        change
        for place, change in enumerate(turn.member.changes)
        if change.kind is ChangeKind.REVOKED and (place > 0 or change in asked)
    )
