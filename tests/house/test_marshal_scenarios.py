"""Each scenario of Marshal mode has tests that exist, and one that names the scenario it plays.

The same holds for every kind of bad input in its log, and for what real brokers are asked, version
by version.
"""

import ast
import re
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from tests.house.nodes import all_nodes, functions, missing

TESTS: Final = Path(__file__).parents[1]
ROWS: Final[dict[str, list[dict[str, Any]]]] = tomllib.loads(
    (TESTS / "marshal" / "scenarios.toml").read_text(encoding="utf-8")
)
SCENARIOS: Final = ROWS["scenarios"]

BAD_INPUT: Final = """
    garbage first, last and only; null value; value of 1 MB; partition -1; partition 2^31-1;
    a slash in ids, at construction; unknown types; unknown versions;
    timestamps in the far past and future; coordination topic: compacted;
    coordination topic: another partition count; coordination topic: deleted;
    coordination topic: loses its tail
"""

BOTH: Final = {"BOTH", "CROSSED"}
"""Decorators by which a test is played on both versions."""


def named(row: dict[str, Any]) -> str:
    return str(row.get("number", row.get("what")))


def test_there_are_thirty_scenarios_and_none_is_left_out() -> None:
    assert [row["number"] for row in SCENARIOS] == [*range(1, 31)]
    assert all(row["sense"] for row in SCENARIOS)


def test_no_kind_of_bad_input_is_left_out() -> None:
    wanted = [" ".join(each.split()) for each in BAD_INPUT.split(";")]
    assert [row["what"] for row in ROWS["bad_input"]] == wanted


@pytest.mark.parametrize("row", [row for rows in ROWS.values() for row in rows], ids=named)
def test_every_row_names_tests_and_they_exist(row: dict[str, Any]) -> None:
    assert row["tests"]
    assert len(set(row["tests"])) == len(row["tests"])
    assert not missing(row["tests"])


@pytest.mark.parametrize("row", SCENARIOS, ids=named)
def test_a_test_of_each_scenario_says_its_number(row: dict[str, Any]) -> None:
    docstrings = [ast.get_docstring(function(node)) or "" for node in row["tests"]]
    assert str(row["number"]) in re.findall(r"[Ss]cenario (\d+)", " ".join(docstrings))


@pytest.mark.parametrize("row", ROWS["bad_input"], ids=named)
def test_the_file_of_the_first_test_holds_what_the_row_names(row: dict[str, Any]) -> None:
    file = row["tests"][0].partition("::")[0]
    assert row.get("says", "") in (TESTS / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("row", ROWS["real"], ids=named)
def test_each_version_of_a_real_broker_is_asked(row: dict[str, Any]) -> None:
    for node in row["tests"]:
        assert all_nodes()[node]
        assert versions(node) == set(row["versions"])


def versions(node: str) -> set[str]:
    """Return the versions of Kafka that a test is played on, as its source says."""
    found = function(node)
    decorators = [ast.unparse(each) for each in found.decorator_list]
    if "kafka_391" in {arg.arg for arg in found.args.args}:
        return {"3.9.1"}
    if BOTH & set(decorators):
        return {"4.3.1", "3.9.1"}
    return {each for each in ("4.3.1", "3.9.1") if any(each in text for text in decorators)}


def function(node: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """Return the source of a test."""
    file, _, name = node.partition("::")
    return functions(file)[name]
