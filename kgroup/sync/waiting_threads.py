"""Has waiting threads of the application run its callbacks, and ends blocked reads.

Decides: which waiting thread runs a callback. Threads that read or close run listeners, as in
Kafka's own clients, so that listeners need no locks against the code that handles records. Any
thread that waits runs callbacks of commits; else a commit that waits behind one would wait for
ever. One `wakeup()` ends every read that waits at that moment or, when none does, the next one.
Never: drops a callback because the application does not read for long: 1. the member is expelled
after max_poll_interval; 2. no thread runs `on_lost`, and its time is up; 3. the application reads
again: `on_lost` runs first. Never loses a wakeup: 1. a read has its records; 2. it is woken; 3. it
returns them: the next read raises WakeupError.
KIPs: 62 (poll), 429 (revoked and lost).
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar

import anyio

from kgroup.errors import WakeupError
from kgroup.sync.handover import Job, Waiting


class WaitingThreads:
    """Functions that wait for a thread, and threads that wait for an answer; only for the loop."""

    def __init__(self) -> None:
        self._pending: deque[Job] = deque()
        self._over: dict[Job, anyio.Event] = {}
        self._threads: list[Waiting] = []
        self._shields: set[anyio.CancelScope] = set()
        self._closing = False

    # -- threads ---------------------------------------------------------------------------

    def enter(self, waiting: Waiting) -> None:
        """Note a thread that waits."""
        self._threads.append(waiting)
        self._offer()

    def leave(self, waiting: Waiting, jobs: Iterable[Job] = ()) -> None:
        """Note that it waits no longer; take back what it has not begun."""
        if waiting in self._threads:
            self._threads.remove(waiting)
        self._pending.extendleft(reversed([job for job in jobs if job in self._over]))
        self._offer()

    # -- functions -------------------------------------------------------------------------

    async def carry_out(self, function: Callable[[], object], *, is_change: bool) -> None:
        """Have a thread run a function, and wait until it has.

        Args:
            function: without arguments.
            is_change: whether only a thread that reads or closes may.

        Raises:
            Exception: what the function raised.
        """
        job = Job(function, copy_context(), self, is_change)
        self._over[job] = over = anyio.Event()
        self._pending.append(job)
        self._offer()
        try:
            await self._ran(over)
        finally:
            del self._over[job]
            if job in self._pending:
                self._pending.remove(job)
        if job.error is not None:
            raise job.error

    async def _ran(self, over: anyio.Event) -> None:
        try:
            await over.wait()
        except anyio.get_cancelled_exc_class():
            if not self._closing:
                await self._late(over)
            raise

    async def _late(self, over: anyio.Event) -> None:
        """Wait on although the time is up, until closing begins."""
        with anyio.CancelScope(shield=True) as scope:
            self._shields.add(scope)
            try:
                await over.wait()
            finally:
                self._shields.discard(scope)

    def close(self) -> None:
        """End functions at once when they are cut off: closing has a deadline of its own."""
        self._closing = True
        for scope in self._shields:
            scope.shield = False

    def _offer(self) -> None:
        for job in tuple(self._pending):
            for waiting in self._threads:
                able = not waiting.busy and (waiting.reads or not job.is_change)
                if able and self._hand(job, waiting):
                    break

    def _hand(self, job: Job, waiting: Waiting) -> bool:
        loop = asyncio.get_running_loop()

        def ended(ran: Job) -> None:
            with suppress(RuntimeError):  # the loop is closed, and no task waits
                loop.call_soon_threadsafe(self._ended, ran, waiting)

        job.ended = ended
        handed = waiting.give(job)
        if handed:
            waiting.busy = True
            self._pending.remove(job)
        return handed

    def _ended(self, job: Job, waiting: Waiting) -> None:
        waiting.busy = False
        over = self._over.get(job)
        if over is not None:
            over.set()
        self._offer()


# -- waking ----------------------------------------------------------------------------------------


T = TypeVar("T")


class Waking:
    """Ends blocked reads of one consumer; only for the loop."""

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
            WakeupError: `wakeup()` was called.
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
