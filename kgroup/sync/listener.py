"""The application's listener, called in a thread of the application.

Decides: where callbacks run: in a thread that is inside a read or `close`, so that they need no
locks against the code that handles records, and may commit, seek and ask as that code may.
Never: runs a callback on the event loop, or takes one that would have to be awaited.
KIPs: 429 (revoked and lost are two things).
"""

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast
from weakref import ReferenceType

from kgroup.consumer.listener import Listener as NativeListener
from kgroup.consumer.listener import sound
from kgroup.errors import ArgumentError
from kgroup.sync.desk import Desk
from kgroup.types import OwnershipChange

if TYPE_CHECKING:
    from kgroup.sync.api import Consumer

__all__ = ["AssignedListener", "Listener", "LostListener", "RevokedListener", "on_loop"]


class AssignedListener(Protocol):
    """Hears what was gained."""

    def on_assigned(self, consumer: "Consumer[Any, Any]", change: OwnershipChange, /) -> None:
        """Called before any record of `change.added` is handed out; each round, also empty."""
        ...


class RevokedListener(Protocol):
    """Hears what must be given up."""

    def on_revoked(self, consumer: "Consumer[Any, Any]", change: OwnershipChange, /) -> None:
        """Called while `change.removed` is still owned: commit here."""
        ...


class LostListener(Protocol):
    """Hears what is gone."""

    def on_lost(self, consumer: "Consumer[Any, Any]", change: OwnershipChange, /) -> None:
        """Called when `change.removed` may have another owner already: too late to commit."""
        ...


Listener: TypeAlias = AssignedListener | RevokedListener | LostListener
"""Any object with one or more of the three callbacks; none of them `async`."""

_NAMES: Final = ("on_assigned", "on_revoked", "on_lost")


def on_loop(
    listener: Listener | None, consumer: "ReferenceType[Consumer[Any, Any]]", desk: Desk
) -> NativeListener | None:
    """Return the listener as the event loop calls it.

    Args:
        listener: the application's.
        consumer: what callbacks are given; not kept alive.
        desk: has threads run them.

    Raises:
        ArgumentError: it has none of the callbacks, or one of them is `async`.
    """
    if listener is None:
        return None
    sound(cast("NativeListener", listener))
    found = {name: getattr(listener, name, None) for name in _NAMES}
    for name, callback in found.items():
        if inspect.iscoroutinefunction(callback):
            expected = f"a plain {name}: it runs in the thread that reads"
            raise ArgumentError("listener", listener, expected)
    calls = {
        name: _carried(callback, consumer, desk)
        for name, callback in found.items()
        if callable(callback)
    }
    return cast("NativeListener", SimpleNamespace(**calls))


def _carried(
    callback: Callable[..., object], consumer: "ReferenceType[Consumer[Any, Any]]", desk: Desk
) -> Callable[[object, OwnershipChange], Awaitable[None]]:
    async def tell(_: object, change: OwnershipChange) -> None:
        held = consumer()
        if held is not None:
            await desk.carry_out(partial(callback, held, change), is_change=True)

    return tell
