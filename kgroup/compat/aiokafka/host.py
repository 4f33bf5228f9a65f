"""The task that a native consumer lives in.

Decides: how a consumer that is entered and left in one task serves callers in any task, and in
separate runs of its loop: a task of its own holds it, callers use it from where they are.
Never: refers to the facade: one that is dropped is collected, and its consumer then ends quietly.
Swallows an error: what ends the task is raised by the next call.
"""

import asyncio
from typing import Any, Final

from kgroup import Consumer

__all__ = ["Host"]

_QUIET_END: Final = 1.0
"""Seconds in which a consumer that nobody refers to any more leaves its group."""


class Host:
    """Holds one consumer; confined to one event loop.

    Args:
        consumer: not entered.
        patience: seconds after which it is over once it is told to end.
    """

    def __init__(self, consumer: Consumer[Any, Any], patience: float) -> None:
        self.consumer = consumer
        self._patience = patience
        self._over = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Enter the consumer; once.

        Raises:
            KGroupError: it could not be entered.
        """
        self._loop = asyncio.get_running_loop()
        entered: asyncio.Future[None] = self._loop.create_future()
        living = _live(self.consumer, entered, self._over, self._patience)
        self._task = task = self._loop.create_task(living, name="kgroup consumer")
        try:
            await asyncio.wait((task, entered), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait((task,))
            raise
        if not entered.done():
            self._task = None
            task.result()

    def check(self) -> None:
        """Raise what has ended the task, when nobody told it to end.

        Raises:
            BaseException: whatever it was.
        """
        task = self._task
        if task is not None and task.done() and not task.cancelled():
            error = task.exception()
            if error is not None:
                raise error

    async def stop(self, *, wait: bool) -> None:
        """Close the consumer; whoever is cancelled ends its own wait only.

        Args:
            wait: until it is over; not in a callback that closing waits for.

        Raises:
            BaseException: what nobody foresaw.
        """
        self._over.set()
        task = self._task
        if task is None or not wait:
            return
        if not task.done():
            await asyncio.wait((task,))
        self.check()

    async def ended(self) -> None:
        """Wait until it is over, however it ends; it was told to."""
        if self._task is not None:
            await asyncio.wait((self._task,))
            if not self._task.cancelled():
                self._task.exception()  # is known to whoever gave it up

    def abandon(self) -> None:
        """Have the consumer end by itself, without a word; from any thread, at any time."""
        if self._loop is None:
            return
        self.consumer.close_soon(timeout=_QUIET_END)
        try:
            self._loop.call_soon_threadsafe(self._over.set)
        except RuntimeError:
            return  # the loop is closed, and with it everything


async def _live(
    consumer: Consumer[Any, Any],
    entered: asyncio.Future[None],
    over: asyncio.Event,
    patience: float,
) -> None:
    async with consumer:
        if not entered.done():
            entered.set_result(None)
        await over.wait()
        await consumer.close(timeout=patience)
