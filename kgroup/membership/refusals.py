"""What a member's errors say: what was refused, with which value, and the way out.

Decides: the error for each code that ends or suspends a membership. Also whether an answer, even a
late one, disowns the member id or gives its place to another process.
Never: which code does that; `kgroup.machine.reactions` and the rows do. Moves the state.
KIPs: 345 (instance ids), 389 (group.max.size).
"""

from collections.abc import Sequence

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import BrokerError, FencedError, UnauthorizedError
from kgroup.machine.reactions import Reaction, reaction
from kgroup.membership.events import Answered, CommitRejected, Event
from kgroup.membership.group_description import OTHER_PROTOCOL, PROTOCOL_TYPE, GroupInUse
from kgroup.membership.settings import MembershipSettings
from kgroup.membership.states import possible
from kgroup.membership.triggers import Trigger
from kgroup.membership.value import GroupMember
from kgroup.types import Generation
from kgroup.wire.messages import HeartbeatResponse, JoinGroupResponse, SyncGroupResponse

_SHOWN = 5


def refused(
    settings: MembershipSettings, api: ApiKey, code: int, in_use: GroupInUse | None = None
) -> BrokerError:
    """Return the error for a code that ends the membership.

    Args:
        settings: of the member.
        api: what was asked.
        code: the coordinator's error code.
        in_use: the group that has no assignor in common with this member, None: not known.
    """
    group = f"group {settings.group_id!r}"
    match code:
        case ErrorCode.INVALID_SESSION_TIMEOUT:
            text = _session_timeout(settings)
        case ErrorCode.GROUP_MAX_SIZE_REACHED:
            text = (
                "it has as many members as the broker's group.max.size allows; close one, wait for "
                "the session of a dead one to end, or raise group.max.size"
            )
        case ErrorCode.INCONSISTENT_GROUP_PROTOCOL:
            text = _nothing_in_common(settings, in_use)
        case ErrorCode.INVALID_GROUP_ID:
            text = "the broker takes no such group_id"
        case _:
            return BrokerError(api.name, code, group)
    return BrokerError(api.name, code, f"{group}: {text}")


def _nothing_in_common(settings: MembershipSettings, in_use: GroupInUse | None) -> str:
    """Say which assignors do not meet, as far as it can be known.

    A coordinator tells the assignor in use, and not what else the members would take.
    """
    offered = [each.name for each in settings.assignors]
    lacking = f"its members have no assignor in common with this one, which offers {offered}"
    if in_use is None:
        return (
            f"{lacking}; set assignors so that one name is in every member's list. A group of "
            "another type (Connect, Streams) cannot be joined at all: take another group_id"
        )
    if in_use.protocol_type != PROTOCOL_TYPE:
        return (
            f"it is a group of type {in_use.protocol_type!r}, which no consumer can join; take "
            "another group_id"
        )
    if in_use == OTHER_PROTOCOL:
        return (
            "its members speak the protocol of KIP-848, and the brokers' "
            "group.consumer.migration.policy lets no classic member in, or they cannot read its "
            "subscription; set group_protocol='consumer', or the policy to 'bidirectional', or end "
            "those members first"
        )
    members = _listed(in_use.client_ids)
    if in_use.assignor is None or in_use.assignor in offered:
        return f"{lacking}: {members}; set assignors so that one name is in every member's list"
    both = [in_use.assignor, *offered]  # the old one first: the group keeps it until it is dropped
    return (
        f"{lacking}; {in_use.assignor!r} is in use by {members}. Add it to this one's assignors. "
        f"To change over a running group, restart its members one by one with {both}, and when all "
        f"have been, one by one with {offered}"
    )


def _listed(client_ids: Sequence[str]) -> str:
    """Name a group's members by what their owners called them."""
    names = sorted(set(client_ids))
    more = ", ..." if len(names) > _SHOWN else ""
    noun = "member" if len(client_ids) == 1 else "members"
    return f"{len(client_ids)} {noun} (client ids: {', '.join(names[:_SHOWN])}{more})"


def _session_timeout(settings: MembershipSettings) -> str:
    value = settings.session_timeout
    return (
        f"session_timeout is {value:g} s ({round(value * 1000)} ms), outside of what the broker "
        "allows, group.min.session.timeout.ms (6000 by default) to group.max.session.timeout.ms "
        "(1800000 by default); set session_timeout within these bounds, or change them"
    )


def not_permitted(settings: MembershipSettings, api: ApiKey) -> UnauthorizedError:
    """Return the error that readers get as long as the group is closed to this principal."""
    group = f"group {settings.group_id!r}"
    right = "DESCRIBE" if api is ApiKey.FIND_COORDINATOR else "READ"
    text = f"{group}: this principal needs the right to {right} it; asked again until it has it"
    return UnauthorizedError(
        api.name, ErrorCode.GROUP_AUTHORIZATION_FAILED, [settings.group_id], text
    )


def fenced(settings: MembershipSettings, generation: Generation | None) -> FencedError:
    """Return the error of a static member whose place another process has taken (KIP-345)."""
    reason = (
        f"another member uses group_instance_id {settings.group_instance_id!r}; end one of the "
        "two, or give each running process an instance id of its own"
    )
    return FencedError(reason, generation=generation, code=ErrorCode.FENCED_INSTANCE_ID)


# -- answers that disown a member ------------------------------------------------------------

_DISOWNING = frozenset({Reaction.LOSE_MEMBER, Reaction.FENCE})


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
