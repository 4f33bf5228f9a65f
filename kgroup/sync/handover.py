"""One blocking call, as the thread that makes it and the event loop see it.

Decides: how an answer, and the application's own functions, come from the loop to a thread that
waits; and what becomes of an answer whose thread has gone.
Never: loses an answer between the two: 1. the loop answers; 2. Ctrl-C ends the wait of the thread.
The side that takes the lock first decides which of them gives the answer back.
"""

import threading
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from queue import Empty, SimpleQueue
from typing import Final

import anyio

from kgroup.errors import ClosedError
from kgroup.values import dataclass

_LOOK_AGAIN: Final = 1.0
"""Seconds after which a waiting thread checks that the event loop still runs."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a call.

    Args:
        value: what it returned.
        error: what it raised instead, None when it returned.
    """

    value: object = None
    error: BaseException | None = None


@dataclass(slots=True, eq=False)
class Job:
    """A function of the application that a waiting thread runs.

    Args:
        function: without arguments.
        context: of the task that asked: calls that the function makes are carried out in it, the
            function itself in that of its thread.
        owner: the `WaitingThreads` of the consumer it belongs to.
        is_change: whether it is about a change of ownership: those are for threads that read.
        ended: called in the thread that has run it; must not wait.
        begun: whether a thread has begun to run it.
        error: what it raised.
    """

    function: Callable[[], object]
    context: Context
    owner: object
    is_change: bool
    ended: Callable[["Job"], None] | None = None
    begun: bool = False
    error: Exception | None = None

    def run(self) -> None:
        """Run it; what interrupts the thread (Ctrl-C) is raised, what it raises itself is kept."""
        try:
            self.begun = True
            copy_context().run(self._inside)
        except Exception as error:  # noqa: BLE001 - any error is reported to the loop
            self.error = error
        except BaseException as interruption:
            self.error = RuntimeError(f"was interrupted: {interruption!r}")
            raise
        finally:
            if self.ended is not None:
                self.ended(self)

    def _inside(self) -> None:
        INSIDE.set(self)
        self.function()


INSIDE: Final[ContextVar[Job | None]] = ContextVar("kgroup_sync_inside", default=None)
"""The function that the present thread runs for a consumer, None while it runs none."""


class Waiting:
    """A thread that waits for an answer, and runs what it is handed meanwhile.

    Nothing is taken out of it before it is used: Ctrl-C may come between any two steps of the
    thread, and what was taken and not stored yet would be lost.

    Args:
        reads: whether it reads or closes, so that it may run the listener.
    """

    __slots__ = ("_answer", "_bell", "_gone", "_jobs", "_lock", "busy", "reads", "scope", "thread")

    def __init__(self, *, reads: bool) -> None:
        self.reads: bool = reads
        self.thread: threading.Thread = threading.current_thread()
        """In whose name the loop reads."""
        self.busy: bool = False
        """Whether it has a job; only for the loop."""
        self.scope: anyio.CancelScope | None = None
        """What is cancelled when the thread goes, None before the work has begun."""
        self._answer: Answer | None = None
        self._jobs: list[Job] = []
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._lock = threading.Lock()
        self._gone = False

    # -- the loop --------------------------------------------------------------------------

    def give(self, item: Answer | Job) -> bool:
        """Give the thread its answer, or a job; return whether it still waits.

        Only the first answer counts.
        """
        with self._lock:
            if self._gone:
                return False
            if isinstance(item, Job):
                self._jobs.append(item)
            elif self._answer is None:
                self._answer = item
        self._bell.put(None)
        return True

    @property
    def gone(self) -> bool:
        """Whether the thread waits no longer."""
        return self._gone

    # -- the thread ------------------------------------------------------------------------

    def wait(self, runs: Callable[[], bool]) -> Answer:
        """Wait for the answer.

        Args:
            runs: whether the loop still runs.
        """
        while True:
            for job in self._jobs:  # it grows while they run
                if not job.begun:
                    job.run()
            if self._answer is not None:
                return self._answer
            try:
                self._bell.get(timeout=_LOOK_AGAIN)
            except Empty:
                if not runs() and self._bell.empty():
                    return Answer(error=ClosedError("the consumer's thread has ended"))

    def leave(self) -> tuple[Answer | None, list[Job]]:
        """End the wait; return an answer that came all the same, and jobs that were not begun."""
        with self._lock:
            self._gone = True
        return self._answer, [job for job in self._jobs if not job.begun]
