"""The programs of the pages on processing compile, and import what exists; what the page on
semantics says of deaths is what the tests kill processes for.
"""

import ast
import re
from pathlib import Path

import pytest

from kgroup import processing
from kgroup.processing.verdicts import ATTEMPTS, CAUSE, EXPIRES, FIRST_TRIED, GROUP, ORIGIN
from tests.real.deaths import DEATHS, HEADINGS, SHORT

DOCS = Path(__file__).parents[2] / "docs"
NAMES = ("processing", "semantics", "stuck-records", "handler-faults", "stores", "locks")
PAGES = [DOCS / f"{name}.md" for name in NAMES]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
CALL = re.compile(r"\b([A-Z]\w+)\(")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_program_compiles_and_imports_what_exists(page: Path) -> None:
    for program in BLOCK.findall(page.read_text(encoding="utf-8")):
        tree = ast.parse(program)
        compile(tree, page.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        imports: list[ast.stmt] = [
            node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        exec(compile(ast.Module(imports, []), page.name, "exec"), {})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_choice_that_is_named_exists(page: Path) -> None:
    named = set(CALL.findall(page.read_text(encoding="utf-8")))
    elsewhere = {
        "Consumer",
        "KafkaException",
        "Limits",
        "LockLostError",
        "TopicPartition",
        "UnauthorizedError",
    }
    assert named - elsewhere <= set(processing.__all__)


def test_each_header_is_described() -> None:
    page = (DOCS / "stuck-records.md").read_text(encoding="utf-8")
    for header in (ATTEMPTS, CAUSE, EXPIRES, FIRST_TRIED, GROUP, ORIGIN):
        assert f"`{header}`" in page


@pytest.mark.parametrize("name", HEADINGS)
def test_each_line_of_a_diagram_is_one_at_which_a_process_is_killed(name: str) -> None:
    page = (DOCS / "semantics.md").read_text(encoding="utf-8")
    part = page.partition(f"## `{HEADINGS[name]}`\n")[2].partition("\n## ")[0]
    (diagram,) = re.findall(r"```text\n(.*?)```", part, re.DOTALL)
    lines = [line.split()[0] for line in diagram.splitlines()]
    killed = [str(death.line) for death in DEATHS if death.name == name]
    assert [line for line in lines if line != "0"] == killed


def test_each_semantics_has_a_short_case() -> None:
    assert {name for name, _ in SHORT} == {name for name in HEADINGS if "_" not in name}
    assert {(death.name, death.line) for death in DEATHS} >= SHORT
