"""What time a message of the log of claims says.

Decides: the broker's time or this machine's, whichever is behind, less a second, in whole seconds.
Peers of the original library compare it with their own clocks, and take an owner whose message is
from the future for dead.
Never: follows a jump of this machine's calendar once a broker has told its time.
"""

import math
from typing import Final

from kgroup.net.cluster import Cluster

__all__ = ["BrokerClock"]

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
