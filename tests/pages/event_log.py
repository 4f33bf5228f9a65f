"""The page `docs/event-log.md`, written from the events, the oracles and the kinds of problems.

Decides: how the vocabulary is shown to a reader.
Never: says anything that the classes' own docstrings do not; prose only leads from one to the next.
"""

import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields
from enum import Enum
from typing import Final, get_args

from kgroup.audit.oracles.promises import PROMISES, Promise
from kgroup.audit.verdict import PartitionVerdict, ProblemKind
from kgroup.journal.events import EVENT_CLASSES, Entry, Event, Source

_HEAD: Final = """\
# The event log

Any member writes what happens to it as JSON lines, one object per line, when it is asked to.
`kgroup.audit` reads the logs of all members of a group, sets them against the broker's end offsets
and says what was lost, repeated, out of order, or owned by two.
This page is written by `python -m tests.pages` from the code; a test compares the two.

## A line
Each line is one event with its stamp: `v` (the version of the form, 1), `host`, `process`,
`member`, `group`, `seq`, `at` and `wall`, then `event` and the fields of that event.
A claim, one period of ownership of one partition, is `[topic, partition, serial]`.
It is keyed by the member's life and itself, not by a generation: a partition that is kept spans
generations, and a static restart keeps one.
A field that is null is left out.
Readers skip fields and events they do not know.

A line is written by one call, whole, before the caller goes on.
So SIGKILL of a member loses no line; a last line that is cut off all the same is no fault.
`deliver` is written before the application gets the records.
A commit's `ok` is written after the broker's answer: a member killed in between leaves the broker
ahead of its log, and repeated records are counted against the last commit that was logged.
"""

_JUDGES: Final = """\
## Promises
An audit judges these promises by the entries; each has its oracle (`kgroup.audit.oracles`).
`at_least_once` returns the oracles that logs of members suffice for; `audit` takes them.
The docstring of an oracle's module says exactly what it asks.
[More promises](../tests/search/oracles/catalogue.py) are judged in the searches for bugs.

| id | promise | oracles | events | elsewhere |
|---|---|---|---|---|"""

_VERDICT: Final = """\
## Reading a verdict
`clean` means: no problem was found.
The command prints one row per partition, the rebalances, notes, problems with the lines of the logs
that prove them, and in the last line the word, with whether a broker was asked; its exit code is 0
only for a clean verdict.
Seconds count from the first entry of the logs.

A member that was killed cannot say that it stopped.
Its claims end by the last line it wrote; a note names that line and the one that took over.
Records between its last logged commit and its end are delivered again to its successor.
They are counted (`duplicated`) and are no problem; below that commit they are (`beyond_commit`).
After a clean handover no repetition is explained, unless a commit had failed; an application that
commits by hand, or closes with `commit=False`, says so (`clean_handover=False`).
What a seek or the reset policy went over is neither lost nor repeated.

A silence is the time between two deliveries of a partition, by any member.
It says something about a rebalance only while records keep coming.
"""


def event_log_page() -> str:
    """Return the page."""
    return "\n".join(
        (
            _HEAD,
            _table("The stamp", (*_documented(Source, Source._fields), *_stamp())),
            "## Events",
            *(_event(event) for event in EVENT_CLASSES),
            _JUDGES,
            *(_promise(promise) for promise in PROMISES),
            "",
            _VERDICT,
            _table("Numbers of a partition", _arguments(PartitionVerdict)),
            "## Kinds of problems",
            "",
            *(f"- {kind.value}" for kind in ProblemKind),
            "",
        )
    )


def _promise(promise: Promise) -> str:
    """Return the promise's row: its oracles, their events, and what is judged elsewhere."""
    judges = ", ".join(f"`{oracle.__name__}`" for oracle in promise.oracles)
    every = [getattr(oracle, "KINDS", None) for oracle in promise.oracles]
    seen = {kind.KIND for kinds in every if kinds is not None for kind in kinds}
    events = "all" if None in every else ", ".join(f"`{kind}`" for kind in sorted(seen))
    cells = (promise.rule, promise.text, judges, events, promise.elsewhere)
    return f"| {' | '.join(cells)} |"


def _event(event: type[Event]) -> str:
    head, *_ = _doc(event).split("\n", 1)
    enums = "".join(
        f"\n`{name}` is one of {', '.join(f'`{member.value}`' for member in values)}."
        for name, values in _choices(event)
    )
    optional = {field.name for field in fields(event) if field.default is not MISSING}
    table = "".join(
        f"| `{name}` | {'yes' if name in optional else ''} | {text} |\n"
        for name, text in _arguments(event)
    )
    head_row = "\n\n| field | may be absent | what it is |\n|---|---|---|\n"
    columns = f"{head_row}{table}" if table else "\n"
    return f"### `{event.KIND}`\n{head}{enums}{columns}"


def _choices(event: type[Event]) -> Iterator[tuple[str, tuple[Enum, ...]]]:
    """Return the fields that are small enums, with their values."""
    for field in fields(event):
        for arm in (field.type, *get_args(field.type)):
            if isinstance(arm, type) and issubclass(arm, Enum) and len(arm) <= 6:
                yield field.name, tuple(arm)


def _table(title: str, rows: Iterator[tuple[str, str]] | tuple[tuple[str, str], ...]) -> str:
    lines = "".join(f"| `{name}` | {text} |\n" for name, text in rows)
    return f"## {title}\n\n| name | what it is |\n|---|---|\n{lines}"


def _stamp() -> Iterator[tuple[str, str]]:
    """Return what an entry adds to its source and its event in a line."""
    return (row for row in _arguments(Entry) if row[0] in {"seq", "at", "wall"})


def _arguments(cls: type[Event | Entry | PartitionVerdict]) -> Iterator[tuple[str, str]]:
    """Return each field with the words of the docstring's Args."""
    return _documented(cls, [field.name for field in fields(cls)])


def _documented(cls: type[object], names: Iterable[str]) -> Iterator[tuple[str, str]]:
    _, _, section = _doc(cls).partition("\nArgs:\n")
    documented = dict(re.findall(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", section, re.MULTILINE))
    for name in names:
        yield name, " ".join(documented.get(name, "as its name says").split())


def _doc(thing: object) -> str:
    return inspect.getdoc(thing) or ""
