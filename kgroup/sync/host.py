"""The thread behind a blocking consumer: one event loop, one native consumer, entered in one task.

Decides: how calls of any thread are carried to the loop and back, and how the thread begins and
ends.
Never: outlives its deadline without a warning; keeps a program from ending; loses the result of a
call whose thread was interrupted (it is given back); touches the parent's sockets in a forked
child.
"""

import asyncio
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context, copy_context
from functools import partial
from typing import Any, Final, TypeVar, cast

import anyio
from anyio.abc import TaskGroup

from kgroup.consumer.api import Consumer
from kgroup.consumer.reads.leaving import READER
from kgroup.errors import ClosedError, IllegalStateError
from kgroup.sync.handover import INSIDE, Answer, Waiting
from kgroup.sync.waiting_threads import WaitingThreads, Waking

log = logging.getLogger(__name__)

T = TypeVar("T")

Work = Callable[[], Coroutine[Any, Any, None]]
"""What a task of the loop does."""

GiveBack = Callable[[Any], None]
"""Takes back, on the loop, the result of a call whose thread has gone."""

_TEARDOWN: Final = 1.0
"""Seconds in which the thread ends once the consumer is closed; nothing in there waits for a
peer."""


class Host:
    """Runs one native consumer in a thread.

    Args:
        consumer: not entered yet.
        threads: where the consumer's callbacks wait for a thread.
        name: of the thread.
    """

    def __init__(self, consumer: Consumer[Any, Any], threads: WaitingThreads, name: str) -> None:
        self._consumer: Final = consumer
        self._thread: Final = threading.Thread(target=self._run, name=name, daemon=True)
        self._begun: Final = Waiting(reads=False)
        self._waking: Final = Waking()
        self._threads: Final = threads
        self._asked: Final[deque[tuple[Work, Context | None, Waiting | None]]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news: asyncio.Event | None = None
        self._scope: anyio.CancelScope | None = None
        self._entered = self._aborted = self._over = self._runs = False
        self._process: int | None = None

    # -- life, from outside ----------------------------------------------------------------

    def start(self) -> None:
        """Start the thread and enter the consumer.

        Raises:
            NoBrokerError, KGroupError: entering failed; nothing runs.
        """
        self._process = os.getpid()
        self._thread.start()
        try:
            answer = self._begun.wait(self._thread.is_alive)
        except BaseException:
            self._aborted = True
            self._post(self._abort)
            raise
        if answer.error is not None:
            self._thread.join(_TEARDOWN)
            raise answer.error

    def stop(self, deadline: float) -> None:
        """Have the thread end, and wait for it.

        Args:
            deadline: instant of `time.monotonic` after which it is left to itself.
        """
        self._post(self._end)
        self._thread.join(max(deadline - time.monotonic(), 0.0))
        if self._thread.is_alive():
            log.warning("thread %s has not ended in time; it is left behind", self._thread.name)

    def stop_soon(self) -> None:
        """Have the thread close the consumer and end, without waiting for it."""
        self._post(self._end)

    @property
    def started(self) -> bool:
        """Whether the thread was started."""
        return self._thread.ident is not None

    @property
    def forked(self) -> bool:
        """Whether this is a child of the process that entered: a fork takes no thread along."""
        return self._process not in (None, os.getpid())

    @property
    def runs(self) -> bool:
        """Whether the thread runs and takes calls."""
        return self._runs and self._thread.is_alive()

    @property
    def inside(self) -> bool:
        """Whether the present thread runs one of this consumer's own callbacks."""
        job = INSIDE.get()
        return job is not None and job.owner is self._threads

    def wake(self) -> None:
        """End blocked reads, or the next one; from any thread or signal handler, takes no lock."""
        if self._loop is None:
            self._waking.wake()
        else:
            self._post(self._waking.wake)

    def check_process(self) -> None:
        """Refuse a child of the process that entered.

        Raises:
            IllegalStateError: this is one.
        """
        if self.forked:
            raise IllegalStateError(
                f"the consumer is of process {self._process}, and this is {os.getpid()}, forked "
                "from it: its thread and its membership have stayed there; make a consumer here, "
                "after the fork"
            )

    # -- calls -----------------------------------------------------------------------------

    def call(
        self,
        work: Callable[[], Awaitable[T]],
        *,
        reads: bool = False,
        give_back: GiveBack | None = None,
    ) -> T:
        """Have something done on the loop, and wait for it.

        Args:
            work: makes what is awaited.
            reads: whether this thread runs the listener meanwhile.
            give_back: takes the result when the wait ends by an interruption.

        Raises:
            ClosedError: the thread has ended.
            BaseException: what `work` raised, or what interrupted the wait.
        """
        waiting = Waiting(reads=reads)
        try:
            self._spawn(partial(self._serve, waiting, work, give_back), waiting)
            answer = waiting.wait(self._thread.is_alive)
            if answer.error is None:
                return cast("T", answer.value)
        except BaseException:
            self._abandon(waiting, give_back)
            raise
        try:
            raise answer.error
        finally:
            del answer  # it holds this frame

    def read(self, read: Callable[[], Awaitable[T]], give_back: GiveBack) -> T:
        """Read, which `wake` ends.

        Raises:
            WakeupError: it did.
            IllegalStateError: the present thread is inside a listener or a callback.
        """
        if self.inside:
            raise IllegalStateError(
                "records cannot be read inside a listener or a callback of a commit: "
                "nothing is handed out before it returns"
            )
        return self.call(partial(self._waking.read, read), reads=True, give_back=give_back)

    def soon(self, work: Callable[[], object]) -> None:
        """Have something done on the loop, in order with calls, without waiting for it."""

        async def do() -> None:
            work()

        self._spawn(do, None)

    def _spawn(self, work: Work, waiting: Waiting | None) -> None:
        """Have a task made.

        Not in the context of the present thread: 1. it belongs to another event loop, such as
        trio's; 2. its context says so; 3. the task would take itself for one of trio's. A call
        that is made inside a callback is of the task that called back.
        """
        if not self.started:
            raise IllegalStateError("the consumer is not entered: use `with consumer:`")
        self.check_process()
        if self._thread.ident == threading.get_ident():
            raise IllegalStateError("a blocking call on the consumer's own event loop")
        job = INSIDE.get()
        context = None if job is None or job.owner is not self._threads else job.context.copy()
        self._asked.append((work, context, waiting))
        if not self._post(self._note):
            self._refuse()

    def _post(self, function: Callable[[], object]) -> bool:
        """Have a plain function called on the loop; tell whether there is one.

        A forked child has a copy of it, whose way to wake up is the parent's.
        """
        if self._loop is None or self.forked:
            return False
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:  # it is closed
            return False
        return True

    def _abandon(self, waiting: Waiting, give_back: GiveBack | None) -> None:
        """Wait no longer for a call: it is cancelled, and its result, if any, given back."""
        answer, jobs = waiting.leave()

        def undo() -> None:
            if waiting.scope is not None:
                waiting.scope.cancel()
            self._threads.leave(waiting, jobs)

        self._post(undo)
        if answer is not None and answer.error is None and give_back is not None:
            self.soon(partial(give_back, answer.value))

    # -- on the loop -----------------------------------------------------------------------

    def _note(self) -> None:
        if self._news is not None:
            self._news.set()

    def _refuse(self) -> None:
        """Answer what was asked too late."""
        while self._asked:
            waiting = self._asked.popleft()[2]
            if waiting is not None:
                waiting.give(_closed())

    async def _serve(
        self,
        waiting: Waiting,
        work: Callable[[], Awaitable[Any]],
        give_back: GiveBack | None,
    ) -> None:
        if waiting.gone:
            return
        answer = _closed()
        READER.set(waiting.thread)
        self._threads.enter(waiting)
        try:
            with anyio.CancelScope() as waiting.scope:
                answer = await self._answer(work)
        finally:
            self._threads.leave(waiting)
            taken = waiting.give(answer)
        if not taken and answer.error is None and give_back is not None:
            give_back(answer.value)

    async def _answer(self, work: Callable[[], Awaitable[Any]]) -> Answer:
        try:
            return Answer(await work())
        except Exception as error:  # noqa: BLE001 - it is raised in the thread that asked
            return Answer(error=error)

    def _end(self) -> None:
        self._over = True
        self._note()

    def _abort(self) -> None:
        self._aborted = True
        if self._scope is not None:
            self._scope.cancel()

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except Exception as error:
            if self._entered:
                log.exception("the thread %s has failed", self._thread.name)
            self._begun.give(Answer(error=error))
        finally:
            self._begun.give(_closed())

    async def _main(self) -> None:
        self._loop, self._news = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with anyio.create_task_group() as tasks:
                with anyio.CancelScope() as self._scope:
                    await self._host(tasks, self._news)
                tasks.cancel_scope.cancel()
        finally:
            self._runs = False
            self._refuse()

    async def _host(self, tasks: TaskGroup, news: asyncio.Event) -> None:
        if self._aborted:
            return
        try:
            async with self._consumer:
                self._runs = self._entered = True
                self._begun.give(Answer())
                await self._make_tasks(tasks, news)
        except Exception as error:
            if self._entered:
                raise
            # Raised in the thread that entered, as it is, and not in a group.
            self._begun.give(Answer(error=error))

    async def _make_tasks(self, tasks: TaskGroup, news: asyncio.Event) -> None:
        while not self._over:
            await news.wait()
            news.clear()
            while self._asked:
                work, context, _ = self._asked.popleft()
                (context or copy_context()).run(tasks.start_soon, work)
                # What the last call was about must not keep a consumer that is dropped alive.
                del work, context, _


def _closed() -> Answer:
    return Answer(error=ClosedError("the consumer is closed"))
