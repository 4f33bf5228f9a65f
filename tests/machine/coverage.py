"""The coverage theorem: a table has exactly the rows its states call for.

Decides: whether a table forgot an event, holds a dead row, an unreachable state, an unused
action, a guard without its opposite, or a timer that could spin.
Never: runs a row; it reads them.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Generic, TypeVar

from kgroup.machine.rows import Table
from kgroup.values import dataclass

S = TypeVar("S", bound=Enum)
T = TypeVar("T", bound=Enum)
G = TypeVar("G", bound=Enum)
A = TypeVar("A", bound=Enum)


@dataclass(frozen=True, slots=True)
class Expectation(Generic[S, T, G, A]):
    """What a table must cover.

    Args:
        possible: for each state, every trigger that can reach it.
        start: the first state.
        families: sets of guards of which exactly one holds at any time.
        actions: every action that exists.
        rearms: for each timer trigger, actions that move or disarm its deadline.
    """

    possible: Mapping[S, frozenset[T]]
    start: S
    families: tuple[frozenset[G], ...]
    actions: frozenset[A]
    rearms: Mapping[T, frozenset[A]]


def findings(table: Table[S, T, G, A], expected: Expectation[S, T, G, A]) -> tuple[str, ...]:
    """List everything wrong with a table; empty means the theorem holds."""
    return (
        *_forgotten_and_dead(table, expected),
        *_guards(table, expected),
        *_spinning(table, expected),
        *_unreachable(table, expected),
        *_unused(table, expected),
    )


def _forgotten_and_dead(
    table: Table[S, T, G, A], expected: Expectation[S, T, G, A]
) -> Iterator[str]:
    for state, triggers in expected.possible.items():
        for trigger in sorted(triggers, key=lambda each: each.name):
            if not table.cell(state, trigger):
                yield f"forgotten: {state.name}+{trigger.name} has no row"
    for row in table.rows:
        if row.on not in expected.possible.get(row.at, frozenset()):
            yield f"dead: {row} can never fire"


def _guards(table: Table[S, T, G, A], expected: Expectation[S, T, G, A]) -> Iterator[str]:
    for key in dict.fromkeys((row.at, row.on) for row in table.rows):
        cell = table.cell(*key)
        guards = [row.when for row in cell]
        named = frozenset(guard for guard in guards if guard is not None)
        complete = guards == [None] or (len(named) == len(guards) and named in expected.families)
        if not complete:
            yield f"guards: {cell[0]} and its like are not exactly one family"


def _spinning(table: Table[S, T, G, A], expected: Expectation[S, T, G, A]) -> Iterator[str]:
    for row in table.rows:
        stays = row.on in expected.rearms and row.to is row.at
        if stays and not expected.rearms[row.on].intersection(row.do):
            yield f"spinning: {row} moves neither the state nor its deadline"


def _unreachable(table: Table[S, T, G, A], expected: Expectation[S, T, G, A]) -> Iterator[str]:
    reached: set[S] = set()
    frontier = {expected.start}
    while frontier:
        reached |= frontier
        frontier = {row.to for row in table.rows if row.at in reached} - reached
    for state in expected.possible:
        if state not in reached:
            yield f"unreachable: {state.name}"


def _unused(table: Table[S, T, G, A], expected: Expectation[S, T, G, A]) -> Iterator[str]:
    used = frozenset(action for row in table.rows for action in row.do)
    for action in sorted(expected.actions - used, key=lambda each: each.name):
        yield f"unused: no row does {action.name}"
