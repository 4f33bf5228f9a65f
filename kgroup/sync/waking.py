"""Ending a blocked read from outside.

Decides: what one `wakeup()` ends: every read that waits at that moment, or, when none does, the
next one; once.
Never: loses a wakeup: 1. a read has its records; 2. it is woken; 3. it returns them: the next read
is the one that ends.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from kgroup.errors import WakeupError

__all__ = ["Waking"]

T = TypeVar("T")


class Waking:
    """Reads of one consumer; the loop's."""

    def __init__(self) -> None:
        self._reads: set[anyio.CancelScope] = set()
        self._owed = False

    def wake(self) -> None:
        """End the reads that wait, or the next one."""
        self._owed = not self._reads
        for scope in self._reads:
            scope.cancel()

    async def read(self, read: Callable[[], Awaitable[T]]) -> T:
        """Read, unless woken.

        Raises:
            WakeupError: somebody called `wakeup()`.
        """
        if self._owed:
            self._owed = False
            raise WakeupError
        with anyio.CancelScope() as scope:
            self._reads.add(scope)
            try:
                found = await read()
            finally:
                self._reads.discard(scope)
            if scope.cancel_called:
                self._owed = True
            return found
        raise WakeupError
