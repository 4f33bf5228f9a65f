"""Level C: whole consumers over loopback sockets, in real time."""

import pytest

from kgroup.testing.simulation.live.run import play_live
from kgroup.testing.simulation.play import play
from kgroup.testing.simulation.schedule import Level, Mode, Schedule
from tests.testing.simulation.live_plans import plan

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_quiet_group_keeps_its_promises_over_sockets(backend: str) -> None:
    schedule = Schedule(Level.C, picks=(), backend=backend)
    slow = plan(session_timeout=12.0, heartbeat_interval=2.0, rebalance_timeout=12.0, quiet_at=6.0)
    outcome = play_live(schedule, plan=slow)
    assert outcome.violations == ()
    assert outcome.events > 100


def test_a_drawn_schedule_ends_in_bounded_time() -> None:
    outcome = play(Schedule(Level.C, Mode.COOPERATIVE, 3))
    assert "crash" not in outcome.rules
    assert "L7" not in outcome.rules
    assert outcome.seconds < 15.0
