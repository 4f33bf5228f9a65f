"""Where reading goes on, and whether: position, seek, pause.

Decides: that each acts on the claim held at the call, at once.
Never: waits longer than it is told; touches a partition that is not owned.
"""

from collections.abc import Collection
from typing import Final

import anyio

from kgroup.consumer.delivery import Delivery
from kgroup.consumer.positioning import Positioning
from kgroup.consumer.pulses import Pulses
from kgroup.errors import ArgumentError
from kgroup.journal import Paused, Resumed, Sink
from kgroup.types import TopicPartition

__all__ = ["Flow"]

_LOOK_AGAIN: Final = 0.5


class Flow:
    """Positions and pauses of one consumer.

    Args:
        delivery: what is owned and handed out.
        positioning: sets positions.
        pulses: waited for and fired.
        sink: takes the journal's events.
    """

    def __init__(
        self, delivery: Delivery, positioning: Positioning, pulses: Pulses, sink: Sink
    ) -> None:
        self._delivery = delivery
        self._positioning = positioning
        self._pulses = pulses
        self._sink = sink

    async def position(self, tp: TopicPartition, timeout: float) -> int:
        """Return the next offset that is handed out, waiting until there is one.

        Raises:
            NotOwnedError: the partition is not owned, or no longer.
            KGroupError: why there is no position.
            TimeoutError: none was found in time.
        """
        delivery = self._delivery
        with anyio.move_on_after(timeout):
            while True:
                (owned,) = delivery.owned.require([tp])
                handed = delivery.ledger.handed(owned.claim)
                if handed is not None:
                    return handed
                if owned.error is not None:
                    raise owned.error
                delivery.gate.check_failure()
                with anyio.move_on_after(_LOOK_AGAIN):
                    await self._pulses.news.wait()
        raise TimeoutError(f"{tp}: no position was found within {timeout:g} s")

    def seek(self, tp: TopicPartition, offset: int) -> None:
        """Hand out `offset` next; what is buffered is dropped."""
        (owned,) = self._delivery.owned.require([tp])
        self._positioning.seek(owned, _sound(offset))

    def pause(self, tps: Collection[TopicPartition]) -> None:
        """Hand out nothing of some partitions, and fetch nothing more for them."""
        changed = [each for each in self._delivery.owned.require(tps) if not each.paused]
        for owned in changed:
            owned.paused = True
        if changed:
            self._sink.emit(Paused(tuple(owned.claim for owned in changed)))

    def resume(self, tps: Collection[TopicPartition]) -> None:
        """Hand out records of some partitions again."""
        changed = [each for each in self._delivery.owned.require(tps) if each.paused]
        for owned in changed:
            owned.paused = False
        if changed:
            self._sink.emit(Resumed(tuple(owned.claim for owned in changed)))
            self._pulses.work.fire()
            self._pulses.news.fire()


def _sound(offset: object) -> int:
    if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
        raise ArgumentError("offset", offset, "a whole number of at least 0")
    return offset
