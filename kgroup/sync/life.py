"""The life of a blocking consumer: what it is made of, entering, closing, waking.

Decides: what each thread may do at once: everything but reading from any thread; see `Consumer`.
Never: has its background refer to it, so a consumer that is dropped is collected, and says so.
"""

import time
import warnings
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

from kgroup.consumer.api import Consumer as NativeConsumer
from kgroup.errors import ClosedError, IllegalStateError
from kgroup.sync.ahead import Ahead, Told, settle
from kgroup.sync.desk import Desk
from kgroup.sync.host import Host
from kgroup.types import Leave

__all__ = ["Life"]

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

_FOR_THE_THREAD: Final = 1.0
"""Seconds of a close timeout that are kept for sockets and the thread, at most half of it."""


class Life(Generic[K, V]):
    """What every group of calls of a blocking consumer stands on.

    Args:
        native: the consumer it drives; not entered.
        desk: where callbacks wait for a thread.
        name: of the thread.
    """

    def __init__(self, native: NativeConsumer[K, V], desk: Desk, name: str) -> None:
        self._native = native
        self._desk = desk
        self._host = Host(native, desk, name)
        self._stock: Ahead[K, V] = Ahead()

    def __repr__(self) -> str:
        return repr(self._native)

    def __enter__(self) -> Self:
        """Start the thread, and wait for a broker, at most `bootstrap_timeout`.

        Raises:
            NoBrokerError: none answered; it lists every address and why.
            IllegalStateError: it was entered before.
        """
        if self._host.started:
            raise IllegalStateError("a consumer is entered once; make a new one")
        self._host.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    def __del__(self) -> None:
        host = getattr(self, "_host", None)
        if host is not None and host.runs:
            warnings.warn(f"Unclosed consumer {self!r}", ResourceWarning, source=self, stacklevel=2)
            host.stop_soon()

    def close(
        self, *, timeout: float = 5.0, leave: Leave = Leave.DEFAULT, commit: bool = True
    ) -> None:
        """Stop handing out, let others finish their batches, commit what is done, leave.

        The listener hears what is given up, in this thread. A second call waits for the first.
        Inside a listener it only asks for all that; the `with` around it, or another `close`,
        waits. In a forked child it does nothing: the consumer is the parent's.

        Args:
            timeout: seconds after which it returns, the thread ended, whatever brokers do.
            leave: whether the group is told; by default a static member is silent (KIP-345).
            commit: whether what is done is committed, where `enable_auto_commit` is on. Without it
                the group goes on where the last commit was; a commit on its way may still arrive.
        """
        if not self._host.started or self._host.forked:
            return
        if self._host.inside:
            self._native.close_soon(timeout=timeout, leave=leave, commit=commit)
            return
        deadline = time.monotonic() + timeout
        told = self._ahead.withdraw()
        patience = timeout - min(_FOR_THE_THREAD, timeout / 2)

        async def end() -> None:
            settle(told)
            self._desk.close()
            await self._native.close(timeout=patience, leave=leave, commit=commit)

        try:
            self._host.call(end, reads=True)
        except ClosedError:
            pass  # by another thread
        finally:
            self._host.stop(deadline)

    def close_soon(
        self, *, timeout: float = 5.0, leave: Leave = Leave.DEFAULT, commit: bool = True
    ) -> None:
        """Have the consumer closed, without waiting: from any thread, or from a signal handler.

        Reads end as they do after `close`, so a loop over records or batches is left, and the
        `with` around it waits for the rest. Does nothing before the consumer is entered.

        Args:
            timeout: seconds after which it is over, counted from when the loop hears of it.
            leave: whether the group is told.
            commit: whether what is done is committed, as for `close`.
        """
        if not self._host.forked:
            self._native.close_soon(timeout=timeout, leave=leave, commit=commit)

    def wakeup(self) -> None:
        """End the reads that are blocked now with `WakeupError`, or the next one when none is.

        From any thread, or from a signal handler. Nothing is lost, and the consumer goes on as
        before; other calls than reads have deadlines of their own.
        """
        self._host.wake()

    # -- carrying calls --------------------------------------------------------------------

    @property
    def _ahead(self) -> Ahead[K, V]:
        """The stock of the loops; not for a forked child.

        1. A thread of the parent takes the lock of the stock; 2. another one forks; 3. in the copy
        nobody ever lets the lock go.
        """
        self._host.check_process()
        return self._stock

    def _do(self, work: Callable[[], Awaitable[T]], told: list[Told] | None = None) -> T:
        """Have something done on the event loop, and wait for it."""

        async def do() -> T:
            settle(told or ())
            return await work()

        return self._host.call(do)

    def _view(self, look: Callable[[], T], told: list[Told] | None = None) -> T:
        """Call something plain: on the event loop while there is one, here otherwise."""
        self._host.check_process()
        if not self._host.runs:
            return look()

        async def do() -> T:
            return look()

        try:
            return self._do(do, told)
        except ClosedError:
            still_runs: bool = self._host.runs
            if still_runs:
                raise
            return look()
