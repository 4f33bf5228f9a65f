"""The tables of the page about Marshal mode, each row with the tests that show it.

Decides: how a row becomes a line.
Never: holds a row; `marshal_rows.toml` does.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from tests.house.parts import filled
from tests.house.reference import cell, table

__all__ = ["NAME", "TABLES", "Row", "Table", "render"]

NAME: Final = "marshal.md"

_HERE: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table.

    Args:
        cells: all but the last one.
        proofs: the tests behind it, as file below `tests/` and name; at least one.
    """

    cells: tuple[str, ...]
    proofs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """One table.

    Args:
        heads: of its columns, all but that of the proofs.
        rows: in order.
    """

    heads: tuple[str, ...]
    rows: Sequence[Row]


def _table(written: Mapping[str, Any]) -> Table:
    rows = tuple(
        Row(tuple(row["cells"]), tuple(_proof(node) for node in row["proofs"]))
        for row in written["rows"]
    )
    return Table(tuple(written["heads"]), rows)


def _proof(node: str) -> tuple[str, str]:
    file, _, test = node.partition("::")
    return file, test


_WRITTEN: Final = tomllib.loads((_HERE / "marshal_rows.toml").read_text(encoding="utf-8"))

TABLES: Final[Mapping[str, Table]] = MappingProxyType(
    {name: _table(written) for name, written in _WRITTEN.items()}
)
"""Name of a part of the page -> its table."""


def render() -> str:
    """Return the page with its tables written anew."""
    parts: dict[str, Callable[[], str]] = {
        name: partial(_lines, shown) for name, shown in TABLES.items()
    }
    return filled(_HERE.parents[1] / "docs" / NAME, parts)


def _lines(shown: Table) -> str:
    lines = [(*map(cell, row.cells), _proofs(row)) for row in shown.rows]
    return table((*shown.heads, "shown by"), lines)


def _proofs(row: Row) -> str:
    return "<br>".join(f"[{file}](../tests/{file}) `{test}`" for file, test in row.proofs)
