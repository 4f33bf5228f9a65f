"""What a member says to the coordinator: the six requests, filled from its value.

Decides: every field of FindCoordinator, JoinGroup, SyncGroup, Heartbeat and LeaveGroup.
Never: a version number; the wire leaves out what a broker does not know.
KIPs: 62, 345, 394, 429, 559, 800.
"""

from kgroup.errors import LocalProtocolError
from kgroup.frozen import replace
from kgroup.membership.user_data import user_data
from kgroup.membership.value import GroupMember
from kgroup.types import Cause
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

__all__ = [
    "PROTOCOL_TYPE",
    "find_coordinator",
    "heartbeat",
    "join_group",
    "leave_group",
    "sync_group",
]

PROTOCOL_TYPE = "consumer"
_GROUP_KEY = 0
_REASON_LIMIT = 255


def find_coordinator(member: GroupMember) -> FindCoordinatorRequest:
    """Ask any broker who coordinates the group (KIP-699)."""
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
    return HeartbeatRequest(
        group_id=generation.group_id,
        generation_id=generation.generation_id,
        member_id=generation.member_id,
        group_instance_id=generation.group_instance_id,
    )


def leave_group(member: GroupMember, cause: Cause) -> LeaveGroupRequest:
    """Leave; also from the pending state after MEMBER_ID_REQUIRED, which holds up others.

    Always under the member's own id: with an instance id alone, the coordinator removes whichever
    process has the instance (KIP-345). With both it refuses who is fenced.
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
