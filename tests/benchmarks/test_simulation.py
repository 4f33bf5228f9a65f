"""The benchmark of simulated groups reckons what the share of each whole test run costs."""

import json

import pytest

from benchmarks.simulation import CORES, ENTRIES, MINUTES, main, share_of
from tests.search.simulation.share import SHARES

RATES = {entry.name: {"runs per second": 10.0} for entry in ENTRIES}
GROUPS = sum(part.schedules for part in SHARES)


def test_the_share_is_all_its_groups_at_the_rates_measured_and_what_else_there_is():
    told = share_of(RATES, {"target T1": 60.0})
    seconds = told["processor seconds"]
    assert seconds["target T1"] == 60.0
    assert sum(seconds.values()) == pytest.approx(GROUPS / 10 + 60)
    assert told["minutes on two cores"] == pytest.approx((GROUPS / 10 + 60) / CORES / 60, abs=0.1)
    assert not told["reached"]


def test_the_aim_is_reached_by_rates_that_are_high_enough():
    rates = {name: {"runs per second": 1000.0} for name in RATES}
    told = share_of(rates, {})
    assert told["reached"]
    assert told["minutes on two cores"] <= MINUTES


@pytest.mark.slow
def test_it_measures_every_level_and_the_share(capsys):
    assert main(["--share", "0.01", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["figures"].keys() == RATES.keys()
    assert len(told["share of each whole test run"]["processor seconds"]) > len(SHARES)
