"""What a consumer may be expected to do, and whether this one does it: `docs/public-surface.md`.

Decides: how the rows become a page. The features and their order are those by which consumer
clients are compared.
Never: holds a row; `surface_rows.toml` and `aiokafka_names` do.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.house.aiokafka_names import methods_table
from tests.house.nodes import shown
from tests.house.reference import cell, table


@dataclass(frozen=True, slots=True)
class Row:
    """One feature.

    Args:
        feature: what it is called.
        answer: "yes", "no" or "later".
        note: how it is done, or why it is not there.
        proofs: the tests, as file below `tests/` and name; at least one of a yes.
        unreal: why no test on a real Kafka is among them, "" when there is one.
    """

    feature: str
    answer: str
    note: str = ""
    proofs: Sequence[str] = ()
    unreal: str = ""


_WRITTEN: Final[dict[str, list[dict[str, Any]]]] = tomllib.loads(
    Path(__file__).with_name("surface_rows.toml").read_text(encoding="utf-8")
)

SURFACE: Final[Mapping[str, Sequence[Row]]] = {
    title: [Row(**row) for row in rows] for title, rows in _WRITTEN.items()
}
"""Heading -> rows, in order."""

_HEAD: Final = """\
# Public surface

What one may expect of a consumer of Kafka, and whether this one does it.
Every *yes* names tests that prove it, one of them on a real Kafka, or says why none is.
This page is written by `make docs`; a test sees to it that every test named here exists.

Left out are features of producers and of administration,
and the newest version of each request, which stands in
[a decision](adr/0005-every-request-in-its-newest-layout.md).
"""

_TAIL: Final = """\
## The calls of aiokafka's consumer

What else changes stands on [the page on porting](porting-from-aiokafka.md).
"""


def render() -> str:
    """Return the page."""
    parts = [_HEAD]
    heads = ("feature", "", "how, or why not", "proved by")
    for title, rows in SURFACE.items():
        parts.append(f"## {title}\n\n{table(heads, map(_line, rows))}\n")
    return "\n".join([*parts, _TAIL, methods_table(), ""])


def _line(row: Row) -> tuple[str, str, str, str]:
    proofs = [shown(row.proofs)] if row.proofs else []
    if row.unreal:
        proofs.append(f"not on a real Kafka: {row.unreal}")
    return cell(row.feature), row.answer, cell(row.note), "<br>".join(proofs)
