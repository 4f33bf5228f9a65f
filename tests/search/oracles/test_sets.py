import pytest

from kgroup.audit.oracles import Watch, judge
from kgroup.errors import ConfigError
from kgroup.types import TopicPartition
from tests.audit.histories import good_history
from tests.search.oracles import members_oracles, simulation_oracles

ENDS = {TopicPartition("t", 0): 32, TopicPartition("t", 1): 15, TopicPartition("t", 2): 20}


def test_a_good_history_keeps_every_promise_of_a_simulation():
    oracles = simulation_oracles(partitions={"t": 3}, ends=ENDS)
    assert judge(oracles.values(), good_history().entries) == ()


def test_each_oracle_of_a_simulation_can_be_left_out_by_name():
    names = list(simulation_oracles())
    for name in names:
        assert list(simulation_oracles(without=[name])) == [n for n in names if n != name]


def test_a_name_that_there_is_not_is_refused_with_those_that_there_are():
    with pytest.raises(ConfigError, match=r"'swift'.*lease_held"):
        simulation_oracles(without=["swift"])


def test_a_simulation_judges_all_that_an_audit_does():
    audit = {type(oracle) for oracle in members_oracles().values()}
    assert audit <= {type(oracle) for oracle in simulation_oracles().values()}


def test_every_call_makes_fresh_oracles():
    first, second = simulation_oracles(), simulation_oracles()
    assert not any(first[name] is second[name] for name in first)


def test_what_oracles_share_changes_nothing_they_find():
    """Each of some entries is left out in turn, so that most oracles find something."""
    entries = good_history().entries
    names = list(simulation_oracles())
    for gone in range(0, len(entries), 29):
        rest = entries[:gone] + entries[gone + 1 :]
        together = judge(simulation_oracles().values(), rest)
        alone = [found for name in names for found in judge([simulation_oracles()[name]], rest)]
        assert sorted(map(repr, together)) == sorted(map(repr, alone))


def test_the_ends_are_looked_at_when_the_run_is_over():
    ends: dict[TopicPartition, int] = {}
    watch = Watch(simulation_oracles(ends=ends))
    for entry in good_history().entries:
        watch.observe(entry)
    ends[TopicPartition("t", 0)] = 99
    assert [violation.rule for violation in watch.finish()] == ["D1"]
