"""The application's listener, and how it is called.

Decides: how a callback is called: one at a time, plain or awaitable, under no lock, for at most
the rebalance timeout.
Never: lets a callback stop a change of ownership: one that raises, is cancelled or takes too long
is reported once, by the next read, and ownership changes all the same. Only one that cannot be cut
off, because it shields itself or waits for a thread, holds its change up: that is warned of.
KIPs: 429 (revoked and lost are two things).
"""

import logging
from collections.abc import Callable
from dataclasses import field
from typing import Final

import anyio

from kgroup.consumer.user_code import UserCode
from kgroup.journal import CallbackStage, CallbackStep, Sink
from kgroup.net.ports import Notifier
from kgroup.types import ChangeKind, OwnershipChange
from kgroup.values import dataclass

log = logging.getLogger(__name__)


CALLBACKS: Final = {
    ChangeKind.ASSIGNED: "on_assigned",
    ChangeKind.REVOKED: "on_revoked",
    ChangeKind.LOST: "on_lost",
}
"""Kind of change -> the listener's callback for it."""


_GRACE: Final = 1.0
"""Seconds that a callback which is cut off may take to end, before a warning."""

_NAMED: Final = 5
"""Partitions that a warning names."""


@dataclass(frozen=True, slots=True, eq=False)
class _Running:
    """A callback that runs, and what is set when it has ended."""

    change: OwnershipChange
    name: str
    ended: anyio.Event = field(default_factory=anyio.Event)


class ListenerCalls:
    """Calls one listener on behalf of one consumer.

    Args:
        consumer: a weak reference to the consumer that callbacks are given.
        sink: takes the journal's events.
        code: calls it, for at most the rebalance timeout.
    """

    def __init__(self, consumer: Callable[[], object | None], sink: Sink, code: UserCode) -> None:
        self._consumer = consumer
        self._sink = sink
        self._code = code
        self._running: _Running | None = None
        self._begun = Notifier()
        self.listener: object | None = None
        """The listener; may be replaced at any time."""

    @property
    def inside(self) -> bool:
        """Whether the present task, or the task it came from, is in a call of the application."""
        return self._code.inside

    @property
    def running(self) -> tuple[str, int] | None:
        """Name of the callback that runs, and number of its change; None while none runs."""
        running = self._running
        return None if running is None else (running.name, running.change.serial)

    async def call(self, change: OwnershipChange) -> Exception | None:
        """Call the listener; return what it raised instead of raising it."""
        callback = getattr(self.listener, CALLBACKS[change.kind], None)
        consumer = self._consumer()
        if callback is None or consumer is None:
            return None
        self._emit(change, CallbackStage.ENTER)
        name = f"{CALLBACKS[change.kind]} of the listener"
        self._running = running = _Running(change, name)
        self._begun.notify()
        try:
            error = await self._code.call(name, callback, consumer, change)
        except BaseException:
            # Closing does not wait for ever: in the journal the callback has raised.
            self._emit(change, CallbackStage.RAISE, f"{name} was broken off")
            raise
        finally:
            self._running = None
            running.ended.set()
        if error is None:
            self._emit(change, CallbackStage.EXIT)
            return None
        log.error("%s failed: %r", name, error)
        self._emit(change, CallbackStage.RAISE, repr(error))
        return error

    async def returned(self) -> None:
        """Wait until no callback runs; the caller bounds the time."""
        while self._running is not None:
            await self._running.ended.wait()

    async def watch(self) -> None:
        """Warn of each callback that goes on after it was cut off, once, until cancelled."""
        while True:
            running = self._running
            if running is None:
                await self._begun.wait()
                continue
            with anyio.move_on_after(self._code.limit + _GRACE):
                await running.ended.wait()
            if not running.ended.is_set():
                self._warn_overdue(running)
                await running.ended.wait()

    def _warn_overdue(self, running: _Running) -> None:
        """Warn of a callback that cannot be ended.

        1. on_revoked(p) shields itself, and hangs; 2. it is cut off, and goes on; 3. heartbeats go
        on, and the application reads: p stays with this member, and is not read.
        """
        change = running.change
        claims = change.added if change.kind is ChangeKind.ASSIGNED else change.removed
        names = ", ".join(str(claim.tp) for claim in claims[:_NAMED])
        more = f" and {len(claims) - _NAMED} more" if len(claims) > _NAMED else ""
        log.warning(
            "%s was cut off after %g s and goes on: it shields itself, or waits for a thread. "
            "Until it returns, nothing is handed out of %s, and no other callback runs; end it, "
            "or close this consumer",
            running.name,
            self._code.limit,
            f"{names}{more}" or "its partitions",
        )
        self._emit(change, CallbackStage.OVERDUE)

    def _emit(self, change: OwnershipChange, stage: CallbackStage, error: str = "") -> None:
        step = CallbackStep(kind=change.kind, stage=stage, serial=change.serial, error=error)
        self._sink.emit(step)
