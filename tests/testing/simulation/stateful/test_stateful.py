"""2,000 runs that Hypothesis chooses rule by rule, the same ones each time."""

import pytest

from tests.testing.simulation.stateful.hunting import EXAMPLES, hunt
from tests.testing.simulation.stateful.machine import GroupMachine


def test_no_rule_breaks_a_promise_in_a_few_runs() -> None:
    hunt(GroupMachine, 3)


@pytest.mark.slow
def test_no_rule_breaks_a_promise_in_many_runs() -> None:
    hunt(GroupMachine, EXAMPLES)
