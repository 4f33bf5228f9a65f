"""When a position is set by policy, and when that would be wrong.

Decides: `auto_offset_reset` acts in exactly two cases: the coordinator said that nothing is
committed, or a partition's leader said that its log does not hold the position.
Never: acts on an error, a time-out or silence: a position that is merely not known yet must not
jump to an end of the log (records would be skipped, or all read again).
"""

from enum import Enum
from typing import assert_never

from kgroup.errors import NoOffsetError, OffsetOutOfRangeError
from kgroup.types import TopicPartition

__all__ = ["LogEnd", "ResetPolicy", "after_no_commit", "after_out_of_range"]


class ResetPolicy(Enum):
    """What `auto_offset_reset` was set to."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"


class LogEnd(Enum):
    """Where in its log a position is to be set."""

    START = "start"
    END = "end"


def after_no_commit(policy: ResetPolicy, tp: TopicPartition) -> LogEnd:
    """Say where to begin a partition for which the group has committed nothing.

    Raises:
        NoOffsetError: the policy is `none`.
    """
    end = _end(policy)
    if end is None:
        raise NoOffsetError([tp])
    return end


def after_out_of_range(policy: ResetPolicy, tp: TopicPartition, offset: int) -> LogEnd:
    """Say where to go on with a partition whose log does not hold the position.

    Args:
        policy: as configured.
        tp: the partition.
        offset: the position its leader refused.

    Raises:
        OffsetOutOfRangeError: the policy is `none`.
    """
    end = _end(policy)
    if end is None:
        raise OffsetOutOfRangeError({tp: offset})
    return end


def _end(policy: ResetPolicy) -> LogEnd | None:
    match policy:
        case ResetPolicy.EARLIEST:
            return LogEnd.START
        case ResetPolicy.LATEST:
            return LogEnd.END
        case ResetPolicy.NONE:
            return None
        case _:
            assert_never(policy)
