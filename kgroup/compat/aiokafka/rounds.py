"""Where a member stands between two assignments, as far as aiokafka's calls tell them apart.

Decides: whether there was an assignment since `subscribe`, what it held, and whether it is being
replaced: a commit is refused with another error then than for a partition nobody assigned.
Never: refers to the facade, or changes what the application's listener hears.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kgroup import Consumer, OwnershipChange, TopicPartition
from kgroup.compat.aiokafka.listeners import AdaptedListener

__all__ = ["Rounds"]


class Rounds:
    """The native listener of one facade; hears every change, and passes it on."""

    def __init__(self) -> None:
        self._listener: AdaptedListener | None = None
        self._held: frozenset[TopicPartition] | None = None
        self._replaced = False
        self._caller: asyncio.Task[object] | None = None
        self._waiting: set[asyncio.Future[None]] = set()

    # -- what is known ---------------------------------------------------------------------

    @property
    def assigned(self) -> bool:
        """Whether there was an assignment since the application subscribed."""
        return self._held is not None

    @property
    def inside(self) -> bool:
        """Whether the present task is in a callback of the application's listener."""
        return self._caller is not None and self._caller is asyncio.current_task()

    def is_between(self, tp: TopicPartition) -> bool:
        """Tell whether a partition was assigned, and the next assignment is on its way."""
        return self._replaced and self._held is not None and tp in self._held

    def between(self) -> bool:
        """Tell whether anything was assigned, and the next assignment is on its way."""
        return self._replaced and bool(self._held)

    def changed(self) -> asyncio.Future[None]:
        """Return what is done with the first change, or `wake`, after this call.

        The caller bounds the time, and cancels it when it waits no more.
        """
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)
        return future

    # -- what the application does ---------------------------------------------------------

    def begin(self, listener: AdaptedListener | None) -> None:
        """Note that it subscribes, or that it unsubscribes."""
        self._listener = listener
        self._held, self._replaced = None, False
        self.wake()

    def forget(self) -> None:
        """Forget what was assigned: the consumer that had it is given up."""
        self._held, self._replaced = None, False

    def wake(self) -> None:
        """Have all waiting tasks look again."""
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    # -- what the group does ---------------------------------------------------------------

    async def on_assigned(self, consumer: Consumer[Any, Any], change: OwnershipChange, /) -> None:
        """Note the new assignment, then tell the listener."""
        self._held = frozenset(claim.tp for claim in (*change.kept, *change.added))
        self._replaced = False
        self.wake()
        if self._listener is not None:
            with self._called():
                await self._listener.on_assigned(consumer, change)

    async def on_revoked(self, consumer: Consumer[Any, Any], change: OwnershipChange, /) -> None:
        """Tell the listener, which may still commit; then all is between two assignments."""
        try:
            if self._listener is not None:
                with self._called():
                    await self._listener.on_revoked(consumer, change)
        finally:
            self._replaced = True

    async def on_lost(self, consumer: Consumer[Any, Any], change: OwnershipChange, /) -> None:
        """Note that all is gone, then tell the listener."""
        self._replaced = True
        if self._listener is not None:
            with self._called():
                await self._listener.on_lost(consumer, change)

    @contextmanager
    def _called(self) -> Iterator[None]:
        self._caller = asyncio.current_task()
        try:
            yield
        finally:
            self._caller = None
