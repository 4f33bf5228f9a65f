"""The tables of the pages about Marshal mode, each row with the tests that show it.

Decides: how a row becomes a line.
Never: holds a row; `marshal_rows.toml` does.
"""

import tomllib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.house.nodes import shown
from tests.house.parts import filled
from tests.house.reference import cell, table

NAMES: Final = ("marshal.md", "marshal-original.md")

_HERE: Final = Path(__file__).parent

TABLES: Final[Mapping[str, dict[str, Any]]] = tomllib.loads(
    (_HERE / "marshal_rows.toml").read_text(encoding="utf-8")
)
"""Part of the page -> its `heads`, all but that of the proofs, and its `rows`: their `cells`, and
the `proofs`, as file below `tests/` and name."""


def render(name: str) -> str:
    """Return a page with its tables written anew."""
    parts = {part: partial(_lines, written) for part, written in TABLES.items()}
    return filled(_HERE.parents[1] / "docs" / name, parts)


def _lines(written: dict[str, Any]) -> str:
    lines = [(*map(cell, row["cells"]), shown(row["proofs"])) for row in written["rows"]]
    return table((*written["heads"], "shown by"), lines)
