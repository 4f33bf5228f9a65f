"""What a member that gives something up waits for: the listener that hears of it, up to a limit.

Decides: when everything is handed back, and how long a listener is waited for.
Never: what is given up; `actions` does.
"""

from kgroup.frozen import replace
from kgroup.membership.events import Note, Tell
from kgroup.membership.triggers import Trigger
from kgroup.membership.turn import Turn
from kgroup.types import MemberState

__all__ = ["await_listener", "stop_waiting", "tell_group"]


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
        case MemberState.STABLE if member.owes_round():
            turn.raised.append(Trigger.ROUND_OWED)
        case _:
            pass


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
