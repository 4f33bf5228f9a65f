"""Heartbeat: keep a session alive and learn of a rebalance (KIP-345)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Int16, Int32, String, nullable

__all__ = ["HeartbeatRequest", "HeartbeatResponse"]

_VERSIONS: Final = range(5)


@message(versions=_VERSIONS, flexible=4)
class HeartbeatResponse(Message):
    """Whether the member still counts; REBALANCE_IN_PROGRESS asks it to rejoin.

    1 throttle_time_ms; 2 the client waits it out itself; 4 flexible.
    """

    throttle_time_ms: int = wire(Int32, since=1, default=0, ignorable=True)
    error_code: int = wire(Int16, default=0)


@message(versions=_VERSIONS, flexible=4, api=ApiKey.HEARTBEAT)
class HeartbeatRequest(Request[HeartbeatResponse]):
    """Tell the coordinator that a member of a generation lives.

    3 group_instance_id: without it a fenced static member is not told (KIP-345); 4 flexible.
    """

    group_id: str = wire(String)
    generation_id: int = wire(Int32)
    member_id: str = wire(String)
    group_instance_id: str | None = wire(nullable(String), since=3, default=None)
