"""What `kgroup bench` shows: tables of results and comparisons, and the files of a report.

Decides: that a page lies beside its pictures, which are files of their own, too.
Never: measures.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kgroup.bench.compare import Row
from kgroup.bench.page import page
from kgroup.bench.plots import pictures
from kgroup.bench.tables import number, tables
from kgroup.cli.tables import print_whole, screen


def write_report(document: dict[str, Any], folder: Path) -> list[Path]:
    """Write the page and its pictures; return where they are, the page first.

    Args:
        document: the results.
        folder: made when it is absent.

    Raises:
        MissingExtraError: matplotlib or hdrhistogram is not installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = [*pictures(document)]
    written = [folder / "report.html"]
    written[0].write_text(page(document, drawn), encoding="utf-8")
    for each in drawn:
        written.append(folder / f"{each.name}.png")
        written[-1].write_bytes(each.png)
    return written


def clear_report(folder: Path) -> None:
    """Remove the page and the pictures of an earlier run."""
    for path in (*folder.glob("*.png"), *folder.glob("report.html")):
        path.unlink()


def show(document: Mapping[str, Any]) -> None:
    """Print the tables of results.

    Args:
        document: the results.
    """
    for table in tables(document):
        print_whole(table)
        print()
    if document.get("rough"):
        screen().print("rough: fewer than five runs of each cell", style="yellow")


def figures_of(row: Row) -> tuple[str, ...]:
    """Return the cells of a comparison: figure, now, before, ratio, interval, chance, verdict."""
    values = row.figure, number(row.ours, row.figure), number(row.theirs, row.figure)
    found = row.difference
    if found is None:
        return (*values, "-", "-", "-", "")
    span = f"{found.interval.low:.2f} to {found.interval.high:.2f}"
    word = {True: "better", False: "worse", None: "not shown"}[row.better]
    return (*values, f"{found.ratio:.2f}", span, f"{found.chance:.3f}", word)


def row_json(row: Row) -> dict[str, Any]:
    """Return a comparison for programs."""
    told = {"cell": row.cell, "figure": row.figure, "now": row.ours, "before": row.theirs}
    found = row.difference
    if found is None:
        return {**told, "ratio": None, "better": None}
    interval = [found.interval.low, found.interval.high]
    more = {"ratio": found.ratio, "interval": interval, "chance": found.chance}
    return {**told, **more, "better": row.better}


def ratio_of(found: Mapping[str, float]) -> tuple[str, str]:
    """Return a ratio and its interval, for people."""
    return f"{found['ratio']:.2f}", f"{found['low']:.2f} to {found['high']:.2f}"
