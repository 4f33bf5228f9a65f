"""What was measured, as tables: on the terminal and as a page of the documentation.

Decides: which figures a reader sees: the best of the repetitions, since every other process of a
shared machine only ever adds to a time.
Never: leaves out where kgroup is slower.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.table import Table

RESULT: Final = Path(__file__).parent.parent / "results" / "assignors.json"

CLIENTS: Final = ("kgroup", "Java", "aiokafka", "kafka-python")
HEADS: Final = (
    "assignor, event",
    *CLIENTS,
    "kgroup to bytes",
    "Java to bytes",
    "kgroup whole",
    "Java whole",
    "kgroup B/part.",
)
QUALITY: Final = ("group", "assignor, event", *CLIENTS)
SLOW_HEADS: Final = ("group", "assignor, event", "assign", "to bytes", "whole")
PARTS: Final = {"assign": (1,), "to bytes": (1, 2), "whole": (0, 1, 2)}
"""What is added up of (read, assign, encode)."""

Document = Mapping[str, Any]
Row = tuple[Mapping[str, Any], str, Mapping[str, Mapping[str, Any]]]
"""(scenario, assignor and event, the measurement of each client)"""


def best(cell: Mapping[str, Any] | None, part: str) -> float | None:
    """Return the seconds of the fastest repetition, None when it was not measured."""
    if cell is None or cell["status"] != "measured":
        return None
    return float(min(sum(sample[at] for at in PARTS[part]) for sample in cell["samples"]))


def rows(document: Document) -> list[Row]:
    """Put the measurements of all clients side by side."""
    together: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for cell in document["cells"]:
        key = (cell["scenario"], f"{cell['assignor']}, {cell['event']}")
        together.setdefault(key, {})[cell["client"]] = cell
    scenarios = {scenario["name"]: scenario for scenario in document["scenarios"]}
    return [(scenarios[name], label, cells) for (name, label), cells in together.items()]


def tables(document: Document) -> Iterator[Table]:
    """Yield the times of each scenario, then the quality of all results."""
    found = rows(document)
    for scenario in document["scenarios"]:
        mine = [row for row in found if row[0] == scenario]
        yield _table(f"{scenario['name']}: seconds", HEADS, timed(document, mine))
    yield _table("Sizes, and partitions taken from a member that stays", QUALITY, judged(found))


def timed(document: Document, found: Sequence[Row]) -> list[Sequence[str]]:
    """Return the rows of a table of times."""
    limit = document["plan"]["limit"]
    return [
        (
            label,
            *(seconds(cells.get(client), "assign", limit) for client in CLIENTS),
            *(
                seconds(cells.get(client), part, limit)
                for part in ("to bytes", "whole")
                for client in ("kgroup", "Java")
            ),
            memory(scenario, cells.get("kgroup")),
        )
        for scenario, label, cells in found
    ]


def judged(found: Sequence[Row]) -> list[Sequence[str]]:
    """Return the rows of the table of quality; what all clients do alike is left out."""
    made: list[Sequence[str]] = []
    for scenario, label, cells in found:
        texts = [quality(cells.get(client)) for client in CLIENTS]
        if "sticky" in label or len({text for text in texts if text}) > 1:
            made.append((scenario["name"], label, *texts))
    return made


def seconds(cell: Mapping[str, Any] | None, part: str, limit: float) -> str:
    """Return a time as text, or what came in its way."""
    if cell is None:
        return ""
    found = best(cell, part)
    if found is not None:
        return f"{found:.2f}" if found >= 1 else f"{found:.4f}"
    words = {"stopped": f"> {limit:.0f}", "absent": "-"}
    return words.get(cell["status"], str(cell["status"]))


def memory(scenario: Mapping[str, Any], cell: Mapping[str, Any] | None) -> str:
    """Return the peak of assigning per partition, beyond the input."""
    peak = cell["memory"] if cell else None
    return "" if peak is None else f"{peak / scenario['partitions']:.0f}"


def quality(cell: Mapping[str, Any] | None) -> str:
    """Return smallest and largest share and how much moved; `!` when balance can be better."""
    if cell is None or cell["figures"] is None:
        return ""
    figures = cell["figures"]
    mark = "!" if figures["balanced"] is False else ""
    text = f"{figures['smallest']}-{figures['largest']}{mark}"
    return text if figures["moved"] is None else f"{text}, {figures['moved']:,} moved"


def losses(found: Sequence[Row]) -> list[Sequence[str]]:
    """Return where kgroup is slower by more than a tenth: than which clients, how many times."""
    made: list[Sequence[str]] = []
    for scenario, label, cells in found:
        texts = [slower(cells, part) for part in PARTS]
        if any(texts):
            made.append((scenario["name"], label, *texts))
    return made


def slower(cells: Mapping[str, Mapping[str, Any]], part: str) -> str:
    """Return the clients that are faster than kgroup in one part, "" without."""
    mine = best(cells.get("kgroup"), part)
    factors = {
        client: mine / other
        for client in CLIENTS[1:]
        if mine is not None and (other := best(cells.get(client), part)) is not None
    }
    return ", ".join(f"{client} {times:.1f}" for client, times in factors.items() if times > 1.1)


def page(document: Document) -> str:
    """Return the page of the documentation."""
    found = rows(document)
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    plan, machine = document["plan"], document["environment"]
    blocks = [
        "# Speed of assignors",
        INTRODUCTION.format(limit=plan["limit"]),
        MEASURED.format(versions=versions, **machine),
        *(f"{client} {note}" for client, note in document["notes"].items()),
    ]
    for scenario in document["scenarios"]:
        mine = [row for row in found if row[0] == scenario]
        blocks += [f"## {scenario['name']}", _markdown(HEADS, timed(document, mine))]
    blocks += ["## Sizes and moves", SIZES, _markdown(QUALITY, judged(found))]
    lost = losses(found)
    blocks += ["## Where kgroup is slower", SLOWER, _markdown(SLOW_HEADS, lost) if lost else "-"]
    return "\n\n".join(blocks) + "\n"


def committed_page() -> str:
    """Return the page about the measurement that is committed."""
    return page(json.loads(RESULT.read_text(encoding="utf-8")))


INTRODUCTION: Final = """\
Written by machine from what `python -m benchmarks.assignors --json FILE` keeps.
All clients run side by side and take turns.
Every timed result has been found complete, disjoint and for subscribers only.
Figures are seconds, the best of up to five repetitions.
A client is stopped at {limit:.0f} s; what is *skipped* was too slow, or failed, in a group no
larger, and the JSON says how slow; *-* is an assignor that the client does not have.

