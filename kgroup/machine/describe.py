"""The page about error codes, written from the table of reactions.

Decides: how the table reads for a person.
Never: adds a fact the table does not hold; a test compares the page with `docs/`.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from kgroup.codes import ErrorCode, error_name, is_retriable
from kgroup.machine.reactions import GROUP_APIS, OTHER_APIS, REACTIONS, Reaction

__all__ = ["errors_page"]

_INTRO: Final = """\
# What is done about error codes

This page is generated from the table in `kgroup/machine/reactions.py`.
Do not edit it: `python -m tests.pages` writes it, and a test compares it.

Every error code a broker can answer has one reaction per API; this table is the only place that
says which.
A code that is not listed under an API is retried with backoff when Kafka calls it retriable
(the list at the end), else the request is refused and the caller is told.
A number nobody knows is never retried.
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
