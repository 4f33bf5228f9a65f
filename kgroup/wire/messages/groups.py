"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup: membership in a classic group.

Decides: the fields and the versions of these messages.
Never: what a field means to a member; `kgroup.membership` does.
"""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import (
    Boolean,
    Bytes,
    Int16,
    Int32,
    String,
    Text,
    nullable,
    nullable_from,
    rows,
)

__all__ = [
    "HeartbeatRequest",
    "HeartbeatResponse",
    "JoinGroupRequest",
    "JoinGroupRequestProtocol",
    "JoinGroupResponse",
    "JoinGroupResponseMember",
    "LeaveGroupRequest",
    "LeaveGroupResponse",
    "MemberIdentity",
    "MemberResponse",
    "SyncGroupRequest",
    "SyncGroupRequestAssignment",
    "SyncGroupResponse",
]

_VERSIONS: Final = range(10)


@message()
class JoinGroupResponseMember(Message):
    """One member, for the leader: metadata is its embedded subscription."""

    member_id: str = wire(String)
    group_instance_id: str | None = wire(nullable(String), since=5, default=None, ignorable=True)
    metadata: bytes = wire(Bytes)


@message(versions=_VERSIONS, flexible=6)
class JoinGroupResponse(Message):
    """The generation that began; members is empty except for the leader.

    2 throttle_time_ms; 3 the client waits it out itself; 5 group_instance_id of members (KIP-345);
    6 flexible; 7 protocol_type, and protocol_name may be None on an error (KIP-559); 9
    skip_assignment: the leader must send no assignment (KIP-814). generation_id is -1 and texts
    are empty on an error; MEMBER_ID_REQUIRED comes with the member_id to use (4+, KIP-394).
    """

    throttle_time_ms: int = wire(Int32, since=2, default=0, ignorable=True)
    error_code: int = wire(Int16, default=0)
    generation_id: int = wire(Int32, default=-1)
    protocol_type: str | None = wire(nullable(String), since=7, default=None, ignorable=True)
    protocol_name: str | None = wire(nullable_from(7, String))
    leader: str = wire(String)
    skip_assignment: bool = wire(Boolean, since=9, default=False)
    member_id: str = wire(String)
    members: tuple[JoinGroupResponseMember, ...] = wire(rows(JoinGroupResponseMember))


@message()
class JoinGroupRequestProtocol(Message):
    """One assignor the member offers, with its embedded subscription."""

    name: str = wire(String)
    metadata: bytes = wire(Bytes)


@message(versions=_VERSIONS, flexible=6, api=ApiKey.JOIN_GROUP)
class JoinGroupRequest(Request[JoinGroupResponse]):
    """Ask to be in the next generation; answered when the generation is complete.

    1 rebalance_timeout_ms (KIP-62; in 0 the session time-out serves); 4 a first join without
    member id is refused with one (KIP-394); 5 group_instance_id (KIP-345); 6 flexible; 7 the
    answer names the protocol type (KIP-559); 8 reason (KIP-800); 9 the answer may ask to skip the
    assignment (KIP-814). protocols are in order of preference.
    """

    group_id: str = wire(String)
    session_timeout_ms: int = wire(Int32)
    rebalance_timeout_ms: int = wire(Int32, since=1, default=-1, ignorable=True)
    member_id: str = wire(String)
    group_instance_id: str | None = wire(nullable(String), since=5, default=None)
    protocol_type: str = wire(String)
    protocols: tuple[JoinGroupRequestProtocol, ...] = wire(rows(JoinGroupRequestProtocol))
    reason: str | None = wire(nullable(Text), since=8, default=None, ignorable=True)


_SYNC_GROUP_VERSIONS: Final = range(6)


@message(versions=_SYNC_GROUP_VERSIONS, flexible=4)
class SyncGroupResponse(Message):
    """This member's part: bytes of the embedded protocol, empty when it got nothing.

    1 throttle_time_ms; 2 the client waits it out itself; 4 flexible; 5 protocol_type,
    protocol_name (KIP-559).
    """

    throttle_time_ms: int = wire(Int32, since=1, default=0, ignorable=True)
    error_code: int = wire(Int16, default=0)
    protocol_type: str | None = wire(nullable(String), since=5, default=None, ignorable=True)
    protocol_name: str | None = wire(nullable(String), since=5, default=None, ignorable=True)
    assignment: bytes = wire(Bytes)


@message()
class SyncGroupRequestAssignment(Message):
    """The part of one member, as the leader decided."""

    member_id: str = wire(String)
    assignment: bytes = wire(Bytes)


@message(versions=_SYNC_GROUP_VERSIONS, flexible=4, api=ApiKey.SYNC_GROUP)
class SyncGroupRequest(Request[SyncGroupResponse]):
    """Ask for this member's part; assignments is empty except from the leader.

    3 group_instance_id (KIP-345); 4 flexible; 5 protocol_type and protocol_name, which must equal
    those of the join (KIP-559).
    """

    group_id: str = wire(String)
    generation_id: int = wire(Int32)
    member_id: str = wire(String)
    group_instance_id: str | None = wire(nullable(String), since=3, default=None)
    protocol_type: str | None = wire(nullable(String), since=5, default=None, ignorable=True)
    protocol_name: str | None = wire(nullable(String), since=5, default=None, ignorable=True)
    assignments: tuple[SyncGroupRequestAssignment, ...] = wire(rows(SyncGroupRequestAssignment))


_HEARTBEAT_VERSIONS: Final = range(5)


@message(versions=_HEARTBEAT_VERSIONS, flexible=4)
class HeartbeatResponse(Message):
    """Whether the member still counts; REBALANCE_IN_PROGRESS asks it to rejoin.

    1 throttle_time_ms; 2 the client waits it out itself; 4 flexible.
    """

    throttle_time_ms: int = wire(Int32, since=1, default=0, ignorable=True)
    error_code: int = wire(Int16, default=0)


@message(versions=_HEARTBEAT_VERSIONS, flexible=4, api=ApiKey.HEARTBEAT)
class HeartbeatRequest(Request[HeartbeatResponse]):
    """Tell the coordinator that a member of a generation lives.

    3 group_instance_id: without it a fenced static member learns nothing (KIP-345); 4 flexible.
    """

    group_id: str = wire(String)
    generation_id: int = wire(Int32)
    member_id: str = wire(String)
    group_instance_id: str | None = wire(nullable(String), since=3, default=None)


_LEAVE_GROUP_VERSIONS: Final = range(6)


@message()
class MemberResponse(Message):
    """What became of one member of the batch (3+)."""

    member_id: str = wire(String, since=3)
    group_instance_id: str | None = wire(nullable(String), since=3)
    error_code: int = wire(Int16, since=3, default=0)


@message(versions=_LEAVE_GROUP_VERSIONS, flexible=4)
class LeaveGroupResponse(Message):
    """Whether it worked: error_code for the whole, and per member from 3 on (KIP-345).

    1 throttle_time_ms; 2 the client waits it out itself; 4 flexible.
    """

    throttle_time_ms: int = wire(Int32, since=1, default=0, ignorable=True)
    error_code: int = wire(Int16, default=0)
    members: tuple[MemberResponse, ...] = wire(rows(MemberResponse), since=3, default=())


@message()
class MemberIdentity(Message):
    """One member that leaves (3+).

    Named by member_id, by group_instance_id with member_id empty, or by both.
    """

    member_id: str = wire(String, since=3)
    group_instance_id: str | None = wire(nullable(String), since=3, default=None)
    reason: str | None = wire(nullable(Text), since=5, default=None, ignorable=True)


@message(versions=_LEAVE_GROUP_VERSIONS, flexible=4, api=ApiKey.LEAVE_GROUP)
class LeaveGroupRequest(Request[LeaveGroupResponse]):
    """Leave the group.

    One member_id up to version 2, a batch from 3 on (KIP-345); 4 flexible; 5 reason (KIP-800).
    """

    group_id: str = wire(String)
    member_id: str = wire(String, until=2, default="")
    members: tuple[MemberIdentity, ...] = wire(rows(MemberIdentity), since=3, default=())
