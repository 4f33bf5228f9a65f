"""One page of HTML with everything a result says: tables, pictures, machine; nothing else needed.

Decides: what a reader sees first: whether the run was whole and thorough, then each group of cells
with what may be said of kgroup beside the others, then the pictures.
Never: leaves out a loss, or says "faster" where the runs do not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import product
from typing import Any, Final

from kgroup.bench.cells import KIP848
from kgroup.bench.compare import two_clients
from kgroup.bench.plots import Picture
from kgroup.bench.statistics import median_interval
from kgroup.bench.tables import groups, heads, named, number, rows

Document = Mapping[str, Any]
OURS: Final = ("kgroup", f"kgroup{KIP848}")
_STYLE: Final = """\
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --line: #d0d0d0; --dim: #666; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #16181c; --line: #3a3d44; --dim: #9a9a9a; }
}
body { color: var(--ink); background: var(--paper); font: 15px/1.5 system-ui, sans-serif;
  max-width: 84rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1.2rem 0; } figcaption { color: var(--dim); font-size: .9rem; }
svg { max-width: 100%; height: auto; } figure svg { width: 50rem; }
.note { color: var(--dim); } .warn { border-left: 4px solid #D55E00; padding-left: .8rem; }
"""


def page(document: Document, drawn: Iterable[Picture] = ()) -> str:
    """Return the page.

    Args:
        document: the results.
        drawn: its pictures.
    """
    name = escape(document.get("scenario") or "benchmark")
    body = [
        f"<h1>kgroup bench: {name}</h1>",
        *_notes(document),
        *_groups(document),
        *_comparison(document),
        "<h2>Pictures</h2>",
        (
            "<p class='note'>Bars are medians; the thick line is where the median lies"
            f"{_sure(document)}; each tick is one run.</p>"
        ),
        *(_figure(each) for each in drawn),
        *_ground(document),
    ]
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>kgroup bench: {name}</title>\n<style>\n{_STYLE}</style></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _notes(document: Document) -> Iterator[str]:
    if not document.get("complete", True):
        yield "<p class='warn'>Interrupted: what was finished is shown.</p>"
    if document.get("rough"):
        runs = document["plan"]["runs"]
        yield f"<p class='warn'>Rough: {runs} runs of each cell; less than five prove little.</p>"
    wrong = [cell for cell in document["cells"] if cell["status"] == "wrong"]
    for cell in wrong:
        text = f"{cell['name']}: {cell['reason']}"
        yield f"<p class='warn'>Wrong, so without figures: {escape(text)}</p>"


def _groups(document: Document) -> Iterator[str]:
    for title, cells in groups(document):
        yield f"<h2>{escape(title)}</h2>"
        yield _table(heads(cells), rows(cells))


def _comparison(document: Document) -> Iterator[str]:
    others = sorted({cell["client"] for cell in document["cells"]} - {*OURS})
    lines = [
        [
            row.cell,
            row.other.split(": ")[1],
            named(row.cell.split(": ")[0], row.figure),
            number(row.ours, row.figure),
            number(row.theirs, row.figure),
            f"{row.difference.ratio:.2f}",
            f"{row.difference.interval.low:.2f} to {row.difference.interval.high:.2f}",
            f"{row.difference.chance:.3f}",
            {True: "better", False: "worse", None: "not shown"}[row.better],
        ]
        for ours, other in product(OURS, others)
        for row in two_clients(document, ours, other)
        if row.difference is not None
    ]
    if lines:
        heads_ = (
            "kgroup",
            "beside",
            "figure",
            "ours",
            "other",
            "ratio",
            "interval",
            "chance",
            "is",
        )
        yield "<h2>kgroup beside the others</h2>"
        yield (
            "<p class='note'>Better or worse is said where the interval of the ratio leaves out 1 "
            "and holds the truth in more than 95 of 100 cases; of three runs none does.</p>"
        )
        yield _table(heads_, lines)


def _sure(document: Document) -> str:
    """Return how often an interval of so many runs holds the median."""
    holds = median_interval(range(document["plan"]["runs"])).holds
    return f" in {holds:.0%} of all cases" if holds else ""


def _ground(document: Document) -> Iterator[str]:
    machine = document["environment"]
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    loads = ", ".join(f"{each:.2f}" for each in machine["load_average"])
    lines = (
        f"Broker: {document['broker']}.",
        (
            f"Machine: {machine['processor']}, {machine['cores']} cores, {machine['machine']}; "
            f"load {loads} when it was written; Python {machine['python']}."
        ),
        f"Versions: {versions}. Commit {document.get('commit', 'unknown')}.",
        f"Seed {document['seed']}; {document['plan']['runs']} runs of each cell, taking turns.",
    )
    yield "<h2>Measured on</h2>"
    yield f"<p class='note'>{'<br>'.join(escape(line) for line in lines)}</p>"


def _table(names: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(each)}</td>" for each in line) + "</tr>" for line in lines
    )
    return f"<div class='wide'><table><tr>{head}</tr>\n{body}</table></div>"


def _figure(picture: Picture) -> str:
    title = escape(picture.title)
    return f"<figure>{picture.svg}<figcaption>{title}</figcaption></figure>"
