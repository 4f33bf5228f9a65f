"""Faults planted in the member are found by drawn rooms."""

import pytest

from tests.search.mutants.hunting import hunt, saved_schedules
from tests.search.mutants.listed import MUTANTS
from tests.search.mutants.mutant import Mutant, Stage

OF_MEMBERS = {mutant.name: mutant for mutant in MUTANTS if mutant.stage is Stage.ROOMS}
SEEDS = {name: saved["seed"] for name, saved in saved_schedules().items() if name in OF_MEMBERS}


def test_five_faults_of_a_members_keys_and_more_are_found_by_rooms_alone() -> None:
    assert len(OF_MEMBERS) >= 5
    assert all(SEEDS[name] is not None for name in OF_MEMBERS)


MOST = 8
"""Rooms; other rooms than the saved ones, once a member does something else."""

FIRST = [mutant for mutant in OF_MEMBERS.values() if (SEEDS[mutant.name] or 0) <= 1]
"""Found by one of the first two rooms; `make search ARGS=mutants` hunts them all."""


@pytest.mark.faults  # it takes long
@pytest.mark.slow
@pytest.mark.parametrize("mutant", FIRST, ids=lambda each: each.name)
def test_a_planted_fault_is_found_within_a_few_rooms(mutant: Mutant) -> None:
    assert hunt(mutant, MOST).killed
