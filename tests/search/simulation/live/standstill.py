"""Processes that stand still: none of their tasks runs until they go on.

Decides: the process of a task (`PROCESS`, inherited by every task that one starts), and that what
would have run in a process that stands still runs afterwards, in the same order. So time-outs and
leases that ended meanwhile are met as after SIGSTOP: all at once, with a clock that has gone on.
Never: stops the network, the cluster or time.

Neither event loop has a call for that. On asyncio a loop's `call_soon` is replaced as long as
somebody stands still; on trio an instrument takes tasks out of the queue as they are put in.
"""

import asyncio
from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import Any, Final, Protocol

PROCESS: Final[ContextVar[str | None]] = ContextVar("kgroup_simulated_process", default=None)
"""The process that the present task belongs to; None for the simulation itself."""


class Standstill(Protocol):
    """Stops processes of the running event loop, and lets them go on."""

    def stop(self, process: str) -> None:
        """Let no task of a process run."""
        ...

    def go_on(self, process: str) -> None:
        """Let what waits run, and everything after it; nothing if it does not stand still."""
        ...


def standstill(backend: str) -> Standstill:
    """Return what stops processes of the running loop.

    Args:
        backend: "asyncio" or "trio".
    """
    return _OnAsyncio(asyncio.get_running_loop()) if backend == "asyncio" else _on_trio()


class _OnAsyncio:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Any = loop
        self._plain: Callable[..., asyncio.Handle] = loop.call_soon
        self._held: dict[str, list[asyncio.Handle]] = {}

    def stop(self, process: str) -> None:
        self._held.setdefault(process, [])
        self._loop.call_soon = self._call_soon

    def go_on(self, process: str) -> None:
        held = self._held.pop(process, None)
        if held is None:
            return
        if not self._held:
            del self._loop.call_soon
        for handle in held:
            self._plain(_run, handle)

    def _call_soon(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        process = PROCESS.get() if context is None else context.get(PROCESS)
        held = None if process is None else self._held.get(process)
        if held is None:
            return self._plain(callback, *args, context=context)
        handle = asyncio.Handle(callback, args, self._loop, context)
        held.append(handle)
        return handle


def _run(handle: asyncio.Handle) -> None:
    if not handle.cancelled():
        handle._run()  # what the loop itself does with one


def _on_trio() -> Standstill:
    import trio  # noqa: PLC0415 - an extra

    runner: Any = trio._core._run.GLOBAL_RUN_CONTEXT.runner

    class OnTrio(trio.abc.Instrument):
        def __init__(self) -> None:
            self._held: dict[str, list[Any]] = {}

        def stop(self, process: str) -> None:
            if not self._held:
                trio.lowlevel.add_instrument(self)
            self._held.setdefault(process, [])

        def go_on(self, process: str) -> None:
            held = self._held.pop(process, None)
            if held is None:
                return
            runner.runq.extend(held)
            if not self._held:
                trio.lowlevel.remove_instrument(self)

        def task_scheduled(self, task: Any) -> None:
            process = task.context.get(PROCESS)
            held = None if process is None else self._held.get(process)
            if held is not None:
                taken = runner.runq.pop()
                assert taken is task
                held.append(taken)

    return OnTrio()
