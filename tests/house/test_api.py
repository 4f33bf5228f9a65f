"""What is public is documented, and what is documented is public."""

import ast
from pathlib import Path

import kgroup
from tests.house.api import PAGE, documented, exported, render


def test_the_documented_names_are_the_exported_ones() -> None:
    assert documented(PAGE.read_text(encoding="utf-8")) == exported(), "run `make docs`"


def test_the_page_is_the_one_that_would_be_written_now() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run `make docs`"


def test_every_public_name_is_described() -> None:
    bare = [line for line in render().splitlines() if line.startswith("| `") and "|  |" in line]
    assert not bare


def test_type_checkers_see_every_name_that_is_loaded_when_first_used() -> None:
    tree = ast.parse(Path(kgroup.__file__).read_text(encoding="utf-8"))
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    seen = {name.name for node in imports for name in node.names}
    assert set(kgroup.__all__) <= seen
