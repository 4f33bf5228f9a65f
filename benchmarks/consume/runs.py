"""What `kgroup bench run` found and is committed, as the last part of `docs/performance.md`.

Decides: the order of scenarios, and that what kgroup does worse than another stands in a table of
its own below the figures.
Never: leaves out a cell; says worse or better where the runs do not.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final

from kgroup.bench.compare import Row, two_clients
from kgroup.bench.result import read, written
from kgroup.bench.tables import COLUMNS, groups, heads, named, number, rows
from kgroup.errors import ArgumentError

FOLDER: Final = Path(__file__).parents[1] / "results" / "scenarios"
PICTURES: Final = "pictures"
"""Folder beside the results, of what `python -m benchmarks.consume --keep` draws."""
_ORDER: Final = (
    *("latency", "rebalance", "leave", "restart", "rolling", "slow-callback", "failover"),
    *("scale", "swarm", "swarm-delayed", "commit", "start", "idle"),
)
_OURS: Final = ("kgroup", "kgroup@kip848")
_WORSE: Final = ("kgroup", "beside", "figure", "ours", "other", "ratio", "interval")

Document = Mapping[str, Any]


def documents(folder: Path = FOLDER) -> list[Document]:
    """Return the results that are committed, in the order of the page."""
    names = sorted(path.stem for path in folder.glob("*.json"))
    names.sort(key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
    return [json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in names]


def keep(results: Path, folder: Path = FOLDER) -> list[Path]:
    """Put results of `kgroup bench run --out` where those are that are committed.

    Args:
        results: the folder of that run.
        folder: theirs.

    Raises:
        ConfigError: a file is no result.
        ArgumentError: there is none, or a run was not whole or too short.
    """
    kept: list[Path] = []
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(results.glob("*/result.json")):
        document = read(path)
        if not document["complete"] or document["rough"]:
            raise ArgumentError("--keep", str(path), "a whole run, of five runs at least: --resume")
        kept.append(folder / f"{document['scenario']}.json")
        kept[-1].write_text(written(document), encoding="utf-8")
    if not kept:
        raise ArgumentError("--keep", str(results), "a folder that `kgroup bench run` wrote")
    return kept


def draw(folder: Path = FOLDER) -> None:
    """Draw the results that are committed, but for who delivered what: a report shows that.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    from kgroup.bench.plots import pictures  # noqa: PLC0415 - the page does without it

    (folder / PICTURES).mkdir(exist_ok=True)
    for document in documents(folder):
        for picture in pictures(document):
            if not picture.name.endswith("last-run"):
                path = folder / PICTURES / f"{document['scenario']}.{picture.name}.svg"
                path.write_text(picture.svg, encoding="utf-8")


def blocks(found: Sequence[Document], folder: Path = FOLDER) -> Iterator[str]:
    """Yield the blocks of the page that are about scenarios.

    Args:
        found: their results.
        folder: where results and their pictures lie.
    """
    if not found:
        return
    yield "## Groups"
    yield _INTRODUCTION
    for document in found:
        yield f"### {document['scenario']}"
        yield _about(document)
        for title, cells in groups(document):
            yield f"**{title}**"
            yield markdown(heads(cells), rows(cells))
        for path in sorted((folder / PICTURES).glob(f"{document['scenario']}.*.svg")):
            title = path.stem.partition(".")[2].replace("-", " ")
            yield f"![{title}](../benchmarks/results/scenarios/{PICTURES}/{path.name})"
        worse = [_line(row) for row in _losses(document)]
        if worse:
            yield "Where the runs show that kgroup takes more:"
            yield markdown(_WORSE, worse)


def _about(document: Document) -> str:
    plan, machine = document["plan"], document["environment"]
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    group = plan["group"]
    watched = (
        f"{group['members']} member{'s' * (group['members'] > 1)}, "
        f"{group['partitions']} partitions, "
        f"{group['rate']:,} records/s, sessions of {group['session_timeout']:g} s, "
        f"a heartbeat each {group['heartbeat_interval']:g} s. "
    )
    is_watched = any("recover_s" in each for cell in document["cells"] for each in cell["samples"])
    return (
        f"{watched if is_watched else ''}{plan['runs']} runs. {versions}; "
        f"Python {machine['python']}. {document['broker']}; {machine['processor']}, "
        f"{machine['cores']} cores. "
        f"[Raw](../benchmarks/results/scenarios/{document['scenario']}.json)."
    )


def _losses(document: Document) -> Iterator[Row]:
    others = sorted({cell["client"] for cell in document["cells"]} - {*_OURS})
    for ours, other in product(_OURS, others):
        for row in two_clients(document, ours, other):
            shown = COLUMNS[row.cell.split(": ")[0]]
            if row.better is False and row.figure in shown:
                yield row


def _line(row: Row) -> list[str]:
    assert row.difference is not None
    job, name = row.cell.split(": ", 1)
    interval = row.difference.interval
    return [
        f"{job}: {name.split(': ')[0]}",
        row.other.split(": ")[1],
        named(job, row.figure),
        number(row.ours, row.figure),
        number(row.theirs, row.figure),
        f"{row.difference.ratio:.2f}",
        f"{interval.low:.2f} to {interval.high:.2f}",
    ]


def markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table, nothing when it has no lines."""
    if not lines:
        return ""
    rule = ["--:" if place else "---" for place in range(len(heads))]
    text = [" | ".join(line).replace("\n", " ") for line in (heads, rule, *lines)]
    return "\n".join(f"| {line} |" for line in text)


_INTRODUCTION: Final = """\
[`kgroup bench run --full`](benchmarks.md) measured these, on one broker unless it is said
otherwise, which shares the machine with the clients. *Silence* is the longest time in which nothing
new came of a partition, around the event: of the median partition and of the worst one, of those
that *moved* to another member, of those whose member was *restarted*, and of those that *stay*. One
is written every 50 ms, so less cannot be seen. *Longest wait* is from the making of a record to its
delivery; *recovered* is when the last record had come that waited more than a quarter of a second.
What begins in the middle is started and loaded before: no figure holds the start of a process.
A client that lost a record has no figures; *repeated* are deliveries after the first, *not
committed* what clients that left politely had not committed, by the coordinator's word.
An adapter `@kip848` speaks the protocol of KIP-848. What is worse is named where the interval of
the ratio, which holds the truth in 97 of 100 cases with five runs of each, leaves out 1."""
