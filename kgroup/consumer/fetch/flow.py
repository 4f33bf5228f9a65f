"""The calls position, seek and pause.

Decides: that each acts on the claim held at the call. A seek to a place that brokers must be asked
for moves nothing unless every partition has an answer:
1. a place is asked for; 2. the partition is lost, or the application seeks elsewhere; 3. the answer
comes: that partition stays where it is.
Never: waits longer than its timeout; touches a partition that is not owned.
"""

from collections.abc import Collection, Mapping
from typing import Final

import anyio
import anyio.lowlevel

from kgroup.consumer.buffer.delivery import Delivery
from kgroup.consumer.buffer.notifiers import Notifiers
from kgroup.consumer.buffer.owned import Owned
from kgroup.consumer.fetch.logs import Logs
from kgroup.consumer.fetch.positioning import Positioning
from kgroup.errors import ArgumentError
from kgroup.journal import Paused, Resumed, Sink
from kgroup.net.log_offsets import OffsetSpec
from kgroup.offsets.positions import PositionState
from kgroup.types import OffsetAndMetadata, TopicPartition

_LOOK_AGAIN: Final = 0.5


class Flow:
    """Positions and pauses of one consumer.

    Args:
        delivery: knows which claims are owned, and what is handed out.
        positioning: sets positions.
        notifiers: waited for and fired.
        logs: knows where they begin and end.
        sink: takes the journal's events.
    """

    def __init__(
        self,
        delivery: Delivery,
        positioning: Positioning,
        notifiers: Notifiers,
        logs: Logs,
        sink: Sink,
    ) -> None:
        self._delivery = delivery
        self._positioning = positioning
        self._logs = logs
        self._notifiers = notifiers
        self._sink = sink

    async def position(self, tp: TopicPartition, timeout: float) -> int:
        """Return the next offset that is handed out, waiting until there is one that is good.

        Raises:
            NotOwnedError: the partition is not owned, or no longer.
            KGroupError: why there is no position.
            TimeoutError: no position was found in time; it says why, if that is known.
        """
        delivery, why = self._delivery, None
        await anyio.lowlevel.checkpoint()
        with anyio.move_on_after(timeout):
            while True:
                delivery.sweep()
                (owned,) = delivery.owned.require([tp])
                handed = delivery.ledger.handed(owned.claim)
                if handed is not None and owned.position.state is PositionState.FETCHING:
                    return handed
                if owned.error is not None:
                    raise owned.error.with_traceback(None)
                delivery.gate.check_failure()
                why = self._why_not(owned)
                with anyio.move_on_after(_LOOK_AGAIN):
                    await self._notifiers.news.wait()
        reason = f": {why}" if why else ""
        raise TimeoutError(f"{tp}: no position was found within {timeout:g} s{reason}")

    def _why_not(self, owned: Owned) -> str:
        gate, state = self._delivery.gate, owned.position.state
        missing = gate.topics.why_not(owned.tp)
        if missing is not None:
            return missing
        why, membership = owned.trouble, gate.backend.membership
        if why is None and membership.group_id is not None and membership.coordinator is None:
            why = "the coordinator of its group is not known"
        return state.value if why is None else f"{state.value}, {why}"

    def lag(self, tp: TopicPartition) -> int | None:
        """Return how many offsets are left to hand out, None before the first fetch."""
        (owned,) = self._delivery.owned.require([tp])
        handed = self._delivery.ledger.handed(owned.claim)
        end = owned.last_stable_offset if self._logs.committed_only else owned.high_watermark
        return None if handed is None or end is None else max(end - handed, 0)

    # -- seeking ---------------------------------------------------------------------------

    def seek(self, tp: TopicPartition, to: int | OffsetAndMetadata, until: int | None) -> None:
        """Hand out an offset next, and nothing from `until` on; what is buffered is dropped."""
        offset, epoch = (to.offset, to.leader_epoch) if isinstance(to, tuple) else (to, None)
        (owned,) = self._delivery.owned.require([tp])
        end = None if until is None else sound_offset(until, "until")
        self._positioning.seek(owned, sound_offset(offset), epoch, until=end)

    async def seek_to_end(
        self, tps: Collection[TopicPartition], end: OffsetSpec, timeout: float | None
    ) -> dict[TopicPartition, int]:
        """Go on at one end of each log; return the offsets."""
        asked = await self._asked(tps)
        found = await self._logs.ends([owned.tp for owned in asked], end, timeout)
        for owned, sought in asked.items():
            if self._unmoved(owned, sought):
                place = found[owned.tp]
                self._positioning.seek(owned, place.offset, place.leader_epoch)
        return {tp: place.offset for tp, place in found.items()}

    async def seek_to_committed(
        self, tps: Collection[TopicPartition], timeout: float
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Go on at what the group has committed; where that is nothing, nothing changes."""
        asked = await self._asked(tps)
        backend = self._delivery.gate.backend
        found = await backend.committed([owned.tp for owned in asked], timeout=timeout)
        for owned, sought in asked.items():
            committed = found.get(owned.tp)
            if committed is not None and self._counts(owned) and self._unmoved(owned, sought):
                self._positioning.seek(owned, committed.offset, committed.leader_epoch)
        return found

    async def _asked(self, tps: Collection[TopicPartition]) -> dict[Owned, int]:
        await anyio.lowlevel.checkpoint()  # one that is refused lets others run, too
        owned = self._delivery.owned
        return {each: each.sought for each in owned.require(tps or owned.partitions)}

    def _counts(self, owned: Owned) -> bool:
        """Tell whether the committed offset is of the present topic, not of a deleted one."""
        return not owned.renewed or self._delivery.ledger.has_committed(owned.claim)

    def _unmoved(self, owned: Owned, sought: int) -> bool:
        held = self._delivery.owned.of(owned.claim) is owned
        return held and owned.sought == sought

    # -- pausing ---------------------------------------------------------------------------

    def paused(self) -> frozenset[TopicPartition]:
        """Return every owned partition that the application holds back."""
        return frozenset(owned.tp for owned in self._delivery.owned if owned.paused)

    def held_back(self) -> frozenset[TopicPartition]:
        """Return every owned partition that waits for a commit."""
        owned, ledger = self._delivery.owned, self._delivery.ledger
        return frozenset(each.tp for each in owned if ledger.is_at_bound(each.claim))

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
            self._notifiers.work.notify()
            self._notifiers.news.notify()


def sound_offset(offset: object, name: str = "offset") -> int:
    """Return an offset as it is.

    Raises:
        ArgumentError: it is negative or no whole number.
    """
    if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
        raise ArgumentError(name, offset, "a whole number of at least 0")
    return offset
