"""How far `kgroup bench` is, on standard error.

Decides: that a terminal has a bar with the remaining time, and everything else has lines.
Never: writes to standard output.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from kgroup.cli.tables import screen


class Bar:
    """Shows how far it is: a bar with the remaining time, or lines where there is no terminal.

    Args:
        console: standard error.
        bar: of rich, None for lines.
    """

    def __init__(self, console: Console, bar: Progress | None) -> None:
        self._console = console
        self._bar = bar
        self._task = None if bar is None else bar.add_task("", total=None)

    def say(self, line: str) -> None:
        """Show a line."""
        if self._bar is None or not line.startswith(("run", "proof")):
            self._console.print(line, markup=False)

    def total(self, steps: int) -> None:
        """So many measurements there are."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, total=steps, completed=-1)

    def step(self, name: str) -> None:
        """One of them begins."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=name, advance=1)


@contextmanager
def shown_progress() -> Iterator[Bar]:
    """Show how far a run is, for the length of a block."""
    console = screen(stderr=True)
    if not console.is_terminal:
        yield Bar(console, None)
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    text = TextColumn("{task.description}", markup=False)
    with Progress(*columns, text, console=console, transient=True) as bar:
        yield Bar(console, bar)
