"""Asking a consumer to close from outside its event loop.

Decides: how a wish to close reaches the loop from another thread, or from a signal handler.
Never: waits, raises because the loop is over, or touches the consumer outside its loop.
"""

from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import TypeAlias

__all__ = ["Closing"]

_Run: TypeAlias = Callable[[Callable[[], object]], object]
"""Has a function called on a loop soon; any thread may ask."""


class Closing:
    """Carries wishes to close into the loop of one consumer."""

    __slots__ = ("_run",)

    def __init__(self) -> None:
        self._run: _Run | None = None

    def enter(self) -> None:
        """Note the loop that runs now: the one the consumer is entered on."""
        self._run = _present_loop()

    def soon(self, begin: Callable[[], object]) -> None:
        """Have `begin` called on the loop as soon as it can; from any thread, at any time.

        Nothing happens before the consumer is entered, and after its loop is over.

        Args:
            begin: plain; called once, in no task.
        """
        run = self._run
        if run is None:
            return
        try:
            run(begin)
        except RuntimeError:
            # The loop is closed (trio's RunFinishedError is one, too): so is the consumer.
            return


def _present_loop() -> _Run:
    import asyncio  # noqa: PLC0415 - costs a program on trio more than all of this module

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        # Not asyncio; and trio is there, since it runs.
        import trio  # noqa: PLC0415 - an extra

        return trio.lowlevel.current_trio_token().run_sync_soon
    # In the context of the loop: that of the thread which asks does not know about anyio.
    return partial(loop.call_soon_threadsafe, context=copy_context())
