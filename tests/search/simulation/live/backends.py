"""Running one simulation on an event loop, always in the same way.

Decides: that asyncio and trio run in virtual time, and that what is ready at one instant runs in
the order in which it became ready. asyncio does so, but for timers of one instant. trio shuffles
what is ready, wakes those that wait for one event in the order of their addresses, and does the
same with timers of one instant; for a run it is given another clock, other dice, events and
deadlines.
Never: touches real time, except for level C.
"""

import asyncio
import heapq
import math
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from typing import Any, Final, Protocol, TypeVar, TypeVarTuple, cast

import anyio

from kgroup.errors import MissingExtraError
from kgroup.testing.virtual_time import VirtualLoop

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_STANDS_STILL: Final = "virtual time stands still: every task waits, and no timer is set"


def run_virtual(backend: str, work: Callable[[], Awaitable[T]]) -> T:
    """Run a coroutine function in virtual time.

    Args:
        backend: "asyncio" or "trio".
        work: takes nothing.
    """
    if backend == "asyncio":
        return anyio.run(work, backend=backend, backend_options={"loop_factory": _OrderedLoop})
    with _trio_in_order() as clock:
        return anyio.run(_on_trio, work, backend=backend, backend_options={"clock": clock})


def run_real(backend: str, work: Callable[[], Awaitable[T]]) -> T:
    """Run a coroutine function in real time."""
    return anyio.run(work, backend=backend)


def loop_clock(backend: str) -> Callable[[], float]:
    """Return the clock of the running virtual loop: `anyio.current_time`, without the search."""
    if backend == "asyncio":
        return asyncio.get_running_loop().time
    return cast("Callable[[], float]", _runner().clock.current_time)


class Alarm(Protocol):
    """Calls something at an instant, outside of all tasks."""

    def set(self, instant: float) -> None:
        """Go off then, and not at the instant that was set before.

        Args:
            instant: on the loop's clock, infinity for never.
        """
        ...


def alarm(backend: str, act: Callable[[], None]) -> Alarm:
    """Return an alarm of the running virtual loop.

    Args:
        backend: "asyncio" or "trio".
        act: must not raise.
    """
    if backend == "asyncio":
        return _AsyncioAlarm(asyncio.get_running_loop(), act)
    return _TrioAlarm(_runner(), act)


# -- asyncio -------------------------------------------------------------------------------------


class _OrderedLoop(VirtualLoop):
    """A virtual loop in which timers of one instant go off in the order in which they were set.

    It never asks the system whether a socket is ready: there is none.
    """

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._timers_set = 0

    def time(self) -> float:
        """Return virtual seconds since the loop was made."""
        return self._now

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Set a timer."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        if when != math.inf:
            self._timers_set += 1
            heapq.heappush(self._timers, (when, self._timers_set, timer))
        return timer

    def _run_once(self) -> None:
        """Run what is ready; when nothing is, go on to the next timer first."""
        ready, timers = cast("Any", self)._ready, self._timers  # asyncio's own
        while timers and timers[0][2].cancelled():
            heapq.heappop(timers)
        if not ready:
            if not timers:
                raise RuntimeError(_STANDS_STILL)
            self._now = max(self._now, timers[0][0])
        while timers and timers[0][0] <= self._now:
            ready.append(heapq.heappop(timers)[2])
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()


class _AsyncioAlarm:
    def __init__(self, loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
        self._loop = loop
        self._act = act
        self._context = copy_context()
        self._timer: asyncio.TimerHandle | None = None

    def set(self, instant: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(instant, self._act, context=self._context)


# -- trio ----------------------------------------------------------------------------------------


class _NoChance:
    """Stands for trio's dice: what became ready first runs first."""

    def random(self) -> float:
        return 0.0


@contextmanager
def _trio_in_order() -> Iterator[object]:
    try:
        import trio  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("virtual time on trio", "testing") from error

    whole: Any = trio
    inside: Any = trio._core._run
    names = ("_r", "_ALLOW_DETERMINISTIC_SCHEDULING")
    before = {name: getattr(inside, name) for name in names}
    event = whole.Event
    # Its own determinism, which tools for tests turn on, is another order than asyncio's.
    inside._r, inside._ALLOW_DETERMINISTIC_SCHEDULING = _NoChance(), False
    whole.Event = _event_in_order()
    try:
        yield _jumping_clock()
    finally:
        for name, value in before.items():
            setattr(inside, name, value)
        whole.Event = event


def _runner() -> Any:  # trio's own
    import trio  # noqa: PLC0415 - an extra

    inside: Any = trio._core._run
    return inside.GLOBAL_RUN_CONTEXT.runner


def _jumping_clock() -> object:
    import trio  # noqa: PLC0415 - an extra

    class JumpingClock(trio.abc.Clock):
        """Goes on to the next deadline as soon as it is asked how long to sleep until then."""

        autojump_threshold = 0.0  # by which virtual clocks are known

        def __init__(self) -> None:
            self._now = 0.0

        def start_clock(self) -> None:
            """Do nothing."""

        def current_time(self) -> float:
            return self._now

        def deadline_to_sleep_time(self, deadline: float) -> float:
            if deadline == math.inf:
                raise RuntimeError(_STANDS_STILL)
            self._now = max(self._now, deadline)
            return 0.0

    return JumpingClock()


def _event_in_order() -> type:
    import trio  # noqa: PLC0415 - an extra

    class Event:
        """As trio's; the first waiter is woken first."""

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

    inside: Any = trio._core._run

    class Deadlines(inside.Deadlines):  # type: ignore[misc]
        """As trio's; of one instant, the one that was set first is first."""

        __slots__ = ("_number",)

        def add(self, deadline: float, cancel_scope: object) -> None:
            self._number = getattr(self, "_number", 0) + 1
            heapq.heappush(self._heap, (deadline, self._number, cancel_scope))
            self._active += 1

    runner = _runner()
    mine = Deadlines()
    mine._heap, mine._active = runner.deadlines._heap, runner.deadlines._active
    runner.deadlines = mine
    return await work()


class _TrioAlarm:
    """Stands among trio's deadlines as if it were a scope that is to be cancelled then."""

    def __init__(self, runner: Any, act: Callable[[], None]) -> None:  # trio's own
        self._runner = runner
        self._act = act
        self._registered_deadline = math.inf

    def set(self, instant: float) -> None:
        deadlines, before = self._runner.deadlines, self._registered_deadline
        self._registered_deadline = instant
        if before != math.inf:
            deadlines.remove(before, self)
        if instant != math.inf:
            deadlines.add(instant, self)

    def _cancel(self, _reason: object) -> None:
        self.set(math.inf)
        self._act()
