"""Tells who waits that something may have changed.

Decides: nothing; listeners look for themselves.
"""

from collections.abc import Callable

__all__ = ["Bell"]


class Bell:
    """Rung by what changes, heard by what waits for it: a fetch that wants more records."""

    def __init__(self) -> None:
        self._listeners: dict[int, Callable[[], None]] = {}

    def listen(self, ticket: int, act: Callable[[], None]) -> None:
        """Call `act` at each ring, until `leave`; one listener per ticket."""
        self._listeners[ticket] = act

    def leave(self, ticket: int) -> None:
        """Hear no more; may be called while it rings, and more than once."""
        self._listeners.pop(ticket, None)

    def ring(self) -> None:
        """Let everybody look who listens now."""
        for act in [*self._listeners.values()]:
            act()
