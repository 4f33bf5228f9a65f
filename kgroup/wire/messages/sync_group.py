"""SyncGroup: the leader hands in the assignment, everybody gets a part of it (KIP-345, 559)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Bytes, Int16, Int32, String, nullable, rows

__all__ = ["SyncGroupRequest", "SyncGroupRequestAssignment", "SyncGroupResponse"]

_VERSIONS: Final = range(6)


@message(versions=_VERSIONS, flexible=4)
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


@message(versions=_VERSIONS, flexible=4, api=ApiKey.SYNC_GROUP)
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
