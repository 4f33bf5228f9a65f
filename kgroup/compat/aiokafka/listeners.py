"""Listeners of aiokafka, called for changes in ours.

Decides: which of our changes aiokafka's callbacks hear, in which order and shape: sets of its
TopicPartition; `on_partitions_revoked` before each `on_partitions_assigned`, with the empty set
before the first; the whole new assignment, not what was added to it; nothing when the consumer
stops or unsubscribes. A listener with an `on_partitions_lost` hears losses there; one without,
as aiokafka has it, as revoked.
Never: raises what a callback raised: like aiokafka it is logged, and the rebalance goes on.
"""

import inspect
import logging
from collections.abc import Callable, Iterable
from typing import Any, Final

from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.structs import TopicPartition

from kgroup import Cause, Claim, OwnershipChange

__all__ = ["AdaptedListener", "adapted"]

log = logging.getLogger(__name__)

_UNHEARD: Final = frozenset({Cause.CLOSING, Cause.UNSUBSCRIBED})


def adapted(listener: object) -> "AdaptedListener | None":
    """Return a listener for `kgroup.Consumer`, None for none.

    Args:
        listener: an `aiokafka.abc.ConsumerRebalanceListener`, or None.

    Raises:
        TypeError: it is something else.
    """
    if listener is None:
        return None
    if not isinstance(listener, ConsumerRebalanceListener):
        raise TypeError(
            "listener should be an instance of ConsumerRebalanceListener (of aiokafka.abc), "
            f"not {type(listener).__name__}"
        )
    return AdaptedListener(listener)


class AdaptedListener:
    """One listener of aiokafka, as `kgroup.Consumer` calls it.

    Args:
        listener: its callbacks are plain or awaitable.
    """

    def __init__(self, listener: ConsumerRebalanceListener) -> None:
        self._listener = listener
        self._lost: Callable[[set[TopicPartition]], object] | None = getattr(
            listener, "on_partitions_lost", None
        )
        self._revoked = False

    @property
    def listener(self) -> ConsumerRebalanceListener:
        """The listener whose callbacks are called."""
        return self._listener

    async def on_revoked(self, consumer: object, change: OwnershipChange, /) -> None:
        """Tell what the group asks back."""
        del consumer
        if change.cause not in _UNHEARD:
            await self._revoke(change.removed)

    async def on_lost(self, consumer: object, change: OwnershipChange, /) -> None:
        """Tell what is gone."""
        del consumer
        if change.cause in _UNHEARD:
            return
        if self._lost is None:
            await self._revoke(change.removed)
            return
        self._revoked = True
        await self._tell(self._lost, change.removed)

    async def on_assigned(self, consumer: object, change: OwnershipChange, /) -> None:
        """Tell the whole assignment of a round."""
        del consumer
        if not self._revoked:
            await self._revoke(())
        self._revoked = False
        await self._tell(self._listener.on_partitions_assigned, (*change.kept, *change.added))

    async def _revoke(self, claims: Iterable[Claim]) -> None:
        self._revoked = True
        await self._tell(self._listener.on_partitions_revoked, claims)

    async def _tell(
        self, callback: Callable[[set[TopicPartition]], Any], claims: Iterable[Claim]
    ) -> None:
        try:
            waiting = callback({TopicPartition(*claim.tp) for claim in claims})
            if inspect.isawaitable(waiting):
                await waiting
        except Exception:
            log.exception("%s of the listener failed", getattr(callback, "__name__", callback))
