"""Tables of rows as a person reads them: a diagram, and one line for each row.

Decides: how rows of any machine are written down in Markdown.
Never: adds a fact that the rows do not hold; says what a page is about.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, TypeVar

from kgroup.machine.rows import Row

__all__ = ["diagram", "every_row", "plain_rows"]

S = TypeVar("S", bound=Enum)

_Rows = Iterable[Row[S, Any, Any, Any]]


def diagram(rows: _Rows[S], first: S) -> Iterator[str]:
    """Yield a Mermaid diagram of the states, with an arrow for each way between two of them."""
    yield "```mermaid\nstateDiagram-v2"
    yield f"    [*] --> {first.name}"
    seen: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.to is not row.at:
            labels = seen.setdefault((row.at.name, row.to.name), [])
            if row.on.value not in labels:
                labels.append(row.on.value)
    for (source, target), labels in seen.items():
        yield f"    {source} --> {target}: {', '.join(labels)}"
    yield "```\n"


def every_row(rows: _Rows[S], order: Sequence[S]) -> Iterator[str]:
    """Yield a table of rows with their guards, in the order of the states they leave."""
    yield "| at | on | when | to | does | why |\n|---|---|---|---|---|---|"
    for row in sorted(rows, key=lambda each: order.index(each.at)):
        guard = "" if row.when is None else row.when.value
        target = "stays" if row.to is row.at else row.to.name
        yield f"| {row.at.name} | {row.on.value} | {guard} | {target} | {_does(row)} | {row.why} |"


def plain_rows(rows: _Rows[S]) -> Iterator[str]:
    """Yield a table of rows that have no guards, as they stand."""
    yield "| at | on | to | does | why |\n|---|---|---|---|---|"
    for row in rows:
        yield f"| {row.at.name} | {row.on.value} | {row.to.name} | {_does(row)} | {row.why} |"


def _does(row: Row[S, Any, Any, Any]) -> str:
    return "; ".join(action.value for action in row.do)
