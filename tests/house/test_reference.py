"""The reference covers the public names, and docstrings tell of arguments that exist."""

import ast
import re
from pathlib import Path

import griffe
import pytest

import kgroup
from tests.house import api
from tests.house.docs import PAGES
from tests.house.reference import arguments
from tests.house.reference_pages import source

HEADING = re.compile(r"^#+ `(\w+)`", re.MULTILINE)
REFERENCE = [path for path in PAGES if path.parent.name == "reference"]
ELSEWHERE = {"ConsumerConfig", "ConsumerOptions"}  # the page of options is about them


@pytest.mark.parametrize("path", PAGES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_generated_page_is_what_would_be_written_now(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == PAGES[path](), "run `make docs`"


def test_every_public_name_is_described() -> None:
    lines = api.render().splitlines()
    assert not [line for line in lines if line.startswith("| `") and "|  |" in line]


def test_type_checkers_see_every_name_that_is_loaded_when_first_used() -> None:
    tree = ast.parse(Path(kgroup.__file__).read_text(encoding="utf-8"))
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    assert set(kgroup.__all__) <= {name.name for node in imports for name in node.names}


def test_every_name_of_the_package_is_in_the_reference() -> None:
    described = {name for path in REFERENCE for name in HEADING.findall(PAGES[path]())}
    assert set(kgroup.__all__) - described == ELSEWHERE


def test_no_page_of_the_reference_is_left_over() -> None:
    assert set(REFERENCE[0].parent.iterdir()) == set(REFERENCE)


def test_a_docstring_names_no_argument_that_does_not_exist() -> None:
    wrong = [
        f"{module.path}.{thing.name}: {argument.name}"
        for module in _modules(source())
        for thing in _documented(module)
        for argument in arguments(thing)
        if argument.annotation is None and argument.name not in thing.members
    ]
    assert not wrong


def _modules(module: griffe.Module) -> list[griffe.Module]:
    below = (part for part in module.members.values() if isinstance(part, griffe.Module))
    return [module, *(deeper for part in below for deeper in _modules(part))]


def _documented(
    scope: griffe.Module | griffe.Class,
) -> list[griffe.Class | griffe.Function]:
    own: list[griffe.Class | griffe.Function] = []
    for thing in scope.members.values():
        if isinstance(thing, griffe.Class):
            own += [thing, *_documented(thing)]
        elif isinstance(thing, griffe.Function):
            own.append(thing)
    return own
