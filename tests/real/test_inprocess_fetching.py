"""The in-process broker answers Fetch as real brokers do: the same raw requests to both.

What one broker cannot show is in `tests/testing/broker/test_fetching*.py` alone: followers, moves
of leaders, epochs that part.
"""

from contextlib import ExitStack

import pytest

from kgroup.testing.kafka import RealKafka
from tests.real.fetch_scripts import SCRIPTS, Script
from tests.real.fetch_talk import Talk
from tests.real.fetch_worlds import CoreWorld, RealWorld

pytestmark = [pytest.mark.real, pytest.mark.no_stand_in("it is compared with a real one")]


@pytest.mark.parametrize("kafka", ["4.3.1", "3.9.1"], indirect=True)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_the_same_requests_get_the_same_answers(kafka: RealKafka, script: Script) -> None:
    core = Talk(CoreWorld())
    script(core)
    with ExitStack() as stack:
        real = Talk(RealWorld(kafka, stack))
        script(real)
    assert core.seen.lines == real.seen.lines
    assert len(core.seen.lines) >= 5
