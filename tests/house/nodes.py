"""The tests there are, found in their source: nothing is imported and nothing runs.

Decides: what a node id such as `tests/x/test_y.py::test_z` must name to exist, and which tests
run on a real Kafka.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, TypeGuard

__all__ = ["Node", "all_nodes"]

_ROOT: Final = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Node:
    """One test.

    Args:
        name: its node id, without parameters.
        real: whether it is marked to run on a real Kafka.
    """

    name: str
    real: bool


@cache
def all_nodes() -> dict[str, Node]:
    """Return every test function and method by its node id."""
    files = sorted((_ROOT / "tests").rglob("test_*.py"))
    return {node.name: node for path in files for node in _nodes(path)}


def _nodes(path: Path) -> Iterator[Node]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    place = path.relative_to(_ROOT).as_posix()
    whole = any(_sets_mark(each) for each in tree.body)
    for scope in (each for each in tree.body if isinstance(each, ast.ClassDef)):
        marked = whole or _marked(scope)
        yield from _tests(scope.body, f"{place}::{scope.name}", marked)
    yield from _tests(tree.body, place, whole)


def _tests(body: list[ast.stmt], place: str, marked: bool) -> Iterator[Node]:
    for each in body:
        if _is_test(each):
            yield Node(f"{place}::{each.name}", marked or _marked(each))


def _is_test(node: ast.stmt) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return isinstance(node, kinds) and node.name.startswith("test_")


def _sets_mark(node: ast.stmt) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
            return "mark.real" in ast.unparse(value)
        case _:
            return False


def _marked(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("mark.real" in ast.unparse(each) for each in node.decorator_list)
