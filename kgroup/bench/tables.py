"""The results as tables on the terminal.

Decides: which cells stand together, and their order: cheapest first, and last what has no figures,
with the reason.
Never: shows a cell without figures as zero.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.markup import escape
from rich.table import Table

from kgroup.bench.cells import EVENTS, SIZED_JOBS
from kgroup.bench.figures import UNITS
from kgroup.bench.result import series

_BARS: Final = "▁▂▃▄▅▆▇█"

Document = Mapping[str, Any]
Cell = Mapping[str, Any]

COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    "read": {
        "cpu_us": "CPU after start-up",
        "cpu_us_whole": "CPU, whole process",
        "records_per_s": "records/s",
        "mb_per_s": "MB/s",
        "rss_mb": "peak RSS",
        "first_record_s": "first record",
    },
    "start": {"first_record_s": "first record", "start_cpu_s": "CPU", "rss_mb": "peak RSS"},
    "import": {"import_s": "import"},
    "commit": {"cpu_us": "CPU", "p50_ms": "p50", "p99_ms": "p99"},
    "members": {
        "form_cpu_s": "CPU to form",
        "form_s": "formed after",
        "idle_ms_per_s": "idle CPU of each",
        "requests": "requests of each",
        "rss_mb": "peak RSS",
    },
    "scale": {
        "form_s": "formed after",
        "rounds": "rounds",
        "form_cpu_s": "CPU to form",
        "idle_ms_per_s": "idle CPU of each",
        "requests": "requests of each",
        "rss_mb": "peak RSS",
    },
    "assign": {
        "assign_ms": "assigned in",
        "again_ms": "when one left",
        "apart": "largest less smallest",
        "moved": "moved",
    },
    "claim": {"p50_ms": "p50", "p90_ms": "p90", "max_ms": "longest"},
    "instructions": {"instructions": "instructions per record"},
    "latency": {
        "p50_ms": "p50",
        "p99_ms": "p99",
        "p999_ms": "p99.9",
        "max_ms": "longest",
        "cpu_us": "CPU of a record",
        "lag_ms": "loop late, p99",
        "repeated": "repeated",
        "rss_mb": "peak RSS",
    },
    **{
        event: {
            "recover_s": "recovered after",
            "moved_ms": "moved: silence",
            "moved_max_ms": "moved: longest",
            "back_ms": "restarted: silence",
            "back_max_ms": "restarted: longest",
            "stay_ms": "stay: silence",
            "stay_max_ms": "stay: longest",
            "wait_ms": "longest wait",
            "moved": "moved",
            "repeated": "repeated",
            "uncommitted": "not committed",
        }
        for event in EVENTS
    },
}
"""Job -> figure -> head of its column; the first one orders the rows."""
_EXTRA: Final[Mapping[str, Sequence[str]]] = {
    "read": ("records",),
    **dict.fromkeys(SIZED_JOBS, ("members", "partitions")),
}
"""Job -> heads of what stands before its figures."""


def tables(document: Document) -> Iterator[Table]:
    """Yield a table of each job and kind of record."""
    members = int(document["plan"]["members"])
    for title, cells in groups(document):
        ordered = in_order(cells)
        lead, *_ = COLUMNS[cells[0]["job"]]
        lines = [
            [*row, sparkline(series(cell, members).get(lead, ()))]
            for cell, row in zip(ordered, rows(cells), strict=True)
        ]
        yield table(title, [*heads(cells), "runs"], lines)


def sparkline(values: Sequence[float]) -> str:
    """Return a bar for each run of a figure, as high as it was between the least and the most."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    steps = len(_BARS) - 1
    return "".join(_BARS[round((each - low) / (high - low or 1.0) * steps)] for each in values)


def groups(document: Document) -> list[tuple[str, list[Cell]]]:
    """Return which cells stand in one table, and what it is about.

    Groups of different sizes stand together: how a client grows is what they show.
    """
    found: dict[str, list[Cell]] = {}
    for cell in document["cells"]:
        other = ", on other loops" if cell["loop"] in {"uvloop", "trio"} else ""
        title = f"read, {cell['data']}{other}" if cell["job"] == "read" else cell["job"]
        found.setdefault(title, []).append(cell)
    return [*found.items()]


def heads(cells: Sequence[Cell]) -> list[str]:
    """Return the heads of a table of cells of one job."""
    job = cells[0]["job"]
    return ["client", *_EXTRA.get(job, ()), *shown(cells).values()]


def shown(cells: Sequence[Cell]) -> Mapping[str, str]:
    """Return figure -> head of its column, of those that a cell of one job has, or else all."""
    columns = COLUMNS[cells[0]["job"]]
    known = {figure for cell in cells for figure in cell["figures"]}
    return {name: head for name, head in columns.items() if name in known} or columns


def rows(cells: Sequence[Cell]) -> list[list[str]]:
    """Return the rows of a table of cells of one job.

    A row is who, how many records if any are read, then each figure with its spread, or why there
    is none.
    """
    return [_row(cell, [*shown(cells)]) for cell in in_order(cells)]


def named(job: str, figure: str) -> str:
    """Return what a figure of a job is called: as the head of its column."""
    return COLUMNS[job].get(figure, figure)


def in_order(cells: Sequence[Cell]) -> list[Cell]:
    """Return cells of one job by size and first figure, the least first; last what has none."""
    lead, *_ = COLUMNS[cells[0]["job"]]
    measured = [cell for cell in cells if cell["figures"]]
    measured.sort(key=lambda cell: (cell.get("size") or [], cell["figures"][lead]["median"]))
    return [*measured, *(each for each in cells if not each["figures"])]


def _row(cell: Cell, figures: Sequence[str]) -> list[str]:
    row = [who(cell), *(f"{each:,}" for each in cell.get("size") or ())]
    if cell["job"] == "read":
        row.append(f"{cell['records']:,}")
    if cell["figures"]:
        found = cell["figures"]
        return row + [spread(found[each], each) if each in found else "-" for each in figures]
    why = f"{cell['status']}: {cell['reason']}"
    if cell["status"] == "measured":
        why = "not measured yet"
    return [*row, why, *[""] * (len(figures) - 1)]


def who(cell: Cell) -> str:
    """Return what a row is called."""
    return str(cell["name"].split(": ")[1])


def spread(found: Mapping[str, float], figure: str) -> str:
    """Return a median with the lowest and the highest of the runs."""
    middle, low, high = (number(found[part], figure) for part in ("median", "low", "high"))
    text = middle.partition(" ")
    return middle if low == high else f"{text[0]} ({_bare(low)}-{_bare(high)}) {text[2]}".rstrip()


def _bare(text: str) -> str:
    return text.partition(" ")[0]


def number(value: float, figure: str) -> str:
    """Return a figure with its unit."""
    unit = UNITS[figure]
    if figure == "records_per_s":
        return f"{value / 1e6:.2f} M/s"
    if value >= 100:
        return f"{value:,.0f} {unit}".rstrip()
    return f"{value:.3g} {unit}".rstrip()


def table(title: str, heads: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    """Return a table whose first column is never broken."""
    made = Table(title=title, title_justify="left")
    for place, head in enumerate(heads):
        made.add_column(head, justify="right" if place else "left", no_wrap=not place)
    for line in lines:
        made.add_row(*(escape(each) for each in line))
    return made
