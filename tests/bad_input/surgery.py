"""Frames of answers, cut open: where a length stands in the bytes, and bytes put in its place.

Positions are those of the newest versions (`NEW`) and of the last ones before KIP-482 (`OLD`), in
the whole frame, the 4 bytes of its size included.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from kgroup.codes import ApiKey
from kgroup.testing import InProcessBroker
from kgroup.wire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FetchRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from kgroup.wire.schema import Request, replace

Kind = type[Request[Any]]

ASKED: Final[tuple[Kind, ...]] = (
    ApiVersionsRequest,
    MetadataRequest,
    FindCoordinatorRequest,
    JoinGroupRequest,
    SyncGroupRequest,
    HeartbeatRequest,
    OffsetFetchRequest,
    ListOffsetsRequest,
    FetchRequest,
    OffsetCommitRequest,
)
"""Whatever a member that reads asks for."""

_ASSIGNOR: Final = b"cooperative-sticky"


def _behind_assignor(frame: bytes) -> int:
    return frame.index(_ASSIGNOR) + len(_ASSIGNOR)


NEW: Final[Mapping[Kind, Callable[[bytes], int]]] = {
    ApiVersionsRequest: lambda _: 10,  # its keys
    MetadataRequest: lambda _: 13,  # brokers
    FindCoordinatorRequest: lambda _: 13,  # coordinators
    JoinGroupRequest: _behind_assignor,  # leader
    SyncGroupRequest: _behind_assignor,  # assignment
    OffsetFetchRequest: lambda _: 13,  # groups
    ListOffsetsRequest: lambda _: 13,  # topics
    FetchRequest: lambda _: 19,  # topics
    OffsetCommitRequest: lambda _: 13,  # topics
    LeaveGroupRequest: lambda _: 15,  # members
}
"""Where the varint of a length or count stands that may not be null."""

OLD: Final[Mapping[Kind, tuple[int, int]]] = {
    ApiVersionsRequest: (10, 4),
    MetadataRequest: (12, 4),
    FindCoordinatorRequest: (14, 2),
    JoinGroupRequest: (18, 2),
    SyncGroupRequest: (14, 4),
    OffsetFetchRequest: (12, 4),
    ListOffsetsRequest: (12, 4),
    FetchRequest: (18, 4),
    OffsetCommitRequest: (12, 4),
}
"""Where a length or count stands in older versions, and its bytes."""

_LAST_PLAIN: Final[Mapping[int, int]] = {
    ApiKey.METADATA: 8,
    ApiKey.FIND_COORDINATOR: 2,
    ApiKey.JOIN_GROUP: 5,
    ApiKey.SYNC_GROUP: 3,
    ApiKey.HEARTBEAT: 3,
    ApiKey.OFFSET_FETCH: 5,
    ApiKey.LIST_OFFSETS: 5,
    ApiKey.FETCH: 11,
    ApiKey.OFFSET_COMMIT: 7,
    ApiKey.LEAVE_GROUP: 3,
}


def resized(frame: bytes) -> bytes:
    """Return a frame whose size says what it has."""
    return (len(frame) - 4).to_bytes(4, "big") + frame[4:]


def spliced(frame: bytes, at: int, data: bytes, instead_of: int = 1) -> bytes:
    """Return a frame with other bytes from a position on; it stays a whole frame."""
    return resized(frame[:at] + data + frame[at + instead_of :])


def without_flexible_versions(broker: InProcessBroker) -> None:
    """Have the broker offer the last versions before KIP-482 at most, from now on."""

    def older(_: ApiVersionsRequest, answer: ApiVersionsResponse) -> ApiVersionsResponse:
        keys = tuple(
            replace(row, max_version=min(row.max_version, _LAST_PLAIN.get(row.api_key, 99)))
            for row in answer.api_keys
        )
        return replace(answer, api_keys=keys)

    broker.answers.rewrite(ApiVersionsRequest, older, times=None)
