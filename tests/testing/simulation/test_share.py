"""The share of the search that every whole test run does; campaigns do more.

Seeds are fixed, so that a run that passed passes again: `make simulate` draws others.
"""

import pytest

from kgroup.testing.simulation.campaign import Campaign, Found, run_campaign
from kgroup.testing.simulation.schedule import Level, Mode
from tests.testing.simulation import excused

pytestmark = pytest.mark.slow

GROUPS = 20_000
THROUGH_BYTES = 1_000
WHOLE_CONSUMERS = 250
"""On each backend."""
EXCUSED = f"{excused.__name__}:{excused.play_without_counting_heartbeats.__name__}"


def played(level: Level, schedules: int) -> Found:
    return kept(Campaign(schedules=schedules, seed=1, level=level))


def kept(campaign: Campaign) -> Found:
    found = run_campaign(campaign)
    level = campaign.level
    broken = [f"{each.schedule.seed}: {', '.join(each.rules)}" for each in found.failures]
    assert not broken, f"level {level.value}: {'; '.join(broken)}; `kgroup simulate` draws them"
    assert found.good
    return found


def test_no_group_of_machines_breaks_a_promise() -> None:
    found = played(Level.A, GROUPS)
    assert found.tally.runs == GROUPS
    assert found.checked >= GROUPS // 100


def test_no_group_breaks_a_promise_when_its_messages_are_bytes() -> None:
    assert played(Level.A_BYTES, THROUGH_BYTES).tally.runs == THROUGH_BYTES


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_no_group_of_whole_consumers_breaks_a_promise(backend: str) -> None:
    count = WHOLE_CONSUMERS
    asked = Campaign(schedules=count, seed=1, level=Level.B, backend=backend, world=EXCUSED)
    assert kept(asked).tally.runs == count


@pytest.mark.parametrize("mode", [Mode.EAGER, Mode.COOPERATIVE, Mode.STATIC])
def test_no_group_of_one_kind_breaks_a_promise(mode: Mode) -> None:
    found = run_campaign(Campaign(schedules=300, seed=1, mode=mode))
    assert not found.failures
