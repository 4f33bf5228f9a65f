"""When a position is set by policy, and when that would be wrong.

Decides: `auto_offset_reset` acts in exactly three cases: the coordinator said that nothing is
committed, a partition's leader said that its log does not hold the position, or that leader does
not know the epoch of what was read. `Exposed` counts the records of a claim that were handed out
and that no commit covers: a crash would repeat them.
Never: acts on an error, a time-out or silence: a position that is merely not known yet must not
jump to an end of the log (records would be skipped, or all read again). `Exposed` keeps only the
ends of each run of neighbouring offsets.
KIPs: 320 (truncation), 1106 (reset by duration).
"""

from collections import deque
from collections.abc import Sequence
from enum import Enum
from typing import TypeAlias, assert_never

from kgroup.errors import LogTruncatedError, NoOffsetError, OffsetOutOfRangeError
from kgroup.types import TopicPartition
from kgroup.values import dataclass


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

    With a policy reading goes on where the logs diverge: records from there on were never read, and
    records before it were. Only when the leader cannot name that offset (it does not know the
    epoch) the policy names one; so does Java's consumer (KIP-320).

    Args:
        rule: as configured.
        tp: the partition.
        position: the next offset to hand out.
        leader_epoch: epoch of the record before it, None when not known.
        diverged_at: first offset where the logs differ, None when it is not known.

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


# -- exposed ---------------------------------------------------------------------------------------


class Exposed:
    """Runs of neighbouring offsets, rising; each is what a crash would repeat."""

    __slots__ = ("_runs", "count")

    def __init__(self) -> None:
        self.count: int = 0
        """How many records there are."""
        self._runs: deque[tuple[int, int]] = deque()

    def add(self, offsets: Sequence[int]) -> None:
        """Take in records that were just handed out.

        Args:
            offsets: one per record, rising, all behind those that are here.
        """
        if not offsets:
            return
        first, after = offsets[0], offsets[-1] + 1
        if after - first == len(offsets):
            self._put(first, after)
        else:
            for offset in offsets:
                self._put(offset, offset + 1)
        self.count += len(offsets)

    def cover(self, offset: int) -> None:
        """Forget records before an offset: they are committed."""
        while self._runs and self._runs[0][0] < offset:
            first, after = self._runs.popleft()
            self.count -= min(after, offset) - first
            if after > offset:
                self._runs.appendleft((offset, after))

    def cut(self, offset: int) -> None:
        """Forget records from an offset on: they will be handed out again."""
        while self._runs and self._runs[-1][1] > offset:
            first, after = self._runs.pop()
            self.count -= after - max(first, offset)
            if first < offset:
                self._runs.append((first, offset))

    def _put(self, first: int, after: int) -> None:
        if self._runs and self._runs[-1][1] == first:
            first = self._runs.pop()[0]
        self._runs.append((first, after))
