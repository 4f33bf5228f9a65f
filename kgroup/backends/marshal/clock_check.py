"""Whether this process's clock agrees with the others' clocks, where claims depend on that.

Decides: with CreateTime, a member does not begin while its clock is ahead of everybody's by more
    than a claim lives. By its clock all claims have expired, and after it no claim would count
    until the other clocks have caught up.
Never: compares with anything but the log; makes a member with a recent message wait.

1. The latest message is older than a claim lives: either nothing was written since, or our clock is
ahead; 2. every owner writes within half an interval, so we look on for as long; 3. the next message
says which of the two it is.
"""

import math
from typing import Final

from kgroup.errors import CoordinationTopicError
from kgroup.marshal.key_state import TTL_MS
from kgroup.net.cluster import Cluster

WATCH: Final = 30.0
"""Seconds that are looked on: half of the longest interval between heartbeats."""
_TTL: Final = TTL_MS / 1000


class ClockCheck:
    """The comparison for one coordination partition.

    Args:
        topic: name of the coordination topic, for the error.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._seen: int | None = None
        self._since = 0.0

    def agrees(self, latest: int, wall: float, now: float) -> bool:
        """Tell whether a member may begin; False while that is not known yet.

        Args:
            latest: time of the latest message, milliseconds since the epoch; -1 without any.
            wall: this process's clock, seconds since the epoch.
            now: monotonic seconds.

        Raises:
            CoordinationTopicError: others write now, and this clock is ahead of theirs.
        """
        ahead = wall - latest / 1000
        if latest < 0 or ahead <= _TTL:
            return True
        if self._seen is None:
            self._seen, self._since = latest, now
            return False
        if latest > self._seen:
            words = (
                f"its timestamps are those of senders, and this machine's clock is {ahead:.0f} s "
                "ahead of theirs: set the clock, or give the topic LogAppendTime"
            )
            raise CoordinationTopicError(self._topic, words)
        return now - self._since >= WATCH


# -- broker clock ----------------------------------------------------------------------------------
#
# What time a message of the log of claims says.
#
# Decides: the broker's time or this machine's, whichever is behind, less a second, in whole
# seconds. Peers of the original library compare it with their own clocks, and take an owner whose
# message is from the future for dead.
# Never: follows a jump of this machine's calendar once a broker has sent its time.


_BEHIND: Final = 1.0
_MS: Final = 1000


class BrokerClock:
    """The brokers' clock as their answers tell it; not moved by jumps of this machine's calendar.

    A broker stamps a batch before its answer arrives, so this clock is behind, never ahead.

    Args:
        cluster: has this machine's clocks.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._ports = cluster.ports
        self._ahead: float | None = None

    def heard(self, append_time: int) -> None:
        """Take an append time in, milliseconds since the epoch, at the moment it arrived."""
        self._ahead = append_time / _MS - self._ports.clock()

    def message_time(self) -> int:
        """Return what a message says that is written now, whole seconds since the epoch."""
        now = self._ports.wall()
        if self._ahead is not None:
            now = min(now, self._ports.clock() + self._ahead)
        return max(math.floor(now - _BEHIND), 0)
