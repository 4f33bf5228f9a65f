import re
from importlib import import_module
from pathlib import Path

import pytest

from kgroup.audit.oracles import simulation_oracles
from kgroup.audit.oracles.catalogue import CATALOGUE, Promise

ROOT = Path(__file__).parents[3]
LENGTHS = {"S": 10, "C": 10, "D": 9, "K": 3, "T": 3, "E": 4, "L": 11, "B": 8}
IDS = [f"{letter}{number + 1}" for letter, length in LENGTHS.items() for number in range(length)]

NAMED_OTHERWISE = {"B8": "C5"}
"""Promises that are the last sentence of another one, by whose id they are reported."""


def documented(module: str) -> list[str]:
    """Return the rules that the thesis of an oracle's module names."""
    return re.findall(r"^([A-Z]\d+): ", import_module(module).__doc__ or "", re.MULTILINE)


def test_every_promise_has_its_row_in_order():
    assert [promise.rule for promise in CATALOGUE] == IDS


@pytest.mark.parametrize("promise", CATALOGUE, ids=lambda promise: promise.rule)
def test_a_promise_is_judged_by_its_oracles_or_elsewhere(promise: Promise):
    assert promise.oracles or promise.elsewhere
    rule = NAMED_OTHERWISE.get(promise.rule, promise.rule)
    for oracle in promise.oracles:
        assert rule in documented(oracle.__module__), oracle


def test_every_rule_that_an_oracle_documents_is_in_its_row():
    modules = {(p.rule, oracle.__module__) for p in CATALOGUE for oracle in p.oracles}
    for oracle in simulation_oracles().values():
        module = type(oracle).__module__
        for rule in documented(module):
            assert (rule, module) in modules


def test_the_oracles_of_a_simulation_are_those_of_the_catalogue():
    judging = {oracle for promise in CATALOGUE for oracle in promise.oracles}
    assert {type(oracle) for oracle in simulation_oracles().values()} == judging


def test_the_places_where_promises_are_judged_elsewhere_exist():
    for promise in CATALOGUE:
        for place in re.findall(r"`([a-z]+/[^`]+)`", promise.elsewhere):
            assert (ROOT / place).exists(), f"{promise.rule}: {place}"
