"""Every kind of event in the log has a writer and a reader."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgroup.journal.events.vocabulary import EVENT_CLASSES

ROOT = Path(__file__).parents[2]

NAMES = [kind.__name__ for kind in EVENT_CLASSES]
READERS = ("kgroup/journal/", "kgroup/audit/", "tests/search/oracles/")
"""Oracles and the audit; the journal itself writes nothing."""

FOR_PEOPLE = frozenset({"KeyChanged", "MessageRejected"})
"""Events that explain a log to its reader; no promise is judged by them."""


def trees() -> Iterator[tuple[str, ast.Module]]:
    search = ROOT / "tests" / "search"
    folders = (ROOT / "kgroup", search / "simulation", search / "oracles")
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith("kgroup/journal/events/") and name != "kgroup/journal/__init__.py":
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def taken(tree: ast.Module) -> set[str]:
    """Return the names that a module takes from the journal: others have the same ones."""
    taking = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    of_journal = (each for each in taking if (each.module or "").startswith("kgroup.journal"))
    return {alias.name for each in of_journal for alias in each.names}


def called(tree: ast.Module) -> set[str]:
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {each.id for each in calls if isinstance(each, ast.Name)}


@pytest.fixture(scope="module")
def written() -> set[str]:
    makers = ((name, tree) for name, tree in trees() if not name.startswith(READERS))
    return {kind for _, tree in makers for kind in taken(tree) & called(tree)}


@pytest.fixture(scope="module")
def read() -> set[str]:
    lookers = (tree for name, tree in trees() if name.startswith(READERS))
    return {kind for tree in lookers for kind in taken(tree)}


@pytest.mark.parametrize("kind", NAMES)
def test_every_kind_of_event_has_a_writer(kind: str, written: set[str]) -> None:
    assert kind in written, "it cannot be in any log: have it written, or take it out"


@pytest.mark.parametrize("kind", NAMES)
def test_every_kind_of_event_has_a_reader(kind: str, read: set[str]) -> None:
    assert kind in read | FOR_PEOPLE, "no oracle and no audit knows it"
