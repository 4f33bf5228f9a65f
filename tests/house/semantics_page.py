"""The tables of the page on semantics: what the tests kill processes for.

Decides: how offsets are written there.
Never: says what happens; `tests.real.deaths` does, and its tests prove it.
"""

from collections.abc import Sequence
from functools import partial

from tests.house.parts import filled
from tests.pages import DOCS
from tests.real.deaths import DEATHS, HEADINGS, Death

PAGE = DOCS / "semantics.md"


def render() -> str:
    """Return the page with its tables written anew."""
    return filled(PAGE, {name: partial(_table, name) for name in HEADINGS})


def _table(name: str) -> str:
    deaths = [death for death in DEATHS if death.name == name]
    heads = ["dies behind", "goes on at", "repeated", "lost"]
    if name.startswith("store"):
        heads.append("skipped")
    rows = [_cells(death)[: len(heads)] for death in deaths]
    lines = [_line(heads), f"|{'---|' * len(heads)}", *map(_line, rows)]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(death: Death) -> list[str]:
    sets = (death.repeated, death.lost, death.skipped)
    return [f"{death.line}", f"{death.goes_on}", *map(_words, sets)]


def _words(offsets: Sequence[int]) -> str:
    if not offsets:
        return "nothing"
    return f"{offsets[0]}" if len(offsets) == 1 else f"{offsets[0]} to {offsets[-1]}"
