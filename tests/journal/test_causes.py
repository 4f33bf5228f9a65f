"""The words by which oracles know why a member changed its state are those of its table."""

import pytest

from kgroup.journal.faults import StateCause
from kgroup.membership.triggers import Trigger


@pytest.mark.parametrize("cause", StateCause)
def test_a_cause_is_the_word_of_the_trigger_of_its_name(cause: StateCause) -> None:
    assert cause == Trigger[cause.name].value
