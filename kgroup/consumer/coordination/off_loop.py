"""Long computations away from the event loop, one at a time.

Decides: that whoever stops waiting leaves the thread to itself, and that the next computation
waits for it: an assignor that never returns takes one thread, not one for every round.
Never: decides what is long.
"""

from collections.abc import Callable
from typing import Final, TypeVar

import anyio
import anyio.to_thread

__all__ = ["OffLoop"]

T = TypeVar("T")

_LOOK_AGAIN: Final = 0.05


class OffLoop:
    """A place for one computation at a time, in a worker thread."""

    def __init__(self) -> None:
        self._at_work: set[object] = set()
        self._limiter: anyio.CapacityLimiter | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, or raise what it raises, without holding up the loop.

        Cancellation ends the wait at once; `work` goes on and nobody hears what becomes of it.
        """
        # The thread cannot ring: it may end after the loop that started it.
        while self._at_work:  # noqa: ASYNC110
            await anyio.sleep(_LOOK_AGAIN)
        if self._limiter is None:  # of its own: the application may have all other threads at work
            self._limiter = anyio.CapacityLimiter(1)
        mark = object()

        def working() -> T:
            self._at_work.add(mark)
            try:
                return work()
            finally:
                self._at_work.discard(mark)

        return await anyio.to_thread.run_sync(
            working, abandon_on_cancel=True, limiter=self._limiter
        )
