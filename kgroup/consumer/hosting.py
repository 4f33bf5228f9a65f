"""Where a consumer lives: in the task that entered it, or in a task of its own.

Decides: how it is entered, for both; that with `start` and `stop` one task enters and leaves it, so
that the callers may be different tasks; what a caller that is cancelled leaves behind: nothing.
Never: refers to the consumer itself, so that one that is dropped can be collected.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

from kgroup.consumer.assembly import Parts
from kgroup.consumer.root import Root
from kgroup.errors import ClosedError
from kgroup.types import Leave

_CLOSING: Final = 5.0
"""Seconds to close when the host is cancelled, because its event loop ends."""
_TEARDOWN: Final = 2.0
"""Seconds for which the end of the host is waited for, when everything was asked to end."""

_TASKS: Final[set["asyncio.Task[None]"]] = set()
"""asyncio itself refers to its tasks weakly."""


async def begin(
    root: Root, parts: Parts, ask: Callable[[], None] | None, *, patience: float | None
) -> TaskGroup:
    """Start the background in a task group of the present task, and wait for a broker.

    Args:
        root: runs the background.
        parts: of the consumer.
        ask: asks for what the consumer subscribes to, None for nothing.
        patience: of the bootstrap, seconds; None for the usual one.

    Raises:
        NoBrokerError: no broker answered; nothing is left running.
    """
    tasks = anyio.create_task_group()
    await tasks.__aenter__()
    try:
        await tasks.start(root.run)
        if ask is not None:
            ask()
        await parts.cluster.bootstrap(patience)
    except BaseException:
        await root.abort()
        await tasks.__aexit__(None, None, None)
        raise
    return tasks


class Host:
    """The task that a started consumer lives in; on asyncio and on trio.

    Args:
        root: runs the background.
        enter: enters the consumer; called once, in the host's task.
    """

    def __init__(self, root: Root, enter: Callable[[], Awaitable[TaskGroup]]) -> None:
        self._root = root
        self._enter = enter
        self._scope = anyio.CancelScope()
        self._entered = anyio.Event()
        self._over = anyio.Event()
        self._refusal: Exception | None = None
        self._error: Exception | None = None

    @property
    def runs(self) -> bool:
        """Whether nobody has asked for the end, and it has not come."""
        return self._root.end in (None, "failed")

    async def start(self) -> None:
        """Spawn the task, and wait until it has entered the consumer; once.

        Raises:
            KGroupError: it could not be entered.
            ClosedError: it was stopped meanwhile.
        """
        self._root.hosted = True
        _spawn(self._live)
        try:
            await self._entered.wait()
        except BaseException:
            self._scope.cancel()
            await self._ended()
            raise
        if self._refusal is not None and not isinstance(self._refusal, ClosedError):
            raise self._refusal
        if not self.runs:
            raise ClosedError("the consumer was stopped while it started") from self._refusal

    async def stop(self) -> None:
        """Wait until the task is over; closing was asked for, and was waited for.

        Raises:
            Exception: what has ended the consumer.
        """
        await self._ended()
        if self._error is not None:
            raise self._error

    async def _ended(self) -> None:
        with anyio.move_on_after(_TEARDOWN, shield=True):
            await self._over.wait()

    async def _live(self) -> None:
        try:
            with self._scope:
                await self._stay()
        except Exception as error:  # noqa: BLE001 - `start`, or `stop`, raises it
            if self._entered.is_set():
                self._error = error
            else:
                self._refusal = error
        finally:
            self._entered.set()
            self._over.set()

    async def _stay(self) -> None:
        tasks = await self._enter()
        self._entered.set()
        try:
            await self._root.asked()
        finally:
            self._root.close_soon(_CLOSING, Leave.DEFAULT)
            await self._root.closed()
            await tasks.__aexit__(None, None, None)


def _spawn(live: Callable[[], Coroutine[Any, Any, None]]) -> None:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        # Not asyncio; and trio is there, since it runs.
        import trio  # noqa: PLC0415 - an extra

        trio.lowlevel.spawn_system_task(live, name="kgroup consumer")
        return
    task = loop.create_task(live(), name="kgroup consumer")
    _TASKS.add(task)
    task.add_done_callback(_TASKS.discard)
