"""Pieces of a page that needs nothing besides itself: bars in time, lines, tables.

Decides: how much is drawn. What is narrower than a point of the screen is drawn together with its
neighbours, so that a page stays small however much happened.
Never: knows what it draws; times are milliseconds since the epoch.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from typing import Final, NamedTuple, TypeAlias

Span: TypeAlias = tuple[int, int]
"""First moment, and the one behind the last."""

_WIDTH: Final = 1000
_MARGIN: Final = 150
_ROW: Final = 14
_TALL: Final = 220
_TICKS: Final = 8
_COLOURS: Final = 12
_MOST_SHAPES: Final = 16_000
"""Bars or points of one drawing, at most, about."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_STYLE: Final = """
body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1180px;padding:0 1em;color:#222}
h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}
table{border-collapse:collapse;font-size:13px}td,th{padding:2px 10px 2px 0;text-align:left}
th{border-bottom:1px solid #999}td.n{text-align:right}
svg{width:100%;height:auto}svg text{font:10px system-ui,sans-serif;fill:#444}
.bad{color:#b00020}.well{color:#1b6e2d}.note{color:#666}
.none{fill:#fff;stroke:#b00020;stroke-width:.6}.many{fill:#555}
.mark{stroke:#222;stroke-width:.5;opacity:.55}.tick{stroke:#ddd;stroke-width:.5}
"""


class Bar(NamedTuple):
    """Something that lasted.

    Args:
        first: when it began.
        end: when it ended.
        name: what has a colour of its own; None for what is missing.
        about: what is shown of it when it is pointed at.
    """

    first: int
    end: int
    name: str | None
    about: str


class Mark(NamedTuple):
    """A moment in all rows."""

    at: int
    about: str


def moment(ts: int) -> str:
    """Return a moment for a person, in UTC."""
    return (_EPOCH + timedelta(milliseconds=ts)).strftime("%Y-%m-%d %H:%M:%S")


def page(title: str, parts: Iterable[str]) -> str:
    """Return a whole page."""
    colours = "".join(
        f".c{n}{{fill:hsl({n * 360 // _COLOURS} 55% {48 if n % 2 else 62}%)}}"
        f".l{n}{{stroke:hsl({n * 360 // _COLOURS} 55% 45%);fill:none}}"
        for n in range(_COLOURS)
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title><style>{_STYLE}{colours}</style></head><body>\n"
        f"<h1>{escape(title)}</h1>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def section(title: str, *parts: str) -> str:
    """Return a part of a page under a heading of its own."""
    return f"<h2>{escape(title)}</h2>\n" + "\n".join(parts)


def words(text: str, kind: str = "") -> str:
    """Return a paragraph; a kind is one of bad, well, note."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def rows(names: Sequence[str], cells: Iterable[Sequence[object]], most: int = 500) -> str:
    """Return a table; what is beyond `most` rows is counted.

    Args:
        names: of the columns.
        cells: rows; None is empty, whole numbers stand to the right.
        most: rows that are shown.
    """
    all_rows = list(cells)
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in all_rows[:most])
    more = len(all_rows) - most
    rest = words(f"and {more:,} more", "note") if more > 0 else ""
    return f"<table><tr>{head}</tr>\n{body}</table>{rest}"


def _cell(value: object) -> str:
    if value is None:
        return "<td></td>"
    if isinstance(value, int) and not isinstance(value, bool):
        return f'<td class="n">{value:,}</td>'
    return f"<td>{escape(str(value))}</td>"


# -- drawings --------------------------------------------------------------------------------------


def bars(lanes: Mapping[str, Sequence[Bar]], span: Span, marks: Sequence[Mark] = ()) -> str:
    """Return bars in time: a lane for each name, marks across all of them.

    Args:
        lanes: name -> bars in order of time.
        span: what is shown.
        marks: moments.
    """
    points = max(min(_WIDTH, _MOST_SHAPES // max(len(lanes), 1)), 20)
    tall = len(lanes) * _ROW
    colours = _colours(bar.name for each in lanes.values() for bar in each)
    shapes = list(_ticks(span, tall))
    for number, (name, each) in enumerate(lanes.items()):
        top = number * _ROW
        shapes.append(f'<text x="0" y="{top + 11}">{escape(_short(name))}</text>')
        shapes += (_bar(bar, span, top, colours) for bar in _thinned(each, span, points))
    shapes += (_mark(mark, span, tall) for mark in _thinned_marks(marks, span))
    return _svg(tall + 16, shapes) + _legend(colours)


def lines(series: Mapping[str, Sequence[tuple[int, float]]], span: Span) -> str:
    """Return lines over time, the largest value on top.

    Args:
        series: name -> moments and values, in order of time.
        span: what is shown.
    """
    most = max((value for each in series.values() for _, value in each), default=0.0) or 1.0
    points = max(min(_WIDTH, _MOST_SHAPES // max(len(series), 1)) // 2, 20)
    shapes = [*_ticks(span, _TALL), f'<text x="0" y="10">{most:,.0f}</text>']
    for number, (name, each) in enumerate(series.items()):
        path = " ".join(
            f"{_x(ts, span):.1f},{_TALL - value / most * (_TALL - 12):.1f}"
            for ts, value in _peaks(each, span, points)
        )
        about = f"<title>{escape(name)}</title>"
        shapes.append(f'<polyline class="l{number % _COLOURS}" points="{path}">{about}</polyline>')
    return _svg(_TALL + 16, shapes)


def _svg(tall: int, shapes: Iterable[str]) -> str:
    box = f"0 0 {_MARGIN + _WIDTH} {tall}"
    inside = "\n".join(shapes)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}">\n{inside}\n</svg>'


def _x(ts: float, span: Span) -> float:
    return _MARGIN + (min(max(ts, span[0]), span[1]) - span[0]) / _length(span) * _WIDTH


def _length(span: Span) -> int:
    return max(span[1] - span[0], 1)


def _short(name: str, most: int = 24) -> str:
    return name if len(name) <= most else f"{name[:8]}…{name[-(most - 9) :]}"


def _ticks(span: Span, tall: int) -> Iterator[str]:
    form = "%H:%M:%S" if _length(span) < 172_800_000 else "%d %b %H:%M"
    for number in range(_TICKS + 1):
        ts = span[0] + _length(span) * number // _TICKS
        x = _x(ts, span)
        text = (_EPOCH + timedelta(milliseconds=ts)).strftime(form)
        anchor = "end" if number == _TICKS else "middle"
        yield f'<path class="tick" d="M{x:.1f} 0V{tall}"/>'
        yield f'<text x="{x:.1f}" y="{tall + 12}" text-anchor="{anchor}">{text}</text>'


def _colours(names: Iterable[str | None]) -> dict[str, str]:
    known = dict.fromkeys(name for name in names if name is not None)
    return {name: f"c{number % _COLOURS}" for number, name in enumerate(known)}


def _legend(colours: Mapping[str, str], most: int = 40) -> str:
    shown = (
        f'<svg style="width:10px;height:10px" viewBox="0 0 9 9"><rect class="{colour}" '
        f'width="9" height="9"/></svg> {escape(_short(name, 60))}'
        for name, colour in list(colours.items())[:most]
    )
    return f'<p class="note">{" &nbsp; ".join(shown)}</p>'


_MANY: Final = "\0"


def _thinned(each: Sequence[Bar], span: Span, points: int) -> Iterator[Bar]:
    """Yield bars, those narrower than a point together with their neighbours in it."""
    wide = _length(span) / points
    held: list[Bar] = []
    for bar in each:
        if bar.end <= span[0] or bar.first >= span[1]:
            continue
        if bar.end - bar.first >= wide:
            yield from _together(held)
            held = []
            yield bar
            continue
        if held and bar.end - held[0].first > wide:
            yield from _together(held)
            held = []
        held.append(bar)
    yield from _together(held)


def _together(held: Sequence[Bar]) -> Iterator[Bar]:
    if len(held) == 1:
        yield held[0]
    elif held:
        yield Bar(held[0].first, held[-1].end, _MANY, f"{len(held)} short ones")


def _bar(bar: Bar, span: Span, top: int, colours: Mapping[str, str]) -> str:
    left, right = _x(bar.first, span), _x(bar.end, span)
    kind = "none" if bar.name is None else colours.get(bar.name, "many")
    return (
        f'<rect class="{kind}" x="{left:.1f}" y="{top + 2}" width="{max(right - left, 0.7):.1f}" '
        f'height="{_ROW - 4}"><title>{escape(bar.about)}</title></rect>'
    )


def _thinned_marks(marks: Sequence[Mark], span: Span) -> Iterator[Mark]:
    """Yield marks, those within one point as one."""
    seen: dict[int, list[Mark]] = {}
    for mark in marks:
        if span[0] <= mark.at < span[1]:
            seen.setdefault(round(_x(mark.at, span)), []).append(mark)
    for those in seen.values():
        first = those[0]
        yield first if len(those) == 1 else Mark(first.at, f"{len(those)} x, first: {first.about}")


def _mark(mark: Mark, span: Span, tall: int) -> str:
    x = _x(mark.at, span)
    return f'<path class="mark" d="M{x:.1f} 0V{tall}"><title>{escape(mark.about)}</title></path>'


def _peaks(
    each: Sequence[tuple[int, float]], span: Span, points: int
) -> Iterator[tuple[int, float]]:
    """Yield of each point of the screen the lowest and the highest value, in order of time."""
    wide = _length(span) / points
    here: dict[int, list[tuple[int, float]]] = {}
    for ts, value in each:
        if span[0] <= ts < span[1]:
            here.setdefault(int((ts - span[0]) / wide), []).append((ts, value))
    for those in here.values():
        yield from sorted(
            {min(those, key=lambda at: at[1]), max(those, key=lambda at: at[1]), those[-1]}
        )
