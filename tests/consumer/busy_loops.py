"""A loop that repeats a call and ignores its errors, and a task that runs beside it.

It works for consumers of the facades, too.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TypeVar

import anyio
import anyio.lowlevel

_MOST = 50
"""Calls after which a loop that nothing ends is left."""

T = TypeVar("T")


class _Turns:
    """Counts the turns of another task."""

    taken = 0

    async def take(self) -> None:
        while True:
            self.taken += 1
            await anyio.lowlevel.checkpoint()


async def repeat(consumer: T, call: Callable[[T], Awaitable[object]]) -> None:
    """Repeat a call, and ignore its errors."""
    for _ in range(_MOST):
        with suppress(Exception):
            await call(consumer)


async def alone(consumer: T, calls: Mapping[str, Callable[[T], Awaitable[object]]]) -> list[str]:
    """Return the names of the calls that let no other task run."""
    found = []
    for name, call in calls.items():
        turns = _Turns()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turns.take)
            await repeat(consumer, call)
            tasks.cancel_scope.cancel()
        if turns.taken < _MOST // 2:
            found.append(name)
    return found
