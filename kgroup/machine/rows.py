"""Transitions as data: rows, and the table that finds the one row for a trigger.

Decides: which row fires for (state, trigger, guard); exactly one, or it is our bug.
Never: what an action does; the machine that owns the rows interprets them.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Generic, TypeVar

from kgroup.errors import LocalProtocolError
from kgroup.values import dataclass

S = TypeVar("S", bound=Enum)
T = TypeVar("T", bound=Enum)
G = TypeVar("G", bound=Enum)
A = TypeVar("A", bound=Enum)


@dataclass(frozen=True, slots=True, eq=False)
class Row(Generic[S, T, G, A]):
    """One transition; a row is the one that stands in its table, and no other is equal to it.

    Args:
        at: the state it leaves.
        on: what triggers it.
        to: the state it enters; equal to `at` when it stays.
        when: the guard that must hold, None when it always fires.
        do: actions, carried out in order after the state has changed.
        why: source or reason, for the docs.
    """

    at: S
    on: T
    to: S
    when: G | None = None
    do: tuple[A, ...] = ()
    why: str = ""

    def __str__(self) -> str:
        guard = "" if self.when is None else f"[{self.when.name}]"
        return f"{self.at.name}+{self.on.name}{guard}"


def fan(
    at: S | Iterable[S],
    on: T | Iterable[T],
    *,
    to: S | None = None,
    when: G | None = None,
    do: tuple[A, ...] = (),
    why: str = "",
) -> tuple[Row[S, T, G, A], ...]:
    """Write one rule as rows: every state of `at` with every trigger of `on`; `to=None` stays."""
    states = (at,) if isinstance(at, Enum) else tuple(at)
    triggers = (on,) if isinstance(on, Enum) else tuple(on)
    return tuple(
        Row(at=state, on=trigger, to=state if to is None else to, when=when, do=do, why=why)
        for state in states
        for trigger in triggers
    )


class Table(Generic[S, T, G, A]):
    """Rows, found by state and trigger."""

    __slots__ = ("_cells", "rows")

    def __init__(self, rules: Iterable[tuple[Row[S, T, G, A], ...]]) -> None:
        self.rows: tuple[Row[S, T, G, A], ...] = tuple(row for rule in rules for row in rule)
        cells: dict[tuple[S, T], tuple[Row[S, T, G, A], ...]] = {}
        for row in self.rows:
            key = (row.at, row.on)
            cells[key] = (*cells.get(key, ()), row)
        self._cells: Mapping[tuple[S, T], tuple[Row[S, T, G, A], ...]] = MappingProxyType(cells)

    def cell(self, state: S, trigger: T) -> tuple[Row[S, T, G, A], ...]:
        """Return the rows of one cell, in order; empty when the trigger is impossible there."""
        return self._cells.get((state, trigger), ())

    def find(self, state: S, trigger: T, holds: Callable[[G], bool]) -> Row[S, T, G, A]:
        """Return the one row that fires.

        Raises:
            LocalProtocolError: no row, or more than one, fires: the table is wrong.
        """
        firing = [row for row in self.cell(state, trigger) if row.when is None or holds(row.when)]
        if len(firing) != 1:
            found = ", ".join(map(str, firing)) or "none"
            raise LocalProtocolError(f"{state.name}+{trigger.name}: one row must fire: {found}")
        return firing[0]
