"""The application's listener: told what changes hands, before it does.

Decides: how a callback is called: one at a time, plain or awaitable, under no lock, for at most
the rebalance timeout.
Never: lets a callback stop a change of ownership: one that raises, is cancelled or takes too long
is reported once, by the next read, and ownership changes all the same.
KIPs: 429 (revoked and lost are two things).
"""

import inspect
import logging
import math
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias
from weakref import ReferenceType

import anyio

from kgroup.errors import ArgumentError
from kgroup.journal import CallbackStage, CallbackStep, Sink
from kgroup.types import ChangeKind, OwnershipChange

if TYPE_CHECKING:
    from kgroup.consumer.api import Consumer

__all__ = [
    "AssignedListener",
    "Listener",
    "ListenerCalls",
    "LostListener",
    "RevokedListener",
    "sound",
]

log = logging.getLogger(__name__)

_INSIDE: Final[ContextVar[object]] = ContextVar("kgroup_inside_listener", default=None)
"""The `ListenerCalls` whose callback the present task, or the task it came from, is in."""


class AssignedListener(Protocol):
    """Hears what was gained."""

    def on_assigned(
        self, consumer: "Consumer[Any, Any]", change: OwnershipChange, /
    ) -> Awaitable[None] | None:
        """Called before any record of `change.added` is handed out; each round, also empty."""
        ...


class RevokedListener(Protocol):
    """Hears what must be given up."""

    def on_revoked(
        self, consumer: "Consumer[Any, Any]", change: OwnershipChange, /
    ) -> Awaitable[None] | None:
        """Called while `change.removed` is still owned: commit here."""
        ...


class LostListener(Protocol):
    """Hears what is gone."""

    def on_lost(
        self, consumer: "Consumer[Any, Any]", change: OwnershipChange, /
    ) -> Awaitable[None] | None:
        """Called when `change.removed` may have another owner already: too late to commit."""
        ...


Listener: TypeAlias = AssignedListener | RevokedListener | LostListener
"""Any object with one or more of the three callbacks."""

_METHOD: Final = {
    ChangeKind.ASSIGNED: "on_assigned",
    ChangeKind.REVOKED: "on_revoked",
    ChangeKind.LOST: "on_lost",
}


def sound(listener: Listener | None) -> Listener | None:
    """Return a listener that can be called back.

    Raises:
        ArgumentError: it has none of the callbacks, so it would never hear of anything; or it is
            a class.
    """
    callbacks = [getattr(listener, name, None) for name in _METHOD.values()]
    if listener is None or (any(map(callable, callbacks)) and not isinstance(listener, type)):
        return listener
    expected = f"an object with {', '.join(_METHOD.values())}, or some of them"
    raise ArgumentError("listener", listener, expected)


class ListenerCalls:
    """Calls one listener on behalf of one consumer.

    Args:
        consumer: passed to callbacks; not kept alive.
        sink: takes the journal's events.
        limit: longest time a callback may take, seconds.
    """

    def __init__(
        self, consumer: "ReferenceType[Consumer[Any, Any]]", sink: Sink, limit: float
    ) -> None:
        self._consumer = consumer
        self._sink = sink
        self._limit = limit
        self.listener: Listener | None = None
        """Who is called; may be replaced at any time."""

    @property
    def inside(self) -> bool:
        """Whether the present task is inside a callback, or came out of one."""
        return _INSIDE.get() is self

    async def call(self, change: OwnershipChange) -> Exception | None:
        """Tell the listener; return what it raised instead of raising it."""
        callback = getattr(self.listener, _METHOD[change.kind], None)
        consumer = self._consumer()
        if callback is None or consumer is None:
            return None
        token = _INSIDE.set(self)
        self._emit(change, CallbackStage.ENTER)
        try:
            error = await self._bounded(callback, consumer, change)
        finally:
            _INSIDE.reset(token)
        if error is None:
            self._emit(change, CallbackStage.EXIT)
            return None
        log.error("%s of the listener failed: %r", _METHOD[change.kind], error)
        self._emit(change, CallbackStage.RAISE, repr(error))
        return error

    async def _bounded(
        self,
        callback: Callable[..., Awaitable[None] | None],
        consumer: "Consumer[Any, Any]",
        change: OwnershipChange,
    ) -> Exception | None:
        try:
            with anyio.move_on_after(self._limit):
                returned = callback(consumer, change)
                if inspect.isawaitable(returned):
                    await returned
                return None
        except Exception as error:  # noqa: BLE001 - whatever it is, ownership goes on changing
            return error
        except anyio.get_cancelled_exc_class():
            # 1. The callback awaits a task of its own. 2. That task is cancelled. Nobody asked
            # this task to stop: it counts as an exception of the callback. (A cancelled scope
            # around this one has a deadline in the past.)
            if anyio.current_effective_deadline() == -math.inf:
                raise
            return RuntimeError(f"{_METHOD[change.kind]} was cancelled from inside")
        name = _METHOD[change.kind]
        return TimeoutError(f"{name} of the listener did not return within {self._limit:g} s")

    def _emit(self, change: OwnershipChange, stage: CallbackStage, error: str = "") -> None:
        step = CallbackStep(kind=change.kind, stage=stage, serial=change.serial, error=error)
        self._sink.emit(step)
