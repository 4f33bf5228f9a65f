"""200 runs that Hypothesis chooses rule by rule, the same ones each time.

They are cut into slices, each of its own chance: one of them takes seconds, and a failure names
the slice that `make search ARGS=stateful` repeats and shortens.
"""

import pytest

from tests.search.simulation.stateful.hunting import SLICE, SLICES, hunt
from tests.search.simulation.stateful.machine import GroupMachine


def test_no_rule_breaks_a_promise_in_a_few_runs() -> None:
    hunt(GroupMachine, 3)


@pytest.mark.slow
@pytest.mark.parametrize("chance", range(SLICES))
def test_no_rule_breaks_a_promise_in_many_runs(chance: int) -> None:
    try:
        hunt(GroupMachine, SLICE, chance=chance, shrinks=False)
    except AssertionError as error:
        error.add_note(
            f'make search ARGS="stateful --examples {SLICE} --seed {chance}" shortens it'
        )
        raise
