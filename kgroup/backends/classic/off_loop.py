"""Long computations away from the event loop, one at a time.

Decides: that whoever stops waiting leaves the thread to itself, and that the next computation
waits for it: an assignor that never returns takes one thread, not one for every round.
Never: decides what is long; keeps a process from ending. On asyncio, the threads that anyio lends
are waited for at exit; so the work has one that is not, and what is lent only waits for that.
"""

from collections.abc import Callable
from threading import Event, Thread
from typing import Final, TypeVar

import anyio
import anyio.to_thread

__all__ = ["OffLoop"]

T = TypeVar("T")

_LOOK_AGAIN: Final = 0.05


class OffLoop:
    """A place for one computation at a time, in a thread of its own."""

    def __init__(self) -> None:
        self._thread: Thread | None = None
        self._limiter: anyio.CapacityLimiter | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, or raise what it raises, without holding up the loop.

        Cancellation ends the wait at once; `work` goes on and nobody hears what becomes of it.
        """
        # The thread cannot ring: it may end after the loop that started it.
        while self._thread is not None and self._thread.is_alive():  # noqa: ASYNC110
            await anyio.sleep(_LOOK_AGAIN)
        if self._limiter is None:  # of its own: the application may have all other threads at work
            self._limiter = anyio.CapacityLimiter(1)
        results: list[T] = []
        errors: list[BaseException] = []
        ended = Event()

        def working() -> None:
            try:
                results.append(work())
            except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
                errors.append(error)
            self._thread = None
            ended.set()

        self._thread = Thread(target=working, name="kgroup assignor", daemon=True)
        self._thread.start()
        try:
            await anyio.to_thread.run_sync(
                ended.wait, abandon_on_cancel=True, limiter=self._limiter
            )
        finally:
            ended.set()  # who was cancelled gives back what was lent
        if errors:
            raise errors[0]
        return results[0]
