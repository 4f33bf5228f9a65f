"""The board that changes, and those who wait for it.

Decides: that there is one board, replaced whole, and that a wait for it has an end.
Never: knows what the news are about.
"""

from collections.abc import Callable

import anyio

from kgroup.demo.board import Board

__all__ = ["Stage"]


class Stage:
    """Holds the present board.

    Args:
        board: the first one.
        clock: monotonic seconds.
    """

    def __init__(self, board: Board, clock: Callable[[], float]) -> None:
        self._board = board
        self._clock = clock
        self._began_at = clock()
        self._changed = anyio.Event()

    @property
    def board(self) -> Board:
        """The present board, at the present time."""
        return self._board.with_time(self._clock() - self._began_at)

    def change(self, news: Callable[[Board], Board]) -> None:
        """Replace the board by what the news make of it."""
        self._board = news(self.board)
        self._changed.set()
        self._changed = anyio.Event()

    async def until(self, is_so: Callable[[Board], bool], timeout: float, what: str) -> None:
        """Wait for a board.

        Raises:
            TimeoutError: it did not come in time; says what was waited for.
        """
        with anyio.move_on_after(timeout):
            while not is_so(self._board):
                await self._changed.wait()
            return
        raise TimeoutError(f"the demo waited {timeout:g} s in vain until {what}")
