"""Where a partition that was claimed is read from.

Decides: what counts: the log of claims, then what is committed, then the reset policy. A position
below the beginning of its partition is raised to it, one beyond the end is replaced by the policy's
(the topic was made anew); under the policy `none` both are an error.
Never: takes an error for "nothing committed"; names an offset outside the log as it is, so that
nobody is sent from one to the other for ever.
KIPs: 79 (offsets by time), 1106 (reset by duration).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from kgroup.consumer.coordination.coordinator_search import CoordinatorSearch
from kgroup.consumer.coordination.offset_reading import read_committed_offsets
from kgroup.errors import KGroupError
from kgroup.marshal.events import FindPosition, PositionFailed, PositionFound
from kgroup.net.cluster import Cluster
from kgroup.net.log_offsets import list_offsets
from kgroup.net.log_places import Bounds, log_bounds
from kgroup.offsets.reset import (
    LogEnd,
    LogPlace,
    ResetRule,
    Since,
    after_no_commit,
    after_out_of_range,
)
from kgroup.types import IsolationLevel, TopicPartition

__all__ = ["Recall", "StartPositions"]

Recall: TypeAlias = Callable[[TopicPartition, float], Awaitable[int | None]]
"""Finds the position that the log of claims had before what was read of it; within seconds."""

_MS: Final = 1000


@dataclass(frozen=True, slots=True)
class _Log:
    """The ends of a partition."""

    tp: TopicPartition
    begin: int
    end: int


class StartPositions:
    """Finds positions; any number at a time.

    Args:
        cluster: connections and clock; not owned.
        group_id: whose commits.
        search: knows the coordinator.
        reset: what `auto_offset_reset` was set to.
        isolation: with READ_COMMITTED a log ends at its last stable offset.
        recall: asked when a claim counts the furthest position and the log of claims, as far as it
            was read, says nothing; None for nobody.
    """

    def __init__(
        self,
        cluster: Cluster,
        group_id: str,
        search: CoordinatorSearch,
        reset: ResetRule,
        *,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        recall: Recall | None = None,
    ) -> None:
        self._cluster = cluster
        self._group_id = group_id
        self._search = search
        self._reset = reset
        self._isolation = isolation
        self._recall = recall

    async def find(self, asked: FindPosition, *, timeout: float) -> PositionFound | PositionFailed:
        """Find one position.

        Args:
            asked: which.
            timeout: seconds for each of the questions.
        """
        try:
            offset = await self._find(asked, timeout)
        except (KGroupError, TimeoutError) as error:
            return PositionFailed(asked.ticket, error)
        return PositionFound(asked.ticket, offset)

    async def _find(self, asked: FindPosition, timeout: float) -> int:
        tp = asked.tp
        wanted = await self._wanted(asked, timeout)
        bounds = await log_bounds(self._cluster, [tp], isolation=self._isolation, timeout=timeout)
        log = _known(tp, bounds[tp])
        if wanted is None:
            return await self._place(after_no_commit(self._reset, tp), log, timeout)
        if log.begin <= wanted <= log.end:
            return wanted
        place = after_out_of_range(self._reset, tp, wanted)
        if wanted < log.begin:
            # Retention took what nobody has read. What is left of it is no reason to go further.
            return log.begin
        return await self._place(place, log, timeout)

    async def _wanted(self, asked: FindPosition, timeout: float) -> int | None:
        """Return the position that is known, None when nobody ever had one."""
        known = asked.known
        if known is None and asked.furthest and self._recall is not None:
            known = await self._recall(asked.tp, timeout)
        if known is not None and not asked.furthest:
            return known
        found = await read_committed_offsets(
            self._cluster,
            self._group_id,
            [asked.tp],
            self._search.asker(),
            whole=True,
            timeout=timeout,
        )
        committed = found[asked.tp]
        offsets = [known, None if committed is None else committed.offset]
        return max((each for each in offsets if each is not None), default=None)

    async def _place(self, place: LogPlace, log: _Log, timeout: float) -> int:
        match place:
            case LogEnd.START:
                return log.begin
            case LogEnd.END:
                return log.end
            case Since(age=age):
                since = max(round((self._cluster.ports.wall() - age) * _MS), 0)
                listed = await list_offsets(
                    self._cluster, {log.tp: since}, isolation=self._isolation, timeout=timeout
                )
                found = listed.all()[log.tp]
                # The end was asked for first: what is written meanwhile lies behind it.
                return log.end if found is None else max(found.offset, log.begin)
            case _:
                assert_never(place)


def _known(tp: TopicPartition, bounds: Bounds) -> _Log:
    if bounds.error is not None:
        raise bounds.error
    if bounds.begin is None or bounds.end is None:
        raise TimeoutError(f"{tp}: its leader did not say where its log begins and ends")
    # An end before the beginning is of a leader that lost its log just then.
    return _Log(tp, bounds.begin, max(bounds.end, bounds.begin))
