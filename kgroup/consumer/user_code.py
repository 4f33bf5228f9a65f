"""Calls of the application's own functions (listeners, callbacks of commits), and `close_soon`.

Decides: that each function is called plain or awaitable, under no lock, for a limited time, and
that an exception of it comes back as a value; how `close_soon` reaches the event loop from another
thread, or from a signal handler.
Never: lets such a function end the task that calls it, by raising, by cancelling it, or by never
returning. `close_soon` never waits, never raises because the loop is over, and never touches the
consumer outside its loop.
"""

import inspect
import math
from collections.abc import Awaitable, Callable
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Final, TypeAlias

import anyio
import anyio.lowlevel

from kgroup.errors import IllegalStateError
from kgroup.values import dataclass


@dataclass(slots=True, eq=False)
class _Call:
    """One call.

    Args:
        owner: of the consumer that calls.
        name: of the function.
        task: that calls; tasks started by the function have other ones.
        over: whether it has returned. Such tasks may outlive the call and go on knowing it.
    """

    owner: "UserCode"
    name: str
    task: int
    over: bool = False


_CALL: Final[ContextVar[_Call | None]] = ContextVar("kgroup_call", default=None)
"""The call that the present task, or the task it came from, is in."""


class UserCode:
    """Calls functions on behalf of one consumer.

    Args:
        limit: longest time one call may take, seconds.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit

    @property
    def limit(self) -> float:
        """Longest time one call may take before it is cut off, seconds."""
        return self._limit

    @property
    def inside(self) -> bool:
        """Whether the present task, or the task it came from, is in a call that is not over."""
        call = _CALL.get()
        return call is not None and call.owner is self and not call.over

    def refuse_inside(self, what: str) -> None:
        """Refuse what would wait for the very call it is made in.

        Raises:
            IllegalStateError: the present task is in a call.
        """
        call = _CALL.get()
        if call is None or call.owner is not self or call.over:
            return
        if call.task == anyio.get_current_task().id:
            raise IllegalStateError(
                f"{what} inside {call.name}: nothing is handed out before it returns"
            )

    async def call(
        self, name: str, function: Callable[..., Awaitable[None] | None], *args: object
    ) -> Exception | None:
        """Call a function; return what it raised instead of raising it.

        Args:
            name: of the function, for errors.
            function: plain or awaitable.
            args: what it is given.
        """
        call = _Call(self, name, anyio.get_current_task().id)
        token = _CALL.set(call)
        try:
            return await self._bounded(name, function, *args)
        finally:
            call.over = True
            _CALL.reset(token)

    async def _bounded(
        self, name: str, function: Callable[..., Awaitable[None] | None], *args: object
    ) -> Exception | None:
        try:
            with anyio.move_on_after(self._limit):
                returned = function(*args)
                if inspect.isawaitable(returned):
                    await returned
                # What it did to this task comes out here, and not later somewhere else.
                await anyio.lowlevel.checkpoint()
                return None
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller goes on
            return error
        except anyio.get_cancelled_exc_class():
            # 1. The function awaits a task of its own, or cancels the one it runs in. 2. The
            # cancellation comes out here. This task was not asked to stop: it counts as an
            # exception of the function. (A cancelled scope around this one has a deadline in
            # the past.)
            if anyio.current_effective_deadline() == -math.inf:
                raise
            return RuntimeError(f"{name} was cancelled from inside")
        return TimeoutError(f"{name} did not return within {self._limit:g} s")


# -- closing ---------------------------------------------------------------------------------------


_Run: TypeAlias = Callable[[Callable[[], object]], object]
"""Has a function called on a loop soon; any thread may ask."""


class Closing:
    """Carries `close_soon` into the loop of one consumer."""

    __slots__ = ("_run", "asked")

    def __init__(self) -> None:
        self._run: _Run | None = None
        self.asked = False

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
        self.asked = True
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
