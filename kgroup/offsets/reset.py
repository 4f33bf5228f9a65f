"""When a position is set by policy, and when that would be wrong.

Decides: `auto_offset_reset` acts in exactly three cases: the coordinator said that nothing is
committed, a partition's leader said that its log does not hold the position, or that leader does
not know the epoch of what was read.
Never: acts on an error, a time-out or silence: a position that is merely not known yet must not
jump to an end of the log (records would be skipped, or all read again).
KIPs: 320 (truncation), 1106 (reset by duration).
"""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, assert_never

from kgroup.errors import LogTruncatedError, NoOffsetError, OffsetOutOfRangeError
from kgroup.types import TopicPartition

__all__ = [
    "LogEnd",
    "LogPlace",
    "ResetPolicy",
    "ResetRule",
    "Since",
    "after_no_commit",
    "after_out_of_range",
    "after_truncation",
]


class ResetPolicy(Enum):
    """What `auto_offset_reset` was set to, when it is a word."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"


class LogEnd(Enum):
    """An end of a log."""

    START = "start"
    END = "end"


@dataclass(frozen=True, slots=True)
class Since:
    """The first record that is no older than this; the end of the log when none is that young.

    1. A leader says that no record is that young; 2. one is written; 3. the end of the log, asked
    for now, is behind it. So the end comes first, and then the question is asked once more.

    Args:
        age: seconds before the question is asked, at least 0.
        none_yet: whether no record was that young when it was asked first.
        end: where the log ended after that, None while that is not known.
    """

    age: float
    none_yet: bool = False
    end: int | None = None


ResetRule: TypeAlias = ResetPolicy | Since
"""What `auto_offset_reset` was set to."""

LogPlace: TypeAlias = LogEnd | Since
"""Where in its log a position is to be set."""


def after_no_commit(rule: ResetRule, tp: TopicPartition) -> LogPlace:
    """Say where to begin a partition for which the group has committed nothing.

    Raises:
        NoOffsetError: the policy is `none`.
    """
    place = _place(rule)
    if place is None:
        raise NoOffsetError([tp])
    return place


def after_out_of_range(rule: ResetRule, tp: TopicPartition, offset: int) -> LogPlace:
    """Say where to go on with a partition whose log does not hold the position.

    Args:
        rule: as configured.
        tp: the partition.
        offset: the position its leader refused.

    Raises:
        OffsetOutOfRangeError: the policy is `none`.
    """
    place = _place(rule)
    if place is None:
        raise OffsetOutOfRangeError({tp: offset})
    return place


def after_truncation(
    rule: ResetRule,
    tp: TopicPartition,
    position: int,
    *,
    leader_epoch: int | None,
    diverged_at: int | None,
) -> int | LogPlace:
    """Say where to go on with a partition whose log lost records that were handed out.

    With a policy reading goes on where the logs part: what stands there now was never read, and
    what stands before it was. Only when the leader cannot tell that place (it does not know the
    epoch) the policy names one; so does Java's consumer (KIP-320).

    Args:
        rule: as configured.
        tp: the partition.
        position: the next offset to hand out.
        leader_epoch: epoch of the record before it, None when not known.
        diverged_at: first offset that is not what was read, None when nobody knows.

    Returns:
        The offset, or the place to ask for.

    Raises:
        LogTruncatedError: the policy is `none`.
    """
    place = _place(rule)
    if place is None:
        raise LogTruncatedError(tp, position, leader_epoch, diverged_at)
    return place if diverged_at is None else diverged_at


def _place(rule: ResetRule) -> LogPlace | None:
    match rule:
        case Since():
            return rule
        case ResetPolicy.EARLIEST:
            return LogEnd.START
        case ResetPolicy.LATEST:
            return LogEnd.END
        case ResetPolicy.NONE:
            return None
        case _:
            assert_never(rule)
