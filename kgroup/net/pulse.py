"""Wakes everybody who waits, once.

Decides: that a waiter looks at the state itself after it wakes; a pulse carries no data.
Never: remembers: what happened before `wait()` was called does not end it, so the state is
    looked at first, and between looking and waiting there is no await.
"""

import anyio

__all__ = ["Pulse"]


class Pulse:
    """A condition without a lock, for tasks of one loop."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event: anyio.Event | None = None

    def fire(self) -> None:
        """Wake all present waiters."""
        event, self._event = self._event, None
        if event is not None:
            event.set()

    async def wait(self) -> None:
        """Wait for the next `fire()`; the caller bounds the time."""
        if self._event is None:
            self._event = anyio.Event()
        await self._event.wait()
