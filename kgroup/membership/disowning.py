"""Which answers say that the coordinator does not take this member for what it is.

Decides: whether an answer disowns the id that the member has, or gives its place to another one.
Never: moves the state; heard first or last, an answer means the same.
KIPs: 345.
"""

from kgroup.codes import ApiKey
from kgroup.machine.reactions import Reaction, reaction
from kgroup.membership.events import Answered, CommitRejected, Event
from kgroup.membership.value import GroupMember
from kgroup.wire.messages import HeartbeatResponse, JoinGroupResponse, SyncGroupResponse

__all__ = ["disowns"]

_DISOWNING = frozenset({Reaction.DROP_MEMBER, Reaction.FENCE})


def disowns(member: GroupMember, event: Event) -> bool:
    """Tell whether an event ends the membership under the present id, if it is heard now.

    Args:
        member: before the event.
        event: what happened; an answer that is not awaited any more disowns nobody.
    """
    match event:
        case CommitRejected():
            present = event.generation == member.identity.generation
            return present and event.reaction in _DISOWNING
        case Answered(response=HeartbeatResponse(error_code=code)):
            awaited = event.ticket == member.heartbeat
            return awaited and reaction(ApiKey.HEARTBEAT, code) in _DISOWNING
        case Answered(response=JoinGroupResponse(error_code=code)):
            awaited = event.ticket == member.round.ticket
            return awaited and reaction(ApiKey.JOIN_GROUP, code) in _DISOWNING
        case Answered(response=SyncGroupResponse(error_code=code)):
            awaited = event.ticket == member.round.ticket
            return awaited and reaction(ApiKey.SYNC_GROUP, code) in _DISOWNING
        case _:
            return False
