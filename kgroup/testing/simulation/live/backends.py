"""Running one simulation on an event loop, always in the same way.

Decides: that asyncio and trio run in virtual time, and that what is ready at one instant runs in
the order in which it became ready. asyncio does so, but for timers of one instant. trio shuffles
what is ready, wakes those that wait for one event in the order of their addresses, and does the
same with timers of one instant; for a run it is given other dice, events and deadlines.
Never: touches real time, except for level C.
"""

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple, cast

import anyio

from kgroup.testing.virtual_time import VirtualLoop, virtual_backend

__all__ = ["run_real", "run_virtual"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


def run_virtual(backend: str, work: Callable[[], Awaitable[T]]) -> T:
    """Run a coroutine function in virtual time.

    Args:
        backend: "asyncio" or "trio".
        work: takes nothing.
    """
    name, options = virtual_backend(backend)
    if name == "asyncio":
        return anyio.run(work, backend=name, backend_options={"loop_factory": _OrderedLoop})
    with _trio_in_order():
        return anyio.run(_on_trio, work, backend=name, backend_options=dict(options))


def run_real(backend: str, work: Callable[[], Awaitable[T]]) -> T:
    """Run a coroutine function in real time."""
    return anyio.run(work, backend=backend)


# -- asyncio -------------------------------------------------------------------------------------


class _OrderedLoop(VirtualLoop):
    """A virtual loop in which timers of one instant go off in the order in which they were set."""

    def __init__(self) -> None:
        super().__init__()
        self._timers_set = 0

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Set a timer."""
        if when == float("inf"):
            return super().call_at(when, callback, *args, context=context)
        self._timers_set += 1
        timer = _Timer(when, callback, args, self, context)
        timer.number = self._timers_set
        loop, known = cast("Any", self), cast("Any", timer)
        heapq.heappush(loop._scheduled, timer)  # noqa: SLF001
        known._scheduled = True  # noqa: SLF001  # as asyncio's own loop does
        return timer


class _Timer(asyncio.TimerHandle):
    __slots__ = ("number",)

    number: int

    def __lt__(self, other: object) -> bool:
        if isinstance(other, _Timer):
            return (self.when(), self.number) < (other.when(), other.number)
        return NotImplemented


# -- trio ----------------------------------------------------------------------------------------


class _NoChance:
    """Stands for trio's dice: what became ready first runs first."""

    def random(self) -> float:
        return 0.0


@contextmanager
def _trio_in_order() -> Iterator[None]:
    import trio  # noqa: PLC0415 - an extra

    whole: Any = trio
    inside: Any = trio._core._run  # noqa: SLF001
    names = ("_r", "_ALLOW_DETERMINISTIC_SCHEDULING")
    before = {name: getattr(inside, name) for name in names}
    event = whole.Event
    # Its own determinism, which tools for tests turn on, is another order than asyncio's.
    inside._r, inside._ALLOW_DETERMINISTIC_SCHEDULING = _NoChance(), False  # noqa: SLF001
    whole.Event = _event_in_order()
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(inside, name, value)
        whole.Event = event


def _event_in_order() -> type:
    import trio  # noqa: PLC0415 - an extra

    class Event:
        """As trio's; who waited first is woken first."""

        __slots__ = ("_set", "_tasks")

        def __init__(self) -> None:
            self._set = False
            self._tasks: dict[Any, None] = {}

        def is_set(self) -> bool:
            return self._set

        def set(self) -> None:
            if not self._set:
                self._set = True
                tasks, self._tasks = self._tasks, {}
                for task in tasks:
                    trio.lowlevel.reschedule(task)

        async def wait(self) -> None:
            if self._set:
                await trio.lowlevel.checkpoint()
                return
            task = trio.lowlevel.current_task()
            self._tasks[task] = None

            def abort(_: object) -> trio.lowlevel.Abort:
                del self._tasks[task]
                return trio.lowlevel.Abort.SUCCEEDED

            await trio.lowlevel.wait_task_rescheduled(abort)

    return Event


async def _on_trio(work: Callable[[], Awaitable[T]]) -> T:
    import trio  # noqa: PLC0415 - an extra

    inside: Any = trio._core._run  # noqa: SLF001

    class Deadlines(inside.Deadlines):  # type: ignore[misc]
        """As trio's; of one instant, the one that was set first is first."""

        __slots__ = ("_number",)

        def add(self, deadline: float, cancel_scope: object) -> None:
            self._number = getattr(self, "_number", 0) + 1
            heapq.heappush(self._heap, (deadline, self._number, cancel_scope))
            self._active += 1

    runner = inside.GLOBAL_RUN_CONTEXT.runner
    mine = Deadlines()
    mine._heap, mine._active = runner.deadlines._heap, runner.deadlines._active  # noqa: SLF001
    runner.deadlines = mine
    return await work()
