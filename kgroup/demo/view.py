"""How the demo looks: a live table on a terminal, or plain lines.

Decides: what a person sees of a board.
Never: changes a board, or keeps anything but how much it has shown.
"""

from types import TracebackType
from typing import Final, Protocol, Self

from rich.box import SIMPLE
from rich.columns import Columns
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from kgroup.demo.board import Board, Condition, Row

_CHRONICLE: Final = 10
_STYLES: Final = (
    "cyan",
    "green",
    "magenta",
    "yellow",
    "blue",
    "red",
    "bright_cyan",
    "bright_green",
)


class Screen(Protocol):
    """Shows boards; used as a context manager."""

    def show(self, board: Board) -> None:
        """Show what is known now; called several times a second."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...


class LiveScreen:
    """Redraws one picture in place.

    Args:
        console: where to draw.
    """

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._live.stop()

    def show(self, board: Board) -> None:
        """Draw the board."""
        self._live.update(draw_board(board), refresh=True)


class LineScreen:
    """Prints each happening once, and a summary now and then.

    Args:
        console: where to print.
        pause: seconds between two summaries.
    """

    def __init__(self, console: Console, pause: float = 5.0) -> None:
        self._console = console
        self._pause = pause
        self._shown = 0
        self._next_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        return

    def show(self, board: Board) -> None:
        """Print what is new."""
        for happening in board.happenings[self._shown :]:
            self._print(f"{happening.at:6.1f} s  {happening.text}")
        self._shown = len(board.happenings)
        if board.at >= self._next_at:
            self._next_at = board.at + self._pause
            self._print(f"{board.at:6.1f} s  {summary(board)}")

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


def summary(board: Board) -> str:
    """Show in one line which member owns what, and how far behind the group is."""
    owned = "  ".join(
        f"{row.label}[{' '.join(map(str, row.owned))}]" for row in board.rows if row.owned
    )
    return f"generation {_or_dash(board.generation)}  lag {_lag(board)}  {owned}".rstrip()


def draw_board(board: Board) -> Group:
    """Return the picture of a board for rich."""
    style = {row.label: _STYLES[n % len(_STYLES)] for n, row in enumerate(board.rows)}
    head = Text.assemble(
        ("kgroup demo", "bold"),
        f"   {board.at:.1f} s   generation {_or_dash(board.generation)}"
        f"   produced {sum(board.ends.values())}   lag {_lag(board)}",
    )
    return Group(head, _members(board, style), _partitions(board, style), _chronicle(board))


def _members(board: Board, style: dict[str, str]) -> Table:
    table = Table("member", "process", "state", "generation", "records", "owns", box=SIMPLE)
    for row in board.rows:
        table.add_row(
            Text(row.label, style=style[row.label]),
            Text(row.condition.value, style=_alarm(row.condition)),
            _state(row),
            _or_dash(None if row.status is None else row.status.generation),
            str(0 if row.status is None else row.status.records),
            " ".join(map(str, row.owned)) or "-",
        )
    return table


def _state(row: Row) -> str:
    if row.status is None or row.condition is not Condition.RUNNING:
        return "-"
    leader = ", leader" if row.status.leader else ""
    static = ", static" if row.instance else ""
    return f"{row.status.state}{leader}{static}"


def _partitions(board: Board, style: dict[str, str]) -> Columns:
    cells = []
    for partition in range(board.partitions):
        owner = _owner(board.owners(partition), style)
        lag = _or_dash(board.lag(partition))
        cells.append(Text.assemble((f"{partition:>3} ", "bold"), owner, f" lag {lag}"))
    return Columns(cells, equal=True, padding=(0, 2))


def _owner(names: tuple[str, ...], style: dict[str, str]) -> Text:
    if not names:
        return Text("nobody", style="dim")
    return Text(" ").join(Text(name, style=style[name]) for name in names)


def _chronicle(board: Board) -> Text:
    latest = board.happenings[-_CHRONICLE:]
    return Text(
        "\n" + "\n".join(f"{happening.at:6.1f} s  {happening.text}" for happening in latest)
    )


def _alarm(condition: Condition) -> str:
    return "bold red" if condition in (Condition.KILLED, Condition.FAILED) else ""


def _lag(board: Board) -> str:
    known = [board.lag(partition) for partition in range(board.partitions)]
    return str(sum(lag for lag in known if lag is not None))


def _or_dash(number: int | None) -> str:
    return "-" if number is None else str(number)
