"""The blocking consumer has the calls of the native one: names, arguments, defaults, meaning.

Both write their signatures and docstrings out, for readers and for editors; these tests keep them
equal. Intended differences are in tables, and a row that is no longer needed fails.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from kgroup import Consumer as Native
from kgroup.sync import Consumer

ONLY_NATIVE: Final = frozenset({"coordinate_by", "start", "stop"})
"""How a group is coordinated is chosen in tests, on the loop; a thread has no task to share."""
ONLY_BLOCKING: Final = frozenset({"records", "wakeup"})
"""A loop that ends by itself, and what ends a blocked thread: tasks are cancelled instead."""

MORE_ARGUMENTS: Final = frozenset({("commit", "timeout")})
"""A blocked call cannot be cancelled."""
OTHER_TYPES: Final = frozenset({("commit_soon", "callback")})
"""A callback is not awaited in a thread."""
OTHER_RETURNS: Final = frozenset({"arrow_batches", "commit_soon", "membership_changes"})
"""A future of `concurrent.futures`; iterators that are not asynchronous."""
OTHER_WORDS: Final = frozenset({("close", "timeout"), ("commit_soon", "callback")})
"""There is a thread that ends; and threads that callbacks run in."""

COUNTERPARTS: Final = (
    ("kgroup.sync.batch.BatchIterator", "kgroup.consumer.reads.iterators.BatchIterator"),
    ("kgroup.sync.batch.RecordIterator", "kgroup.consumer.reads.iterators.RecordIterator"),
    ("kgroup.sync.batch.", "kgroup.consumer.reads.batch."),
    ("kgroup.sync.api.", "kgroup.consumer.api."),
)


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


SHARED: Final = sorted(public(Native) & public(Consumer))
CALLS: Final = [name for name in SHARED if callable(getattr(Native, name))]


def test_both_have_the_same_calls_except_those_in_the_tables() -> None:
    assert public(Native) - public(Consumer) == ONLY_NATIVE
    assert public(Consumer) - public(Native) == ONLY_BLOCKING


def test_properties_are_properties_of_both() -> None:
    calls = {name for name in SHARED if callable(getattr(Consumer, name))}
    assert calls == set(CALLS)


@pytest.mark.parametrize("name", ["__init__", *CALLS])
def test_a_call_has_the_same_arguments_with_the_same_defaults(name: str) -> None:
    ours, native = (shape_of(getattr(kind, name)) for kind in (Consumer, Native))
    kept = [row for row in ours if (name, row[0]) not in MORE_ARGUMENTS]
    assert kept == native
    assert {(name, row[0]) for row in ours if row not in native} == {
        each for each in MORE_ARGUMENTS if each[0] == name
    }


def shape_of(call: Callable[..., Any]) -> list[tuple[str, object, object]]:
    found = inspect.signature(call).parameters.values()
    return [(each.name, each.kind, each.default) for each in found]


def test_arguments_and_results_have_the_same_types() -> None:
    other: set[tuple[str, str]] = set()
    for name in CALLS:
        ours, native = (types_of(getattr(kind, name)) for kind in (Consumer, Native))
        other |= {(name, key) for key in native if ours[key] != native[key]}
    assert other == OTHER_TYPES | {(name, "return") for name in OTHER_RETURNS}


def types_of(call: Callable[..., Any]) -> dict[str, str]:
    """Return argument -> type, the classes of the blocking package by their counterparts."""
    found = inspect.signature(call)
    types = {each.name: str(each.annotation) for each in found.parameters.values()}
    types["return"] = str(found.return_annotation)
    for ours, native in COUNTERPARTS:
        types = {name: each.replace(ours, native) for name, each in types.items()}
    return types


def test_arguments_mean_the_same_in_the_same_words() -> None:
    other = set()
    for name in CALLS:
        ours, native = (dict(documented(getattr(kind, name))) for kind in (Consumer, Native))
        other |= {(name, each) for each in ours.keys() & native if ours[each] != native[each]}
    assert other == OTHER_WORDS


def documented(call: object) -> Iterator[tuple[str, str]]:
    """Iterate over the arguments of a docstring, and what it says of each."""
    text = inspect.getdoc(call) or ""
    section = re.search(r"^Args:\n((?:    .*\n?)+)", text, re.MULTILINE)
    for found in re.finditer(
        r"^    (\w+): ((?:.*\n?)(?:     +.*\n?)*)", section[1] if section else "", re.MULTILINE
    ):
        yield found[1], " ".join(found[2].split())
