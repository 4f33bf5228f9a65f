"""What a consumer does about an error code of one partition in a Fetch or ListOffsets answer.

Decides: the reaction to every code.
Never: carries it out, or resets a position by itself: out of range is reported, `reset` decides.
KIPs: 320 (74, 75), 405 (78), 516 (100, 103).
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from kgroup.codes import ErrorCode, is_retriable

__all__ = ["FetchReaction", "fetch_reaction"]


class FetchReaction(Enum):
    """What to do about one partition."""

    SUCCEED = "no error"
    REFRESH = "ask for metadata, then again, with backoff"
    RETRY = "again, with backoff"
    OUT_OF_RANGE = "the log does not hold the position: reset by policy"
    UNAUTHORIZED = "an error for the partition; asked again slowly, an ACL may be granted"
    CORRUPT = "an error for the partition until it is sought away from"
    REFUSE = "an error for the partition until it is sought away from; nothing else is known"


_E = ErrorCode
_R = FetchReaction

_CELLS: Final[Mapping[int, FetchReaction]] = MappingProxyType(
    {
        _E.NONE: _R.SUCCEED,
        _E.OFFSET_OUT_OF_RANGE: _R.OUT_OF_RANGE,
        _E.CORRUPT_MESSAGE: _R.CORRUPT,
        _E.UNKNOWN_TOPIC_OR_PARTITION: _R.REFRESH,
        _E.LEADER_NOT_AVAILABLE: _R.REFRESH,
        _E.NOT_LEADER_OR_FOLLOWER: _R.REFRESH,
        _E.REPLICA_NOT_AVAILABLE: _R.REFRESH,
        _E.TOPIC_AUTHORIZATION_FAILED: _R.UNAUTHORIZED,
        _E.KAFKA_STORAGE_ERROR: _R.REFRESH,
        _E.FENCED_LEADER_EPOCH: _R.REFRESH,
        # 1. We heard of a new leader. 2. The broker we ask has not. Nothing to learn: wait.
        _E.UNKNOWN_LEADER_EPOCH: _R.RETRY,
        _E.OFFSET_NOT_AVAILABLE: _R.REFRESH,
        _E.UNKNOWN_TOPIC_ID: _R.REFRESH,
        _E.INCONSISTENT_TOPIC_ID: _R.REFRESH,
        # Meant for followers; a consumer that gets it can only wait.
        _E.OFFSET_MOVED_TO_TIERED_STORAGE: _R.RETRY,
        _E.UNKNOWN_SERVER_ERROR: _R.RETRY,
    }
)


def fetch_reaction(code: int) -> FetchReaction:
    """Return the reaction to a partition's error code; total over all numbers."""
    default = _R.RETRY if is_retriable(code) else _R.REFUSE
    return _CELLS.get(code, default)
