"""Which transitions of the membership table simulations have met, and which they can meet at all.

Decides: the class of every cell (state, trigger): legal, ignored, or impossible and why; what
counts as met; which cells and rows are lacking.
Never: plays a schedule; it counts what outcomes say.

Rows and cells are numbered by their place in the table, so that counts can cross from one
process to another and be written down; `row_named` and `cell_named` give them their names back.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from kgroup.membership.ending_rows import ROWS
from kgroup.membership.states import FACTS, possible
from kgroup.membership.triggers import SIGNALS, Trigger
from kgroup.types import MemberState
from tests.search.simulation.schedule import Outcome

ENOUGH: Final = 10
"""How often a campaign has to meet a legal cell."""

Cell = tuple[MemberState, Trigger]

_S = MemberState
_T = Trigger


class CellClass(Enum):
    """What a trigger is to a state."""

    LEGAL = "legal"
    """The table has a row for it, or several with guards."""
    IGNORED = "ignored"
    """It can arrive, and changes nothing."""
    IMPOSSIBLE = "impossible"
    """Nothing can make it arrive."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The class of a cell, and why.

    Args:
        kind: legal, ignored or impossible.
        why: what drops it or keeps it from happening; "" for a legal one.
    """

    kind: CellClass
    why: str = ""


_LATE_REPLY: Final = Verdict(CellClass.IGNORED, "a late reply: its ticket is not awaited any more")
_LATE_SIGNAL: Final = Verdict(
    CellClass.IGNORED, "an answer from before: the heartbeat or the generation is not ours any more"
)
_NOT_WAITING: Final = Verdict(
    CellClass.IGNORED, "the coordinator is found or lost, and the state waits for nothing from it"
)
_OWED_ALREADY: Final = Verdict(
    CellClass.IGNORED, "the round that is owed is remembered; the one that runs goes on"
)
_NO_TIMER: Final = Verdict(CellClass.IMPOSSIBLE, "the timer does not run there")
_NOT_WATCHED: Final = Verdict(CellClass.IMPOSSIBLE, "no topics are watched without a generation")
_NO_TICKET: Final = Verdict(CellClass.IMPOSSIBLE, "no ticket is awaited that could tell")
_NOT_RAISED: Final[Mapping[Trigger, str]] = MappingProxyType(
    {
        _T.HANDED_BACK: "said by the states that hand back, and heard at once",
        _T.ROUND_OWED: "said by STABLE, and heard at once",
        _T.SUBSCRIPTION_FAILED: "said when JoinGroup is written, and heard at once",
        _T.POLL_RESUMED: "a poll elsewhere only moves the poll timer",
    }
)
_TIMERS: Final = frozenset(timer for facts in FACTS.values() for timer in facts.timers)
_KNOWS_NO_COORDINATOR: Final = frozenset(state for state, facts in FACTS.items() if not facts.seeks)


@cache
def classify(state: MemberState, trigger: Trigger) -> Verdict:
    """Return what a trigger is to a state."""
    if trigger in possible(state):
        return Verdict(CellClass.LEGAL)
    if trigger in _TIMERS:
        return _NO_TIMER
    if trigger in _NOT_RAISED:
        return Verdict(CellClass.IMPOSSIBLE, _NOT_RAISED[trigger])
    if trigger in SIGNALS:
        return _LATE_SIGNAL
    match trigger:
        case _T.TOPICS_CHANGED:
            return _OWED_ALREADY if state is _S.ASSIGNING else _NOT_WATCHED
        case _T.COORDINATOR_LOST if state in _KNOWS_NO_COORDINATOR:
            return _NO_TICKET
        case _T.COORDINATOR_READY | _T.COORDINATOR_LOST:
            return _NOT_WAITING
        case _:
            return _LATE_REPLY


CELLS: Final[tuple[Cell, ...]] = tuple((state, trigger) for state in FACTS for trigger in Trigger)
"""Every cell there is, in the order of its number."""

_CELL_NUMBERS: Final = MappingProxyType({cell: number for number, cell in enumerate(CELLS)})
_ROW_NUMBERS: Final = MappingProxyType({row: number for number, row in enumerate(ROWS.rows)})
_LEGAL: Final = tuple(
    number for number, cell in enumerate(CELLS) if classify(*cell).kind is CellClass.LEGAL
)


def row_named(number: int) -> str:
    """Return the name of a row: `STATE+TRIGGER[GUARD]`."""
    return str(ROWS.rows[number])


def cell_named(number: int) -> str:
    """Return the name of a cell: `STATE+TRIGGER`."""
    state, trigger = CELLS[number]
    return f"{state.name}+{trigger.name}"


def _cells(outcome: Outcome) -> Mapping[int, int]:
    """Return how often which cell was met, by number; a row that fired has met its cell."""
    cells = Counter({_CELL_NUMBERS[cell]: count for cell, count in outcome.cells.items()})
    fired: Counter[int] = Counter()
    for row, count in outcome.rows.items():
        fired[_CELL_NUMBERS[row.at, row.on]] += count
    return cells | fired


@dataclass(slots=True)
class Coverage:
    """How often what was met.

    Args:
        rows: number of a row -> how often it fired.
        cells: number of a cell -> how often it was met.
    """

    rows: Counter[int] = field(default_factory=Counter)
    cells: Counter[int] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Count one run."""
        self.rows.update({_ROW_NUMBERS[row]: count for row, count in outcome.rows.items()})
        self.cells.update(_cells(outcome))

    def merge(self, other: "Coverage") -> None:
        """Count what others have counted."""
        self.rows.update(other.rows)
        self.cells.update(other.cells)

    # -- what is lacking -----------------------------------------------------------------------

    def rows_never_fired(self) -> tuple[str, ...]:
        """Return the names of rows that nothing fired, in order of the table."""
        return tuple(map(row_named, (n for n in range(len(ROWS.rows)) if not self.rows[n])))

    def legal_cells_met(self, least: int = 1) -> int:
        """Return how many legal cells were met at least so often."""
        return sum(self.cells[number] >= least for number in _LEGAL)

    def legal_cells_rare(self, least: int = ENOUGH) -> tuple[tuple[str, int], ...]:
        """Return legal cells that were met less often, each with how often."""
        rare = (number for number in _LEGAL if self.cells[number] < least)
        return tuple((cell_named(number), self.cells[number]) for number in rare)

    def ignored_cells_met(self) -> tuple[tuple[str, int], ...]:
        """Return cells that were met and changed nothing, each with how often.

        A late reply whose ticket is not awaited is not among them: no trigger comes of it.
        """
        return tuple(
            (cell_named(number), self.cells[number])
            for number in sorted(self.cells)
            if classify(*CELLS[number]).kind is CellClass.IGNORED
        )

    def impossible_cells_met(self) -> tuple[str, ...]:
        """Return cells that are called impossible and were met: the classes are wrong."""
        return tuple(
            cell_named(number)
            for number in sorted(self.cells)
            if classify(*CELLS[number]).kind is CellClass.IMPOSSIBLE
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values, for a ledger."""
        kinds = Counter(classify(*cell).kind.value for cell in CELLS)
        return {
            "rows": len(ROWS.rows),
            "rows_fired": len(self.rows),
            "rows_never_fired": list(self.rows_never_fired()),
            "cells": {kind.value: kinds[kind.value] for kind in CellClass},
            "legal_cells_met": self.legal_cells_met(),
            "legal_cells_met_ten_times": self.legal_cells_met(ENOUGH),
            "legal_cells_rare": dict(self.legal_cells_rare()),
            "ignored_cells_met": dict(self.ignored_cells_met()),
            "impossible_cells_met": list(self.impossible_cells_met()),
            "fired": {row_named(number): self.rows[number] for number in sorted(self.rows)},
        }
