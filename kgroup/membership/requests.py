"""What a member says to the coordinator: the six requests, filled from its value.

Decides: every field of FindCoordinator, JoinGroup, SyncGroup, Heartbeat and LeaveGroup.
Never: a version number; the wire leaves out what a broker does not know.
KIPs: 62, 345, 394, 429, 559, 800.
"""

from kgroup.assignors import USER_DATA_LIMIT, Assignor, LastAssignment, UserDataAssignor
from kgroup.errors import AssignorError, LocalProtocolError
from kgroup.frozen import replace
from kgroup.membership.group_description import PROTOCOL_TYPE
from kgroup.membership.value import GroupMember, Memory
from kgroup.types import Cause, Generation
from kgroup.wire.consumer_protocol import (
    MemberSubscription,
    decode_subscription,
    encode_subscription,
)
from kgroup.wire.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)


def memory_of(protocol_name: str | None, data: bytes | None) -> Memory | None:
    """Return what is to be remembered of an assignment's user data, None when nothing is.

    More than a member may send is not remembered: only a leader of another kind gives that.
    """
    if data is None or len(data) > USER_DATA_LIMIT:
        return None
    return Memory(protocol_name or "", data)


def user_data(member: GroupMember, assignor: Assignor) -> bytes | None:
    """Return the bytes that one assignor's subscription carries, None for none.

    Raises:
        AssignorError: it raised (that is the cause), or made something that cannot be sent.
    """
    memory = member.memory
    echo = memory.user_data if memory and memory.protocol_name == assignor.name else None
    # Most have no such method, and to ask for a whole protocol takes long.
    if not hasattr(assignor, "encode_user_data") or not isinstance(assignor, UserDataAssignor):
        return echo
    held = member.round.assigned if member.eager else member.holdings.partitions
    owned = LastAssignment(sorted(held), echo)
    try:
        made: object = assignor.encode_user_data(owned, member.round.assigned_in)
    except Exception as error:
        words = f"raised {error!r} when it was asked for this member's user data"
        raise AssignorError(assignor.name, [words]) from error
    if made is not None and not isinstance(made, bytes):
        kind = type(made).__name__
        raise AssignorError(assignor.name, [f"made user data of type {kind}, not bytes or None"])
    if made is not None and len(made) > USER_DATA_LIMIT:
        words = f"made {len(made)} bytes of user data; a member may send {USER_DATA_LIMIT}"
        raise AssignorError(assignor.name, [words])
    return made


# -- requests --------------------------------------------------------------------------------------
_GROUP_KEY = 0
_REASON_LIMIT = 255


def find_coordinator(member: GroupMember) -> FindCoordinatorRequest:
    """Ask any broker which one coordinates the group (KIP-699)."""
    return FindCoordinatorRequest(key_type=_GROUP_KEY, coordinator_keys=(member.settings.group_id,))


def join_group(member: GroupMember) -> JoinGroupRequest:
    """One JoinGroup with all assignors in order of preference.

    Raises:
        AssignorError: an assignor cannot make the user data of this member.
        LocalProtocolError: the subscription cannot be written.
    """
    settings = member.settings
    return JoinGroupRequest(
        group_id=settings.group_id,
        session_timeout_ms=round(settings.session_timeout * 1000),
        rebalance_timeout_ms=round(settings.rebalance_timeout * 1000),
        member_id=member.identity.member_id or "",
        group_instance_id=settings.group_instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocols=_protocols(member),
        reason=_reason(member),
    )


def _reason(member: GroupMember) -> str:
    cause = member.round.cause
    text = member.wishes.enforced or (cause.value if cause else Cause.SUBSCRIBED.value)
    return text.encode()[:_REASON_LIMIT].decode(errors="ignore")


def _protocols(member: GroupMember) -> tuple[JoinGroupRequestProtocol, ...]:
    generation = member.identity.generation
    generation_id = None if generation is None else generation.generation_id
    subscription = MemberSubscription(
        topics=tuple(sorted(member.wishes.topics or ())),
        owned=() if member.eager else tuple(sorted(member.holdings.partitions)),
        generation_id=generation_id,
        rack=member.settings.client_rack,
    )
    return tuple(
        JoinGroupRequestProtocol(
            name=assignor.name,
            metadata=_written(replace(subscription, user_data=user_data(member, assignor))),
        )
        for assignor in member.settings.assignors
    )


def _written(subscription: MemberSubscription) -> bytes:
    """Write a subscription, and read what is written: see the module `consumer_protocol`.

    A coordinator that cannot read one member's topics and user data completes no round any more,
    and on some versions that does not even end when the member leaves.
    """
    metadata = encode_subscription(subscription)
    read = decode_subscription(metadata)
    same = read.user_data == subscription.user_data and len(read.topics) == len(subscription.topics)
    if not same or set(read.topics) != set(subscription.topics):
        raise LocalProtocolError("the own subscription does not read as it was written")
    return metadata


def sync_group(member: GroupMember, assignments: tuple[tuple[str, bytes], ...]) -> SyncGroupRequest:
    """Hand in the assignment (leader) or ask for it."""
    generation = member.identity.generation
    assert generation is not None
    return SyncGroupRequest(
        group_id=generation.group_id,
        generation_id=generation.generation_id,
        member_id=generation.member_id,
        group_instance_id=generation.group_instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=generation.protocol_name,
        assignments=tuple(
            SyncGroupRequestAssignment(member_id=member_id, assignment=data)
            for member_id, data in assignments
        ),
    )


def heartbeat(member: GroupMember) -> HeartbeatRequest:
    """Say that the member lives; with the instance id, so that a fenced twin notices."""
    generation = member.identity.generation
    assert generation is not None
    return heartbeat_of(generation)


def heartbeat_of(generation: Generation) -> HeartbeatRequest:
    """Say that a member of a generation lives."""
    return HeartbeatRequest(
        group_id=generation.group_id,
        generation_id=generation.generation_id,
        member_id=generation.member_id,
        group_instance_id=generation.group_instance_id,
    )


def leave_group(member: GroupMember, cause: Cause) -> LeaveGroupRequest:
    """Leave; also from the pending state after MEMBER_ID_REQUIRED, which holds up others.

    Always under the member's own id: with an instance id alone, the coordinator removes whichever
    process has the instance (KIP-345). With both ids it refuses a fenced member.
    """
    member_id = member.identity.member_id
    assert member_id is not None
    closing = member.wishes.closing
    reason = cause.value if closing is None else closing.reason
    return LeaveGroupRequest(
        group_id=member.settings.group_id,
        members=(
            MemberIdentity(
                member_id=member_id,
                group_instance_id=member.settings.group_instance_id,
                reason=reason[:_REASON_LIMIT],
            ),
        ),
    )
