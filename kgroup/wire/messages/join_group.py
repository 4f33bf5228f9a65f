"""JoinGroup: enter a group, or enter its next generation (KIP-62, 345, 394, 559, 800, 814)."""

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
    "JoinGroupRequest",
    "JoinGroupRequestProtocol",
    "JoinGroupResponse",
    "JoinGroupResponseMember",
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
