"""What a member waits for: the listener that hears of a loss, a leader that does not hear it.

Decides: when everything is handed back, how long a listener is waited for, which calls of it are
not made any more, and when a leader hears again what this member asks for.
Never: what is given up; `actions` does.
"""

from kgroup.frozen import replace
from kgroup.machine.claims import HoldingState
from kgroup.membership.events import CallListener, Note, Tell
from kgroup.membership.triggers import Trigger
from kgroup.membership.turn import Turn
from kgroup.types import ChangeKind, Claim, MemberState, OwnershipChange, TopicPartition


def tell_group(turn: Turn) -> None:
    """Raise what follows when something was given up: the hand-back is complete, a round is owed.

    Asked for after every change of the holdings, it raises only what the present state can hear.
    """
    member = turn.member
    match member.state:
        case MemberState.PREPARING if not member.still_revoking():
            turn.put_round(replace(member.round, release_until=None))
            if not member.must_hand_back():
                turn.raised.append(Trigger.HANDED_BACK)
        case MemberState.RELEASING if not member.holdings and not member.still_revoking():
            turn.raised.append(Trigger.HANDED_BACK)
        case MemberState.STABLE if member.owes_round() and not _hands_over(turn):
            turn.raised.append(Trigger.ROUND_OWED)
        case _:
            pass


def begin_handing_over(turn: Turn, gone: tuple[Claim, ...]) -> None:
    """Begin to hand over what an adopted round took, if it took anything.

    1. A round takes partitions from two members; 2. one has nothing in hand, and joins again at
    once; 3. the other has not heard of its assignment yet, and must join with all it had: the group
    needs a third round. So there is a pause first. A member that must join meanwhile hands over
    first, too, but within a limit.
    """
    settings = turn.member.settings
    spans = turn.now + settings.hand_over_pause, turn.now + settings.hand_over_patience
    turn.put_round(replace(turn.member.round, hand_over=spans if gone else None))


def go_on_handing_over(turn: Turn) -> None:
    """Tell the group what was handed over when all is, or at the limit; what is not follows."""
    around = turn.member.round
    if around.hand_over is not None:
        limit = around.hand_over[1]
        left = None if turn.now >= limit else (None, limit)
        turn.put_round(replace(around, hand_over=left))
    tell_group(turn)


def _hands_over(turn: Turn) -> bool:
    """Tell whether the round must not begin yet; notes when it may.

    1. A round takes p and q; 2. p is given back, and q a moment later; 3. a JoinGroup after p
    would claim q, and the group needed one more round for it.
    """
    around = turn.member.round
    if around.hand_over is None:
        return False
    pause = around.hand_over[0]
    if pause is not None and turn.now < pause:
        return True
    if turn.member.holdings.having(HoldingState.DRAINING, HoldingState.REVOKING):
        return True
    turn.put_round(replace(around, hand_over=None))
    return False


def await_listener(turn: Turn) -> None:
    """Set an end to the wait: a round that is on passes this member over by then.

    The same wait goes on when the generation is lost in it, or the application stops reading.
    """
    member = turn.member
    if member.round.release_until is not None:
        return
    longest = member.settings.rebalance_timeout
    turn.put_round(replace(member.round, release_until=turn.now + longest))
    names = ", ".join(str(tp) for tp in sorted(member.still_revoking()))
    turn.effects.append(Tell(Note.LISTENER_AWAITED, f"{names}; {longest:g} s at most"))


def stop_waiting(turn: Turn) -> None:
    """Go on although calls of the listener have not returned."""
    last = turn.member.next_change - 1
    turn.put_round(replace(turn.member.round, release_until=None, unawaited=last))
    turn.cause = turn.member.release_cause()
    tell_group(turn)


def take_back_calls(turn: Turn) -> frozenset[Claim]:
    """Drop the calls of on_revoked that have not begun, and return what they were for.

    1. on_assigned(q) runs; 2. on_revoked(p) is to follow; 3. the generation is lost. Nobody asks
    for p any more, and no commit of it would be accepted: when its turn comes it is lost, which is
    what Java's client finds, too, when it is about to call. Nothing need be waited for.
    """
    waiting = _not_begun(turn)
    if not waiting:
        return frozenset()
    member = turn.member
    stay = tuple(change for change in member.changes if change not in waiting)
    turn.member = replace(member, changes=stay)
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


def tell_unasked(turn: Turn) -> frozenset[TopicPartition]:
    """Return what the group has to hear of at once, of an assignment that is adopted.

    A leader that assigns topics which this member did not ask for may have heard of an older
    subscription: another round tells it. One that does so again has heard, and will hear again:
    each further round is for all members, so each waits twice as long as the one before.
    """
    member, assigned = turn.member, turn.assigned
    unasked = frozenset(tp for tp in assigned if tp.topic not in member.round.joined_topics)
    times = member.round.unasked + 1 if unasked else 0
    turn.put_round(replace(member.round, unasked=times))
    if times <= 1:
        return assigned
    pause = turn.backoff(times, member.settings.rebalance_timeout)
    due = member.lead.rejoin_at
    at = turn.now + pause if due is None else min(due, turn.now + pause)
    turn.put_lead(replace(member.lead, rejoin_at=at))
    names = ", ".join(sorted({tp.topic for tp in unasked}))
    turn.effects.append(Tell(Note.TOPICS_UNASKED, f"{names}; again in {pause:.1f} s"))
    return assigned - unasked
