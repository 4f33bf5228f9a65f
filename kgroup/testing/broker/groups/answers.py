"""Answers of the coordinator to members, in the layout their version wants.

Decides: the value of fields that an error leaves empty (null since JoinGroup 7, else "").
Never: decides whether somebody is refused.
"""

from kgroup.codes import ErrorCode
from kgroup.testing.broker.groups.group import Group
from kgroup.wire.messages import (
    JoinGroupResponse,
    JoinGroupResponseMember,
    SyncGroupResponse,
)

_NULL_PROTOCOL_SINCE = 7


def join_refused(code: ErrorCode, version: int, member_id: str = "") -> JoinGroupResponse:
    """Refuse a JoinGroup; MEMBER_ID_REQUIRED carries the id to use."""
    nothing = None if version >= _NULL_PROTOCOL_SINCE else ""
    return JoinGroupResponse(
        error_code=code, protocol_name=nothing, leader="", member_id=member_id, members=()
    )


def joined(group: Group, member_id: str, *, listed: bool) -> JoinGroupResponse:
    """Admit a member to the present generation.

    Args:
        group: with its generation.
        member_id: of the member that is answered.
        listed: whether the members are listed, as for the leader.
    """
    return JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader_id or "",
        member_id=member_id,
        members=members_of(group) if listed else (),
    )


def members_of(group: Group) -> tuple[JoinGroupResponseMember, ...]:
    """List the members for the leader, in hash order (B6)."""
    assert group.protocol_name is not None
    return tuple(
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            metadata=member.metadata(group.protocol_name),
        )
        for member in group.in_hash_order()
    )


def sync_refused(code: ErrorCode) -> SyncGroupResponse:
    """Refuse a SyncGroup."""
    return SyncGroupResponse(error_code=code, assignment=b"")


def synced(group: Group, assignment: bytes) -> SyncGroupResponse:
    """Hand a member its part."""
    return SyncGroupResponse(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=assignment,
    )
