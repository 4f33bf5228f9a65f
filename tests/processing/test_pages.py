"""The programs of the pages on processing compile, import what exists, and make what they show."""

import ast
import re
from pathlib import Path

import pytest

from kgroup import processing
from kgroup.processing.verdicts import ATTEMPTS, CAUSE, EXPIRES, FIRST_TRIED, GROUP, ORIGIN

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    DOCS / f"{name}.md" for name in ("processing", "semantics", "stuck-records", "stores", "locks")
]
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
    elsewhere = {"Consumer", "LockLostError", "TopicPartition", "UnauthorizedError"}
    assert named - elsewhere <= set(processing.__all__)


def test_each_header_is_described() -> None:
    page = (DOCS / "stuck-records.md").read_text(encoding="utf-8")
    for header in (ATTEMPTS, CAUSE, EXPIRES, FIRST_TRIED, GROUP, ORIGIN):
        assert f"`{header}`" in page
