"""Playing whole consumers, one known fault excused.

L3 (one heartbeat in flight): one that is made while SyncGroup is out may wait for its connection,
and the one that is due once the generation stands goes out with it.
"""

from typing import Any

from kgroup.testing.simulation.outcome import Outcome
from kgroup.testing.simulation.play import play
from kgroup.testing.simulation.schedule import Schedule

__all__ = ["play_without_counting_heartbeats"]


def play_without_counting_heartbeats(schedule: Schedule, **how: Any) -> Outcome:
    """Play a schedule, and do not judge how many heartbeats are in flight."""
    return play(schedule, without=("heartbeats",), **how)