A group is named topics x partitions of each x members.
*Assign* (the first four columns) is from decoded subscriptions and metadata to the finished
assignment.
kgroup's assignment is a lazy sequence of numbers, so the next columns say what its leader needs in
all: *to bytes* adds the check and the encoding of every member's assignment, *whole* also the
decoding of every member's subscription.
The last column is the peak of memory beyond the input while assigning."""

MEASURED: Final = """\
Measured: {versions}; Python {python}.
Machine: {processor}, {cores} cores that other processes use too, so compare within a row.
Raw times, seed, load and commit are in [assignors.json](../benchmarks/results/assignors.json)."""

SLOWER: Final = """\
By more than a tenth, and how many times: its assignors work on counts and stretches, but members'
bytes are read and written in Python."""

SIZES: Final = """\
The smallest and the largest share, and the partitions that were taken from a member that stays.
`!` marks shares that could be more even."""


def _table(title: str, heads: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    table = Table(title=title, title_justify="left")
    for place, head in enumerate(heads):
        left = head in QUALITY[:2] or not place
        table.add_column(head, justify="left" if left else "right", no_wrap=left)
    for line in lines:
        table.add_row(*line)
    return table


def _markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---" if head in QUALITY[:2] else "--:" for head in heads]
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, rule, *lines))
