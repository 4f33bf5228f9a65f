"""The benchmark of shrinking takes what groups of machines can show, and nothing else."""

from benchmarks.shrinking import wanted_of
from tests.search.mutants.mutant import Stage
from tests.search.simulation.schedule import Level


def test_only_mutants_that_drawn_groups_of_machines_find_are_made_smaller():
    wanted = wanted_of(())
    assert len(wanted) >= 40
    assert {each.stage for each in wanted} == {Stage.GROUPS}
    assert {each.level for each in wanted} == {Level.A}
    assert not any(each.plan for each in wanted)
