"""The mutants themselves: each is a change of the present source, applied in memory only."""

import ast
import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kgroup.journal.oracles import simulation_oracles
from kgroup.testing.simulation.promises import Known, promises
from kgroup.testing.simulation.schedule import Level
from tests.mutants.alone import ALONE, INSTEAD
from tests.mutants.hunting import hunt
from tests.mutants.ledger import LEDGER
from tests.mutants.listed import ALL, ELUSIVE, MUTANTS
from tests.mutants.mutant import Mutant
from tests.mutants.patching import StaleMutantError, changed, install
from tests.mutants.plans import PLANS
from tests.mutants.playing import WORLD

ROOT = Path(__file__).parents[2]
PURE = ("machine", "membership", "offsets", "assignors", "wire")


def source_of(module: str) -> str:
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text(encoding="utf-8")


def pairs(mutant: Mutant) -> list[tuple[str, str]]:
    return [(change.old, change.new) for change in mutant.changes]


def name_of(mutant: Mutant) -> str:
    return mutant.name.replace(" ", "-")


@pytest.mark.parametrize("mutant", ALL, ids=name_of)
def test_every_mutant_applies_to_the_present_source_and_changes_what_it_does(
    mutant: Mutant,
) -> None:
    source = source_of(mutant.module)
    mutated = changed(source, pairs(mutant))
    assert ast.dump(ast.parse(mutated)) != ast.dump(ast.parse(source))


def test_there_are_forty_that_must_be_found_and_the_others_say_why_not() -> None:
    assert len(MUTANTS) >= 40
    assert all(mutant.eludes for mutant in ELUSIVE)


def test_every_mutant_has_a_name_of_its_own() -> None:
    assert len({mutant.name for mutant in ALL}) == len(ALL)


def test_faults_of_pure_rooms_are_found_where_schedules_are_cheap() -> None:
    pure = [m for m in ALL if m.module.split(".")[1] in PURE]
    assert [m.name for m in pure if m.level is not Level.A] == []


def test_a_change_that_does_not_occur_exactly_once_is_refused() -> None:
    with pytest.raises(StaleMutantError, match="2 times"):
        changed("a = 1\na = 1\n", [("a = 1\n", "a = 2\n")])
    with pytest.raises(StaleMutantError, match="0 times"):
        changed("a = 1\n", [("b = 1\n", "b = 2\n")])


def test_a_module_that_is_imported_already_cannot_be_changed() -> None:
    with pytest.raises(RuntimeError, match="imported already"):
        install("tests.mutants.patching", [("a", "b")])


def test_the_changed_module_is_loaded_in_place_of_the_file_and_the_file_is_left_alone() -> None:
    module, old, new = "kgroup.codes", "__all__ = [", "PLANTED = True\n__all__ = ["
    script = (
        "import json, sys\n"
        "from tests.mutants import patching\n"
        f"patching.install({module!r}, [({old!r}, {new!r})])\n"
        f"import {module} as loaded\n"
        f"json.dump([loaded.PLANTED, patching.installed({module!r})], sys.stdout)\n"
    )
    before = source_of(module)
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert json.loads(ran.stdout) == [True, True]
    assert source_of(module) == before


# -- what simulation finds ---------------------------------------------------------------------

SCHEDULES = 300
"""Enough for what is found often; `make mutants` has ten thousand for each."""


def mutant_called(name: str) -> Mutant:
    return next(mutant for mutant in ALL if mutant.name == name)


def test_every_oracle_of_a_simulation_has_a_mutant_of_its_own() -> None:
    named = {*ALONE, *INSTEAD}
    assert not ALONE.keys() & INSTEAD.keys()
    assert {each for each in named if not each.startswith(WORLD)} == simulation_oracles().keys()
    assert INSTEAD.keys().isdisjoint(promises(PLANS["nothing happens"], Known()))


@pytest.mark.slow
@pytest.mark.parametrize("oracle", sorted(ALONE))
def test_without_an_oracle_the_mutant_lives_that_only_it_finds(oracle: str) -> None:
    alone = ALONE[oracle]
    mutant = mutant_called(alone.mutant)
    if alone.plan:
        mutant = replace(mutant, plan=alone.plan)
    found = hunt(mutant, SCHEDULES)
    assert oracle in found.oracles
    blind = hunt(mutant, found.played, without=[oracle])
    assert not blind.killed, f"found by {blind.oracles} as well"


@pytest.mark.slow
@pytest.mark.parametrize("oracle", sorted(INSTEAD))
def test_what_stands_for_an_oracle_is_broken_where_the_oracle_finds_the_mutant(oracle: str) -> None:
    mutant = mutant_called(ALONE[INSTEAD[oracle]].mutant)
    found = hunt(mutant, SCHEDULES)
    assert found.seed is not None
    asked = hunt(mutant, 1, first=found.seed, only=oracle)
    assert asked.oracles == (oracle,)


def test_the_ledger_is_about_the_mutants_there_are() -> None:
    ledger = json.loads(LEDGER.read_text(encoding="utf-8"))
    killed = {row["name"] for row in ledger["mutants"] if row["killed by"]}
    assert {mutant.name for mutant in MUTANTS} <= killed
    assert {row["name"] for row in ledger["mutants"]} == {mutant.name for mutant in ALL}
