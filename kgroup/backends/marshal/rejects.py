"""What a member says of what stands in the log of claims and changes nothing.

That is records that are no messages, or not believed, and batches that cannot be read at all.

Decides: when it is told: at the first of each reason, and once a minute while there are more.
Never: judges a record; the reducer has counted it, and nothing follows from it.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kgroup.journal import MessageRejected, Sink
from kgroup.marshal.view import DAMAGED, LogView
from kgroup.types import TopicPartition

__all__ = ["Rejects"]

log = logging.getLogger("kgroup.marshal")

_SAY_AGAIN: Final = 60.0


@dataclass(frozen=True, slots=True)
class _Said:
    """What was told last of one reason.

    Args:
        count: rejected for it until then.
        at: instant, seconds.
    """

    count: int
    at: float


class Rejects:
    """Counts them by reason, over all partitions that are read.

    Args:
        sink: takes the events.
        clock: seconds.
    """

    def __init__(self, sink: Sink, clock: Callable[[], float]) -> None:
        self._sink = sink
        self._clock = clock
        self._counts: dict[str, dict[TopicPartition, int]] = {}
        self._said: dict[str, _Said] = {}

    def look(self, tp: TopicPartition, view: LogView) -> None:
        """Tell of what there is to tell.

        Args:
            tp: coordination partition.
            view: as it was read; that of a log that is read anew counts anew.
        """
        for why, count in view.world.rejects.items():
            self._count(tp, why.value, count, view.world.rejected_at[why])
        if view.damaged:
            self._count(tp, DAMAGED, view.damaged, view.damaged_at)

    def _count(self, tp: TopicPartition, why: str, count: int, offset: int) -> None:
        counts, said = self._counts.setdefault(why, {}), self._said.get(why)
        counts[tp] = count
        total, now = sum(counts.values()), self._clock()
        if said is not None and (total == said.count or now < said.at + _SAY_AGAIN):
            return
        self._said[why] = _Said(total, now)
        self._sink.emit(MessageRejected(tp=tp, reason=why, count=total, offset=offset))
        text = "%s: what stands at offset %d changes nothing: %s (%d so far)"
        log.warning(text, tp, offset, why, total)
