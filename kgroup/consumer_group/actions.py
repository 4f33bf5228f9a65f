"""What the rows do: one arm per action.

Decides: how each action changes the member and which effects it asks for.
Never: which action runs when; the rows say that.
KIPs: 345, 848.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kgroup.consumer_group import reconciling, requests
from kgroup.consumer_group.events import Note, Send
from kgroup.consumer_group.states import FACTS
from kgroup.consumer_group.triggers import Action, Trigger
from kgroup.consumer_group.turn import Turn
from kgroup.consumer_group.value import Identity
from kgroup.errors import GroupError, UnauthorizedError
from kgroup.frozen import replace
from kgroup.machine.coordinator import CoordinatorTrigger
from kgroup.machine.wishes import Done, Errand, Raise, Tell
from kgroup.types import MemberState


def act(turn: Turn, action: Action) -> None:
    """Carry out one action."""
    _ARMS[action](turn)


def enter_state(turn: Turn, state: MemberState) -> None:
    """Go to another state; what only the one before awaits is not awaited any more."""
    turn.put(state=state, farewell=None)
    if not FACTS[state].heartbeats:
        turn.put(heartbeat=None, saying=None)


# -- heartbeats ----------------------------------------------------------------------------


def _send_join(turn: Turn) -> None:
    member = turn.member
    turn.say_everything()
    until = max(member.pace.joins_until, turn.now) + member.settings.turn_interval
    turn.put_pace(joins_until=until)
    turn.put(identity=replace(member.identity, known=True))
    _send(turn)


def _send_heartbeat(turn: Turn) -> None:
    if turn.member.coordinator.node_id is None or turn.member.identity.generation is None:
        turn.put(heartbeat_at=turn.now + turn.member.interval)
        return
    _send(turn)


def _send(turn: Turn) -> None:
    member = turn.member
    ticket = turn.draw(Errand.CONSUMER_GROUP_HEARTBEAT)
    saying = requests.next_said(member)
    request = requests.heartbeat(member, saying)
    node_id = member.coordinator.node_id
    turn.effects.append(Send(ticket, request, node_id, member.heartbeat_timeout))
    turn.put(heartbeat=ticket, saying=saying, heartbeat_at=turn.now + member.interval)


def _send_farewell(turn: Turn) -> None:
    _say_farewell(turn, awaited=False)


def _leave(turn: Turn) -> None:
    member = turn.member
    if not member.identity.known or requests.farewell_epoch(member) is None:
        turn.raised.append(Trigger.LEAVE_ENDED)
    elif not _say_farewell(turn, awaited=True):
        # A member that goes without a word is missed for a whole session.
        turn.asked.append(CoordinatorTrigger.NEEDED)


def _say_farewell(turn: Turn, *, awaited: bool) -> bool:
    member = turn.member
    epoch, node_id = requests.farewell_epoch(member), member.coordinator.node_id
    if not member.identity.known or epoch is None or node_id is None:
        return False
    ticket = turn.draw(Errand.CONSUMER_GROUP_HEARTBEAT)
    request = requests.farewell(member, epoch)
    turn.effects.append(Send(ticket, request, node_id, member.settings.request_timeout))
    if awaited:
        turn.put(farewell=ticket)
    return True


# -- identity ------------------------------------------------------------------------------


def _forget_epoch(turn: Turn) -> None:
    turn.put(identity=Identity(known=turn.member.identity.known))


def _forget_place(turn: Turn) -> None:
    turn.put(identity=Identity())


def _await_instance(turn: Turn) -> None:
    turn.tell_once(Note.INSTANCE_IN_USE, str(turn.error or ""))


# -- waiting -------------------------------------------------------------------------------


def _back_off(turn: Turn) -> None:
    attempts = turn.member.pace.attempts + 1
    turn.put_pace(attempts=attempts, retry_at=turn.now + turn.backoff(attempts))


def _back_off_longest(turn: Turn) -> None:
    turn.put_pace(retry_at=turn.now + turn.longest_backoff())


def _keep_pace(turn: Turn) -> None:
    turn.put_pace(retry_at=turn.member.join_due_at())


# -- the end -------------------------------------------------------------------------------


def _raise(turn: Turn) -> None:
    turn.effects.append(Raise(turn.error or GroupError("the coordinator refused this member")))


def _complain(turn: Turn) -> None:
    error = turn.error
    assert isinstance(error, UnauthorizedError)
    if turn.member.trouble is None:
        turn.effects.append(Tell(Note.NOT_PERMITTED, str(error)))
    turn.put(trouble=error)


_ARMS: Mapping[Action, Callable[[Turn], None]] = MappingProxyType(
    {
        Action.SEEK_COORDINATOR: lambda turn: turn.asked.append(CoordinatorTrigger.NEEDED),
        Action.SEND_JOIN: _send_join,
        Action.RECONCILE: reconciling.reconcile,
        Action.DROP_TOPICS: reconciling.drop_topics,
        Action.TAKE: reconciling.take,
        Action.BEAT_SOON: lambda turn: turn.beat_soon(),
        Action.SEND_HEARTBEAT: _send_heartbeat,
        Action.RELEASE_ALL: reconciling.release_all,
        Action.CUT_DRAINS: reconciling.cut_drains,
        Action.AWAIT_LISTENER: reconciling.await_listener,
        Action.STOP_WAITING: reconciling.stop_waiting,
        Action.LOSE_ALL: reconciling.lose_all,
        Action.FORGET_EPOCH: _forget_epoch,
        Action.FORGET_PLACE: _forget_place,
        Action.AWAIT_INSTANCE: _await_instance,
        Action.BACK_OFF: _back_off,
        Action.BACK_OFF_LONGEST: _back_off_longest,
        Action.KEEP_PACE: _keep_pace,
        Action.COMPLAIN: _complain,
        Action.SEND_FAREWELL: _send_farewell,
        Action.SEND_LEAVE: _leave,
        Action.RAISE: _raise,
        Action.FINISH: lambda turn: turn.effects.append(Done()),
    }
)
"""One arm for every action; the coverage theorem has each of them used by a row."""
