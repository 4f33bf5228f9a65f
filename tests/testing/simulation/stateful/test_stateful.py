"""2,000 runs that Hypothesis chooses rule by rule, the same ones each time."""

import pytest

from tests.testing.simulation.stateful.hunting import EXAMPLES, hunt
from tests.testing.simulation.stateful.machine import GroupMachine

_UNSETTLED = (
    "two oracles accuse what Kafka leaves no way to avoid: S2 the first of three processes with "
    "one instance id, L7 a process that stood still beyond the time it had to close"
)


def test_no_rule_breaks_a_promise_in_a_few_runs() -> None:
    hunt(GroupMachine, 3)


@pytest.mark.slow
@pytest.mark.xfail(run=False, reason=_UNSETTLED)
def test_no_rule_breaks_a_promise_in_many_runs() -> None:
    hunt(GroupMachine, EXAMPLES)
