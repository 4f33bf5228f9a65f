import re
from pathlib import Path

import pytest

from kgroup.audit.oracles.promises import Promise
from tests.search.oracles import simulation_oracles
from tests.search.oracles.catalogue import CATALOGUE

ROOT = Path(__file__).parents[3]
LENGTHS = {"S": 10, "C": 10, "D": 9, "K": 3, "T": 3, "E": 4, "L": 11, "B": 8}
IDS = [f"{letter}{number + 1}" for letter, length in LENGTHS.items() for number in range(length)]


def test_every_promise_has_its_row_in_order():
    assert [promise.rule for promise in CATALOGUE] == IDS


@pytest.mark.parametrize("promise", CATALOGUE, ids=lambda promise: promise.rule)
def test_a_promise_is_judged_by_its_oracles_or_elsewhere(promise: Promise):
    assert promise.oracles or promise.elsewhere


def test_the_oracles_of_a_simulation_are_those_of_the_catalogue():
    judging = {oracle for promise in CATALOGUE for oracle in promise.oracles}
    assert {type(oracle) for oracle in simulation_oracles().values()} == judging


def test_the_places_where_promises_are_judged_elsewhere_exist():
    for promise in CATALOGUE:
        for place in re.findall(r"`([a-z]+/[^`]+)`", promise.elsewhere):
            assert (ROOT / place).exists(), f"{promise.rule}: {place}"
