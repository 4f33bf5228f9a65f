"""Which answers say that the coordinator does not take this member for what it is.

Decides: whether an answer disowns the id that the member has, or gives its place to another one,
also when it is not awaited any more.
Never: moves the state; heard first or last, an answer means the same.
KIPs: 345.
"""

from kgroup.codes import ApiKey
from kgroup.machine.reactions import Reaction, reaction
from kgroup.membership.events import Answered, CommitRejected, Event
from kgroup.membership.states import possible
from kgroup.membership.triggers import Trigger
from kgroup.membership.value import GroupMember
from kgroup.wire.messages import HeartbeatResponse, JoinGroupResponse, SyncGroupResponse

__all__ = ["disowns", "fences"]

_DISOWNING = frozenset({Reaction.DROP_MEMBER, Reaction.FENCE})


def disowns(member: GroupMember, event: Event) -> bool:
    """Tell whether an event ends the membership under the present id, if it is heard now.

    Args:
        member: before the event.
        event: what happened; an answer that is not awaited any more disowns nobody, unless it
            fences the instance.
    """
    match event:
        case CommitRejected():
            present = event.generation == member.identity.generation
            return (present and event.reaction in _DISOWNING) or fences(member, event)
        case Answered():
            awaited = event.ticket in (member.heartbeat, member.round.ticket)
            return (awaited and _meaning(event) in _DISOWNING) or fences(member, event)
        case _:
            return False


def fences(member: GroupMember, event: Answered | CommitRejected) -> bool:
    """Tell whether an answer that is not awaited any more says that a twin has the place.

    It proves nothing else, and brings nothing back; see `given_up`.

    Args:
        member: before the event.
        event: the answer.
    """
    if Trigger.FENCED not in possible(member.state):
        return False  # it takes no part, and has no place that it could lose
    match event:
        case CommitRejected():
            lost = event.generation == member.given_up.generation
            return lost and event.reaction is Reaction.FENCE
        case Answered():
            return member.given_up.has(event.ticket) and _meaning(event) is Reaction.FENCE


def _meaning(event: Answered) -> Reaction | None:
    match event.response:
        case HeartbeatResponse(error_code=code):
            return reaction(ApiKey.HEARTBEAT, code)
        case JoinGroupResponse(error_code=code):
            return reaction(ApiKey.JOIN_GROUP, code)
        case SyncGroupResponse(error_code=code):
            return reaction(ApiKey.SYNC_GROUP, code)
        case _:
            return None
