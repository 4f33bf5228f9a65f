"""Pictures of results, by matplotlib: bars with intervals, latency curves, who owned what.

Decides: which picture each job gets, and lines where groups of several sizes were measured; that
text stays text and colours are told apart by those who see fewer; that a picture has no background
of its own, so that it fits a light page and a dark one.
Never: draws what was not measured.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from io import BytesIO
from typing import Any, Final

from kgroup.bench.cells import EVENTS
from kgroup.bench.figures import UNITS
from kgroup.bench.histogram import percentiles
from kgroup.bench.result import series
from kgroup.bench.statistics import median_interval
from kgroup.bench.tables import groups, shown, who
from kgroup.errors import MissingExtraError
from kgroup.values import dataclass

Document = Mapping[str, Any]
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A8A8A")
"""Okabe and Ito's, in an order that stays apart without red and green."""
_GREY: Final = "#808080"
_STYLES: Final = ("-", "--", ":")
_SILENCES: Final = ("recover_s", "moved_max_ms", "back_max_ms", "stay_max_ms")
"""Figures of an event that have a picture."""
_CURVE: Final = (1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99)


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture.

    Args:
        name: for a file.
        title: for people.
        svg: the picture; lines and text take the colour of the page.
        png: the same on white.
    """

    name: str
    title: str
    svg: str
    png: bytes


def pictures(document: Document) -> Iterator[Picture]:
    """Yield the pictures of a result.

    Raises:
        MissingExtraError: matplotlib or hdrhistogram is not installed.
    """
    members = int(document["plan"]["members"])
    for title, cells in groups(document):
        known = [cell for cell in cells if cell["samples"]]
        if not known:
            continue
        sizes = {tuple(cell.get("size") or ()) for cell in known}
        draw = _lines if len(sizes) > 1 else _bars
        for figure, head in _drawn(known):
            yield draw(f"{title}: {head}", figure, known, members)
        if known[0]["job"] == "latency":
            yield _curves(f"{title}: percentiles", known)
        for cell in known:
            if cell["samples"][-1].get("spans"):
                yield _owners(f"{title}: {who(cell)}, last run", cell["samples"][-1])


def _drawn(cells: Sequence[Document]) -> list[tuple[str, str]]:
    """Return which figures of a job have a picture, and their heads."""
    columns = shown(cells)
    wanted = _SILENCES if cells[0]["job"] in EVENTS else [*columns][:2]
    return [(figure, columns[figure]) for figure in wanted if figure in columns]


def _bars(title: str, figure: str, cells: Sequence[Document], members: int) -> Picture:
    rows = []
    for cell in cells:
        runs = series(cell, members).get(figure)
        if runs:
            rows.append((who(cell), cell["figures"][figure]["median"], median_interval(runs), runs))
    rows.sort(key=lambda row: -row[1])
    drawing, axes = _drawing(0.42 * len(rows) + 0.9)
    for place, (_, middle, interval, runs) in enumerate(rows):
        axes.barh(place, middle, height=0.6, color=COLOURS[0], alpha=0.85)
        axes.plot([interval.low, interval.high], [place, place], color=COLOURS[1], linewidth=3)
        axes.plot(runs, [place] * len(runs), "|", color=_GREY, markersize=9)
    axes.set_yticks(range(len(rows)), [row[0] for row in rows])
    axes.set_xlabel(UNITS[figure] or figure)
    axes.set_xlim(left=0)
    return _picture(drawing, title)


def _lines(title: str, figure: str, cells: Sequence[Document], members: int) -> Picture:
    """Draw how a figure grows with the group."""
    grown: dict[str, list[tuple[int, float, float, float]]] = {}
    for cell in cells:
        runs = series(cell, members).get(figure)
        if runs:
            middle, interval = cell["figures"][figure]["median"], median_interval(runs)
            place = (cell["size"][0], middle, interval.low, interval.high)
            grown.setdefault(who(cell), []).append(place)
    drawing, axes = _drawing(3.6)
    for number, (name, places) in enumerate(grown.items()):
        counts, middles, lows, highs = zip(*sorted(places), strict=True)
        colour = COLOURS[number % len(COLOURS)]
        style = _STYLES[number // len(COLOURS) % len(_STYLES)]
        axes.plot(counts, middles, style, color=colour, marker="o", markersize=4, label=name)
        axes.fill_between(counts, lows, highs, color=colour, alpha=0.15, linewidth=0)
    axes.set_xticks(sorted({cell["size"][0] for cell in cells}))
    axes.set_xlabel("members")
    axes.set_ylabel(UNITS[figure] or figure)
    axes.set_ylim(bottom=0)
    _legend(axes)
    return _picture(drawing, title)


def _curves(title: str, cells: Sequence[Document]) -> Picture:
    drawing, axes = _drawing(3.6)
    for number, cell in enumerate(cells):
        found = percentiles([sample["waits"] for sample in cell["samples"]], _CURVE)
        rarity = [1 / (1 - each / 100) for each in _CURVE]
        colour = COLOURS[number % len(COLOURS)]
        times = [each * 1e3 for each in found]
        axes.plot(rarity, times, label=who(cell), color=colour, linewidth=2)
    axes.set_xscale("log")
    axes.set_yscale("log")
    shown = (50.0, 90.0, 99.0, 99.9, 99.99)
    axes.set_xticks([1 / (1 - each / 100) for each in shown], [f"{each:g} %" for each in shown])
    axes.minorticks_off()
    axes.set_ylabel("ms")
    axes.set_xlabel("of all records are delivered in less")
    axes.legend(frameon=False, labelcolor=_GREY)
    return _picture(drawing, title)


def _owners(title: str, sample: Document) -> Picture:
    """Draw who delivered each partition, and when nobody did."""
    spans = sample["spans"]
    partitions = sorted({span[0] for span in spans})
    members = sorted({span[1] for span in spans})
    drawing, axes = _drawing(0.22 * len(partitions) + 1.2)
    for number, member in enumerate(members):
        mine = [span for span in spans if span[1] == member]
        axes.barh(
            [span[0] for span in mine],
            [max(span[3] - span[2], 0.02) for span in mine],
            left=[span[2] for span in mine],
            height=0.7,
            color=COLOURS[number % len(COLOURS)],
            label=member,
        )
    axes.axvline(0, color=_GREY, linestyle="--", linewidth=1)
    axes.set_yticks(partitions)
    axes.set_ylabel("partition")
    axes.set_xlabel("seconds after the event")
    _legend(axes)
    return _picture(drawing, title)


def _legend(axes: Any) -> None:  # noqa: ANN401 - it has no types here
    """Put names beside the picture."""
    place = {"bbox_to_anchor": (1.0, 1.0), "loc": "upper left"}
    axes.legend(frameon=False, labelcolor=_GREY, **place)


def _drawing(height: float) -> tuple[Any, Any]:
    try:
        figure = import_module("matplotlib.figure").Figure
    except ImportError as error:
        raise MissingExtraError("a picture of results", "bench") from error
    drawing = figure(figsize=(8.0, height), layout="constrained")
    axes = drawing.add_subplot()
    axes.set_facecolor("none")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(_GREY)
    axes.tick_params(colors=_GREY)
    axes.xaxis.label.set_color(_GREY)
    axes.yaxis.label.set_color(_GREY)
    return drawing, axes


def _picture(drawing: Any, title: str) -> Picture:  # noqa: ANN401 - it has no types here
    name = re.sub(r"[\W_]+", "-", title.lower()).strip("-")
    settings = {"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "sans-serif"}
    vector, dots = BytesIO(), BytesIO()
    with import_module("matplotlib").rc_context(settings):
        drawing.savefig(vector, format="svg", transparent=True, metadata={"Date": None})
        drawing.set_layout_engine("none")  # it is laid out now
        drawing.savefig(dots, format="png", dpi=110, facecolor="white")
    text = vector.getvalue().decode("utf-8")
    return Picture(name, title, text[text.index("<svg") :], dots.getvalue())
