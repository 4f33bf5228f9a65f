"""Level C: whole consumers over loopback sockets, in real time.

A machine that is busy for seconds may keep a drawn group from coming to rest (L1), and that is all.
"""

import pytest

from kgroup.journal import Delivered
from tests.search.simulation.live.run import play_live
from tests.search.simulation.live_plans import plan
from tests.search.simulation.play import play
from tests.search.simulation.schedule import Level, Mode, Schedule

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_quiet_group_keeps_its_promises_over_sockets(backend: str) -> None:
    schedule = Schedule(Level.C, picks=(), backend=backend)
    slow = plan(session_timeout=12.0, heartbeat_interval=2.0, rebalance_timeout=12.0, quiet_at=6.0)
    outcome = play_live(schedule, plan=slow)
    assert outcome.violations == ()
    assert outcome.events > 100


def test_a_drawn_schedule_keeps_what_it_can_keep_on_a_busy_machine() -> None:
    outcome = play(Schedule(Level.C, Mode.COOPERATIVE, 3))
    assert set(outcome.rules) <= {"L1"}
    assert outcome.rows


def test_defaults_are_paced_too() -> None:
    """A lease whose margin is not paced would never hold: nobody would be given a record."""
    fast = plan(session_timeout=5.0, heartbeat_interval=1.0, quiet_at=20.0, ends_at=80.0)
    outcome = play_live(Schedule(Level.C, picks=()), plan=fast, keep=True)
    assert any(isinstance(entry.event, Delivered) for entry in outcome.entries)
