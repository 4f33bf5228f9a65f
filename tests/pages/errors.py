"""The page about error codes, written from the table of reactions.

Decides: how the table reads for a person.
Never: adds a fact the table does not hold; a test compares the page with `docs/`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeVar

from kgroup.codes import ErrorCode, error_name, is_retriable
from kgroup.machine.reactions import GROUP_APIS, OTHER_APIS, REACTIONS, Reaction
from kgroup.machine.rows import Row

_INTRO: Final = """\
# What is done about error codes

This page is generated from the table in `kgroup/machine/reactions.py`.
Do not edit it: `python -m tests.pages` writes it, and a test compares it.

Each error code that a broker can answer has one reaction per API. Only this table says which.
A code that is not listed under an API is retried with backoff when Kafka calls it retriable (see
the list at the end). Otherwise the request fails, and the caller gets the error.
An unknown number is never retried.
"""

_FURTHER: Final = """\
ApiVersions is the exception: after any other error the connection is made anew.
"""


def errors_page() -> str:
    """Return the page as Markdown."""
    return "\n".join([*_page(), ""])


def _page() -> Iterator[str]:
    yield _INTRO
    yield _FURTHER
    yield "## The words\n"
    yield "| reaction | what is done |"
    yield "|---|---|"
    for each in Reaction:
        yield f"| {each.name} | {each.value} |"
    yield "\n## A group's coordinator\n"
    for api in GROUP_APIS:
        yield from _section(api.name, REACTIONS[api])
    yield "## Partitions, topics and connections\n"
    for api in (api for api in REACTIONS if api not in GROUP_APIS):
        yield from _section(api.name, REACTIONS[api])
    yield "## Every other API\n"
    yield from _table(OTHER_APIS)
    yield "\n## Codes Kafka calls retriable\n"
    yield ", ".join(f"{each.name} ({each})" for each in sorted(ErrorCode) if is_retriable(each))


def _section(title: str, cells: Mapping[ErrorCode, Reaction]) -> Iterator[str]:
    yield f"### {title}\n"
    if cells:
        yield from _table(cells)
    else:
        yield "No code has a reaction of its own."
    yield ""


def _table(cells: Mapping[ErrorCode, Reaction]) -> Iterator[str]:
    yield "| code | reaction | what is done |"
    yield "|---|---|---|"
    for code in sorted(cells):
        yield f"| {error_name(code)} ({code}) | {cells[code].name} | {cells[code].value} |"


# -- pictures --------------------------------------------------------------------------------------
#
# Tables of rows as a person reads them: a diagram, and one line for each row.
#
# Decides: how rows of any machine are written down in Markdown.
# Never: adds a fact that the rows do not hold; says what a page is about.


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
