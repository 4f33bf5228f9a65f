"""The tests there are, found in their source: nothing is imported and nothing runs.

Decides: what a node id below `tests/`, such as `x/test_y.py::test_z`, must name to exist, which
tests run on a real Kafka, and how the tests behind a statement are shown on a page.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

_TESTS: Final = Path(__file__).parents[1]
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def all_nodes() -> dict[str, bool]:
    """Return node id -> whether it runs on a real Kafka, of every test function and method."""
    return dict(node for path in sorted(_TESTS.rglob("test_*.py")) for node in _nodes(path))


def missing(nodes: Iterable[str]) -> list[str]:
    """Return those of some node ids that name no test."""
    return [node for node in nodes if node not in all_nodes()]


def shown(nodes: Iterable[str]) -> str:
    """Return tests as links within a cell of a table."""
    pairs = (node.partition("::") for node in nodes)
    return "<br>".join(f"[{file}](../tests/{file}) `{test}`" for file, _, test in pairs)


@cache
def functions(file: str) -> dict[str, _Function]:
    """Return name -> source of the functions of a module below `tests/`."""
    tree = ast.parse((_TESTS / file).read_text(encoding="utf-8"))
    return {each.name: each for each in tree.body if isinstance(each, _Function)}


def _nodes(path: Path) -> Iterator[tuple[str, bool]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    place = path.relative_to(_TESTS).as_posix()
    whole = any(_sets_mark(each) for each in tree.body)
    for scope in (each for each in tree.body if isinstance(each, ast.ClassDef)):
        yield from _tests(scope.body, f"{place}::{scope.name}", whole or _marked(scope))
    yield from _tests(tree.body, place, whole)


def _tests(body: list[ast.stmt], place: str, marked: bool) -> Iterator[tuple[str, bool]]:
    for each in body:
        if isinstance(each, _Function) and each.name.startswith("test_"):
            yield f"{place}::{each.name}", marked or _marked(each)


def _sets_mark(node: ast.stmt) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
            return "mark.real" in ast.unparse(value)
        case _:
            return False


def _marked(node: ast.ClassDef | _Function) -> bool:
    return any("mark.real" in ast.unparse(each) for each in node.decorator_list)
