"""`docs/performance.md`, made from the results that are committed.

Decides: what a reader sees: the goals first, with those that are missed and why, then every cell.
Never: leaves out a loss, or says anything that is not in the results or in the reasons beside them.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.consume.goals import GOAL_HEADS, goal_row
from benchmarks.consume.runs import Document, blocks, documents, markdown
from benchmarks.requests.page import requests_block
from kgroup.bench.tables import groups, heads, rows

_ROOT: Final = Path(__file__).parents[2]
RESULT: Final = _ROOT / "benchmarks" / "results" / "performance.json"
REASONS: Final = _ROOT / "benchmarks" / "results" / "performance.toml"
"""Cell -> why it misses its goals, in words of a person who has read the profile."""
PAGE: Final = _ROOT / "docs" / "performance.md"

_TITLES: Final = {
    "start": "From the start of a process to its first record",
    "import": "Import",
    "commit": "Commits",
    "members": "{members} members in one process",
    "instructions": "Instructions",
}
_NOTES: Final = {
    "start": "CPU and memory are those of the whole process, which reads one record and ends.",
    "import": "Seconds of the import statement in a fresh interpreter.",
    "commit": "Read one record, commit it, wait for the answer. CPU is that of the whole loop.",
    "members": "CPU until every partition has its owner; then of each member, with nothing to "
    "read; and the peak of memory of the process.",
    "instructions": "Counted by Callgrind in one reading of 20,000 and one of 60,000 records, and "
    "subtracted: what one record more costs. No clock and no neighbour disturbs this figure.",
}


def page(
    document: Document,
    reasons: Mapping[str, str],
    scenarios: Sequence[Document] = (),
    more: Iterable[str] = (),
) -> str:
    """Return the page.

    Args:
        document: the results.
        reasons: cell -> why it misses its goals.
        scenarios: results of `kgroup bench run`.
        more: blocks at its end.
    """
    plan, machine = document["plan"], document["environment"]
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    module = "with" if document["compiled"] else "without"
    parts = [
        "# Speed and memory",
        _INTRODUCTION.format(**plan),
        _MEASURED.format(versions=versions, broker=document["broker"], module=module, **machine),
        "## Goals",
        _GOALS,
        markdown(GOAL_HEADS, [goal_row(goal) for goal in document["goals"]]),
        *_missed(document, reasons),
    ]
    for group, cells in groups(document):
        title = _TITLES.get(group, f"Reading: {group.removeprefix('read, ')}").format(**plan)
        parts += [f"## {title}", _NOTES.get(group, ""), markdown(heads(cells), rows(cells))]
    parts += [*blocks(scenarios), *more]
    return "\n\n".join(filter(None, parts)) + "\n"


def committed_page(result: Path = RESULT) -> str:
    """Return the page about results, with the reasons that are committed."""
    document = json.loads(result.read_text(encoding="utf-8"))
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8")) if REASONS.exists() else {}
    return page(document, reasons, documents(), requests_block())


def _missed(document: Document, reasons: Mapping[str, str]) -> list[str]:
    """Return, for each cell that misses a goal, why, and where its time goes."""
    missed: dict[str, list[str]] = {}
    for goal in document["goals"]:
        if goal["reached"] is False:
            missed.setdefault(goal["cell"], []).append(goal["what"])
    if not missed:
        return []
    found = ["### Where a goal is missed"]
    for cell, goals in missed.items():
        who = cell.split(": ")[1]
        found.append(f"**{who}** ({'; '.join(goals)}). {reasons.get(cell, '')}".rstrip())
        profile = document["profiles"].get(cell)
        if isinstance(profile, list):
            lines = [(f"`{row['function']}`", f"{row['share']:.0%}") for row in profile[:8]]
            found.append(markdown(("function", "share of its own"), lines))
    return found


_INTRODUCTION: Final = """\
Written by machine from what `make bench` keeps, losses included.
All clients read the same topics of one broker in one run, in turns, each in a fresh process.
Every record is counted, and its offset and the length of its value are added up; a reader that
finds anything else than what was written has no figures. Before the measured runs each one has
proved itself by the contents of every value.
A figure is the median of {runs} runs, with the lowest and the highest in brackets.

CPU is user and system time of all threads, per record. *Whole process* is from its start to its
end, imports and closing included, over {records:,} records (a quarter where a client is slow, or
for another loop or codec; an eighth of 1 kB). *After start-up* is from before the consumer is built
to the last record. Java reads the topic twice: *whole process* is about the first time, all else
about the second, when it has compiled itself.
Records per second are from the first record to the last."""

_MEASURED: Final = """\
Measured: {versions}; Python {python}; kgroup {module} its compiled module.
Broker: {broker}. Machine: {processor}, {cores} cores that broker and client share.
Raw samples, load and seed are in [performance.json](../benchmarks/results/performance.json)."""

_GOALS: Final = """\
CPU per record is judged with the whole process counted. The best peer is that of the same run."""
