"""What a consumer may be expected to do, and whether this one does: `docs/public-surface.md`.

Decides: how the rows become a page. The features and their order are those by which consumer
clients are compared.
Never: holds a row; `surface_group`, `surface_consuming` and `aiokafka_names` do.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from tests.house.aiokafka_names import methods_table
from tests.house.reference import cell, table
from tests.house.surface_consuming import CONSUMING
from tests.house.surface_group import GROUP
from tests.house.surface_row import Row

__all__ = ["SURFACE", "node_ids", "render"]

SURFACE: Final[Mapping[str, Sequence[Row]]] = MappingProxyType(
    {"Group membership": GROUP, "Consuming, security, operation": CONSUMING}
)
"""Heading -> rows, in order."""

_HEAD: Final = """\
# Public surface

What one may expect of a consumer of Kafka, and whether this one does it.
Every *yes* names tests that prove it, one of them on a real Kafka, or says why none is.
This page is written by `make docs`; a test sees to it that every test named here exists.

Left out are features of producers and of administration,
and the newest version of each request, which is told by
[a decision](adr/0005-every-request-in-its-newest-layout.md).
"""

_TAIL: Final = """\
## The calls of aiokafka's consumer

What else changes is told by [the page on porting](porting-from-aiokafka.md).
"""


def render() -> str:
    """Return the page."""
    parts = [_HEAD]
    heads = ("feature", "", "how, or why not", "proved by")
    for title, rows in SURFACE.items():
        parts.append(f"## {title}\n\n{table(heads, map(_line, rows))}\n")
    return "\n".join([*parts, _TAIL, methods_table(), ""])


def node_ids(row: Row) -> list[str]:
    """Return the tests of a row as pytest names them."""
    return [f"tests/{file}::{test}" for file, test in row.proofs]


def _line(row: Row) -> tuple[str, str, str, str]:
    proofs = [f"[{file}](../tests/{file}) `{test}`" for file, test in row.proofs]
    if row.unreal:
        proofs.append(f"not on a real Kafka: {row.unreal}")
    return cell(row.feature), row.answer.value, cell(row.note), "<br>".join(proofs)
