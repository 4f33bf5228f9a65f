"""LeaveGroup: give a membership up before its session runs out (KIP-345, 800)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Int16, Int32, String, Text, nullable, rows

__all__ = ["LeaveGroupRequest", "LeaveGroupResponse", "MemberIdentity", "MemberResponse"]

_VERSIONS: Final = range(6)


@message()
class MemberResponse(Message):
    """What became of one member of the batch (3+)."""

    member_id: str = wire(String, since=3)
    group_instance_id: str | None = wire(nullable(String), since=3)
    error_code: int = wire(Int16, since=3, default=0)


@message(versions=_VERSIONS, flexible=4)
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


@message(versions=_VERSIONS, flexible=4, api=ApiKey.LEAVE_GROUP)
class LeaveGroupRequest(Request[LeaveGroupResponse]):
    """Leave the group.

    One member_id up to version 2, a batch from 3 on (KIP-345); 4 flexible; 5 reason (KIP-800).
    """

    group_id: str = wire(String)
    member_id: str = wire(String, until=2, default="")
    members: tuple[MemberIdentity, ...] = wire(rows(MemberIdentity), since=3, default=())
