"""The mutants themselves: each is a change of the present source, applied in memory only."""

import ast
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.search.mutants.__main__ import options, verdict
from tests.search.mutants.alone import ALONE, INSTEAD, WORLD_LOOKS, Alone
from tests.search.mutants.hunting import Finding, hunt, saved_schedules
from tests.search.mutants.listed import ALL, ELUSIVE, MUTANTS
from tests.search.mutants.mutant import Mutant
from tests.search.mutants.patching import StaleMutantError, changed, install
from tests.search.mutants.plans import PLANS
from tests.search.mutants.playing import WORLD
from tests.search.oracles import simulation_oracles
from tests.search.simulation.recorder import Known, promises
from tests.search.simulation.schedule import Level

ROOT = Path(__file__).parents[3]
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
        install("tests.search.mutants.patching", [("a", "b")])


def test_the_changed_module_is_loaded_in_place_of_the_file_and_the_file_is_left_alone() -> None:
    module, old, new = "kgroup.codes", "__all__ = [", "PLANTED = True\n__all__ = ["
    script = (
        "import json, sys\n"
        "from tests.search.mutants import patching\n"
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


def test_schedules_of_which_only_the_plans_were_looked_at_are_played_when_asked_for() -> None:
    late = next(mutant for mutant in ALL if mutant.first)
    passed = hunt(late, 1)
    assert (passed.first, passed.played, passed.in_use) == (late.first, 0, False)
    assert verdict(passed).startswith("UNPLAYED")
    asked = hunt(late, 1, first=options(["--first", "0"]).first)
    assert (asked.first, asked.played, asked.in_use) == (0, 1, True)


# -- what simulation finds ---------------------------------------------------------------------

SCHEDULES = 300
"""Enough for what is found often; `make search ARGS=mutants` has ten thousand for each."""


def mutant_called(name: str) -> Mutant:
    return next(mutant for mutant in ALL if mutant.name == name)


def test_every_oracle_of_a_simulation_has_a_mutant_of_its_own() -> None:
    named = {*ALONE, *INSTEAD}
    assert not ALONE.keys() & INSTEAD.keys()
    assert named == simulation_oracles().keys() | WORLD_LOOKS
    assert INSTEAD.keys().isdisjoint(promises(PLANS["nothing happens"], Known()))


def looks_in(path: Path) -> Iterator[str]:
    """Yield the rules that a module of the simulation itself says are broken."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called, rule = ast.unparse(node.func), node.args[0]
        says = called == "Violation" or called.endswith("recorder.add")
        if says and isinstance(rule, ast.Constant):
            yield f"{WORLD}{rule.value!s}"


def test_the_looks_at_the_living_world_are_those_that_the_simulation_has() -> None:
    rooms = (ROOT / "tests/search/simulation" / room for room in ("world", "live"))
    modules = [path for room in rooms for path in room.rglob("*.py")]
    assert {name for path in modules for name in looks_in(path)} == WORLD_LOOKS


def seeing(alone: Alone) -> Finding:
    """Hunt a mutant in the plan that stands beside it, or from the first schedule it names on."""
    mutant = mutant_called(alone.mutant)
    if alone.plan:
        mutant = replace(mutant, plan=alone.plan, first=0)
    return hunt(mutant, SCHEDULES, first=mutant.first)


@pytest.mark.slow
@pytest.mark.parametrize("oracle", sorted(ALONE))
def test_without_an_oracle_the_mutant_lives_that_only_it_finds(oracle: str) -> None:
    found = seeing(ALONE[oracle])
    assert oracle in found.oracles
    blind = hunt(found.mutant, found.played, first=found.first, without=[oracle])
    assert not blind.killed, f"found by {blind.oracles} as well"
    assert (blind.first, blind.played) == (found.first, found.played)
    assert blind.played > 0
    assert blind.in_use


@pytest.mark.slow
@pytest.mark.parametrize("oracle", sorted(INSTEAD))
def test_what_stands_for_an_oracle_is_broken_where_the_oracle_finds_the_mutant(oracle: str) -> None:
    found = seeing(ALONE[INSTEAD[oracle]])
    assert found.seed is not None
    asked = hunt(found.mutant, 1, first=found.seed, only=oracle)
    assert asked.oracles == (oracle,)


def test_each_planted_bug_has_a_saved_schedule() -> None:
    assert saved_schedules().keys() == {mutant.name for mutant in ALL}


IN_DRAWN = 40
"""Planted bugs that the schedules which any seed draws must find, without a written plan."""


def test_forty_planted_bugs_are_found_in_drawn_schedules_within_ten_thousand() -> None:
    saved = saved_schedules()
    drawn = [each for each in MUTANTS if not each.plan and saved[each.name]["seed"] < 10_000]
    assert len(drawn) >= IN_DRAWN
