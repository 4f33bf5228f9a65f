"""The share of the search that every whole test run does; campaigns do more.

Seeds are fixed, so that a run that passed passes again: `make simulate` draws others.
"""

import pytest

from kgroup.testing.simulation.campaign import Campaign, run_campaign
from kgroup.testing.simulation.schedule import Level, Mode
from tests.testing.simulation import excused

pytestmark = pytest.mark.slow

GROUPS = 5_000
IN_ONE_TEST = 1_000
"""So that none takes minutes, in which nobody knows whether it hangs."""
THROUGH_BYTES = 400
WHOLE_CONSUMERS = 100
"""On each backend."""
WHOLE_IN_ONE_TEST = 50
EXCUSED = f"{excused.__name__}:{excused.play_without_counting_heartbeats.__name__}"


def kept(campaign: Campaign) -> None:
    found = run_campaign(campaign)
    broken = [f"{each.schedule}: {', '.join(each.rules)}" for each in found.failures]
    assert not broken, f"{'; '.join(broken)}; `kgroup simulate` draws them"
    assert found.good
    assert found.tally.runs == campaign.schedules
    assert found.checked >= campaign.schedules // 100


@pytest.mark.parametrize("first", range(0, GROUPS, IN_ONE_TEST))
def test_no_group_of_machines_breaks_a_promise(first: int) -> None:
    kept(Campaign(schedules=IN_ONE_TEST, seed=first))


def test_no_group_breaks_a_promise_when_its_messages_are_bytes() -> None:
    kept(Campaign(schedules=THROUGH_BYTES, seed=1, level=Level.A_BYTES))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("first", range(0, WHOLE_CONSUMERS, WHOLE_IN_ONE_TEST))
def test_no_group_of_whole_consumers_breaks_a_promise(backend: str, first: int) -> None:
    asked = Campaign(
        schedules=WHOLE_IN_ONE_TEST, seed=first, level=Level.B, backend=backend, world=EXCUSED
    )
    kept(asked)


@pytest.mark.parametrize("mode", [Mode.EAGER, Mode.COOPERATIVE, Mode.STATIC])
def test_no_group_of_one_kind_breaks_a_promise(mode: Mode) -> None:
    kept(Campaign(schedules=200, seed=1, mode=mode))
