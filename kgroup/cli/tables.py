"""How answers look on a screen: plain tables, numbers to the right, no frames.

Decides: that names are shown as they are, never read as markup and never obeyed by a terminal;
and that a pipe gets whole lines however narrow a screen would be.
Never: decides what is shown.
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from kgroup.cli.printing import on_one_line

Cell: TypeAlias = str | int | float | Text | None
"""What stands in a table; None is shown as a dash."""

_PIPE_WIDTH: Final = 10_000
"""Columns where there is no screen; a table takes only what it needs."""


class _Screen(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the verb, which ends in silence; rich itself would exit with 1."""
        raise BrokenPipeError


def screen(*, stderr: bool = False) -> Console:
    """Return where a verb prints."""
    console = _Screen(stderr=stderr, highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    return console


def print_whole(wide: RenderableType, narrow: RenderableType | None = None) -> None:
    """Print tables of which no cell may be cut off; a terminal wraps what it has no room for.

    Args:
        wide: what is printed where there is room for it.
        narrow: what is printed where there is not; None for the same.
    """
    console = screen()
    room, whole = console.width, console.options.update(width=_PIPE_WIDTH)
    fits = Measurement.get(console, whole, wide).maximum <= room
    console.width = _PIPE_WIDTH
    for line in console.render_lines(wide if fits or narrow is None else narrow, pad=False):
        console.print(Segments([*_without_blanks(line), Segment.line()]))


def _without_blanks(line: Sequence[Segment]) -> list[Segment]:
    """Return a line without the blanks that fill its last column; wrapped, they were lines."""
    kept = list(line)
    while kept and not kept[-1].text.strip(" "):
        kept.pop()
    if kept:
        kept[-1] = Segment(kept[-1].text.rstrip(" "), kept[-1].style)
    return kept


def make_table(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Table:
    """Return a table; a column whose first known cell is a number is set to the right.

    A column for remarks, which has no name, is left out when nothing is remarked.
    """
    lines = [tuple(row) for row in rows]
    if columns[-1] == "" and not any(str(line[-1]) for line in lines):
        columns, lines = columns[:-1], [line[:-1] for line in lines]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, name in enumerate(columns):
        known = next((line[index] for line in lines if line[index] not in (None, "")), None)
        number = isinstance(known, int | float)
        table.add_column(Text(name), justify="right" if number else "left", no_wrap=True)
    for line in lines:
        table.add_row(*map(_shown, line))
    return table


def _shown(cell: Cell) -> Text:
    match cell:
        case None:
            return Text("-", style="dim")
        case Text():
            return cell
        case float():
            return Text(f"{cell:g}")
        case int():
            return Text(str(cell))
        case str():
            return Text(on_one_line(cell))
