"""Where a partition that was claimed is read from.

Decides: what counts: the log of claims, then what is committed, then what the log said before the
part that is read (at most once the further of both), and only then the reset policy. A position
below the beginning of its partition is raised to it, one beyond the end is replaced by the policy's
(the topic was made anew); under the policy `none` both are an error. At most once it is lowered to
the end: 1. records up to 1000 are handed out; 2. the log loses its tail, and ends at 990; 3. the
policy says "from the start". Only a topic that this process has seen made anew is begun by policy.
Never: takes an error for "nothing committed"; names an offset outside the log as it is, so that
nobody is sent from one to the other for ever; takes the last stable offset for the end: while a
transaction is open positions lie beyond it, and a fetch there waits.
KIPs: 79 (offsets by time), 98 (last stable offset), 516 (topic ids), 1106 (reset by duration).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeAlias, assert_never

import anyio

from kgroup.backends.coordinator_search import CoordinatorSearch
from kgroup.backends.offset_reading import Asker, read_committed_offsets
from kgroup.errors import BrokerError, KGroupError
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
from kgroup.types import IsolationLevel, OffsetAndMetadata, TopicPartition
from kgroup.values import dataclass

Recall: TypeAlias = Callable[[TopicPartition, float], Awaitable[int | None]]
"""Finds the position that the log of claims had before what was read of it; within seconds."""

_Error: TypeAlias = KGroupError | TimeoutError
_Committed: TypeAlias = Mapping[TopicPartition, OffsetAndMetadata | None] | _Error

_MS: Final = 1000


@dataclass(frozen=True, slots=True)
class _Log:
    """The ends of a partition, records of open transactions included."""

    tp: TopicPartition
    begin: int
    end: int


class StartPositions:
    """Finds positions; any number at a time, and of any number of callers.

    Args:
        cluster: connections and clock; not owned.
        group_id: the group whose commits are read.
        search: knows the coordinator.
        reset: what `auto_offset_reset` was set to.
        isolation: with READ_COMMITTED the policy means the last stable offset by the end of a log.
        recall: asked when the log of claims, as far as it was read, says nothing, and what is
            committed does not count by itself; None for nobody.
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
        self._topic_ids: dict[TopicPartition, bytes] = {}

    async def find(
        self, asked: Sequence[FindPosition], *, timeout: float
    ) -> tuple[PositionFound | PositionFailed, ...]:
        """Find positions; what has to be asked is asked for all of them at once.

        Args:
            asked: which.
            timeout: seconds for each of the questions.

        Returns:
            The answers, in the order of `asked`.
        """
        tps = [each.tp for each in asked if each.furthest or each.known is None]
        committed, bounds = await self._look_up(tps, [each.tp for each in asked], timeout)
        if isinstance(committed, BrokerError) and len(asked) > 1:
            # One topic that is closed must not stand in the way of the others.
            alone = [await self.find([each], timeout=timeout) for each in asked]
            return tuple(answer for (answer,) in alone)
        recalled = await self._recall_all(asked, committed, timeout)
        wanted = [_wanted(each, recalled.get(each.tp, each.known), committed) for each in asked]
        outside = [
            each.tp
            for each, at in zip(asked, wanted, strict=True)
            if _is_outside(at, bounds[each.tp])
        ]
        # 1. It is asked where a log ends; 2. its former owner reads on, and commits; 3. the commit
        # is read. It lies beyond an end that has passed, and nothing was lost.
        bounds = {**bounds, **await self._bounds(outside, timeout)}
        answers = [
            await self._answer(each, at, bounds[each.tp], timeout)
            for each, at in zip(asked, wanted, strict=True)
        ]
        return tuple(answers)

    async def _look_up(
        self, committed_of: Sequence[TopicPartition], tps: Sequence[TopicPartition], timeout: float
    ) -> tuple[_Committed, Mapping[TopicPartition, Bounds]]:
        """Ask for commits, and for the ends of logs, at the same time."""
        found: Mapping[TopicPartition, Bounds] = {}

        async def ask() -> None:
            nonlocal found
            found = await self._bounds(tps, timeout)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            committed = await self._committed(committed_of, timeout)
        return committed, found

    async def _answer(
        self, asked: FindPosition, wanted: int | _Error | None, bounds: Bounds, timeout: float
    ) -> PositionFound | PositionFailed:
        made_anew = self._is_made_anew(asked.tp)
        try:
            if isinstance(wanted, Exception):
                raise wanted
            log = _known(asked.tp, bounds)
            if asked.furthest and wanted is not None and not made_anew:
                wanted = self._lowered(wanted, log)
            return PositionFound(asked.ticket, await self._inside(wanted, log, timeout))
        except (KGroupError, TimeoutError) as error:
            return PositionFailed(asked.ticket, error)

    def _is_made_anew(self, tp: TopicPartition) -> bool:
        """Tell whether its topic is another one than when it was last asked for."""
        now = self._cluster.view.topic_id(tp.topic)
        before = self._topic_ids.get(tp)
        if now is not None:
            self._topic_ids[tp] = now
        return None not in (now, before) and now != before

    def _lowered(self, wanted: int, log: _Log) -> int:
        """Return a position that is no further than the end of the log, at most once."""
        if wanted > log.end:
            after_out_of_range(self._reset, log.tp, wanted)
        return min(wanted, log.end)

    async def _inside(self, wanted: int | None, log: _Log, timeout: float) -> int:
        if wanted is None:
            return await self._place(after_no_commit(self._reset, log.tp), log, timeout)
        if log.begin <= wanted <= log.end:
            return wanted
        place = after_out_of_range(self._reset, log.tp, wanted)
        if wanted < log.begin:
            # Retention took what nobody has read. What is left of it is no reason to go further.
            return log.begin
        return await self._place(place, log, timeout)

    async def _recall_all(
        self, asked: Sequence[FindPosition], committed: _Committed, timeout: float
    ) -> Mapping[TopicPartition, int | _Error | None]:
        """Return what the log of claims said before the window, of keys for which it counts."""
        recall, found = self._recall, dict[TopicPartition, int | _Error | None]()
        if recall is None or isinstance(committed, Exception):
            return found

        async def ask(tp: TopicPartition) -> None:
            try:
                found[tp] = await recall(tp, timeout)
            except (KGroupError, TimeoutError) as error:
                found[tp] = error

        async with anyio.create_task_group() as tasks:
            for each in asked:
                if each.known is None and (each.furthest or committed[each.tp] is None):
                    tasks.start_soon(ask, each.tp)
        return found

    async def _bounds(
        self, tps: Sequence[TopicPartition], timeout: float
    ) -> Mapping[TopicPartition, Bounds]:
        if not tps:
            return {}
        try:
            return await log_bounds(self._cluster, tps, timeout=timeout)
        except (KGroupError, TimeoutError) as error:
            return dict.fromkeys(tps, Bounds(error=error))

    async def _stable(self, log: _Log, timeout: float) -> _Log:
        """Return the ends of a partition as the isolation level has them."""
        if self._isolation is IsolationLevel.READ_UNCOMMITTED:
            return log
        found = await log_bounds(
            self._cluster, [log.tp], isolation=self._isolation, timeout=timeout
        )
        return _known(log.tp, found[log.tp])

    async def _committed(self, tps: Sequence[TopicPartition], timeout: float) -> _Committed:
        try:
            return await read_committed_offsets(
                self._cluster,
                Asker(self._group_id),
                tps,
                self._search.asker(),
                whole=True,
                timeout=timeout,
            )
        except (KGroupError, TimeoutError) as error:
            return error

    async def _place(self, place: LogPlace, log: _Log, timeout: float) -> int:
        match place:
            case LogEnd.START:
                return log.begin
            case LogEnd.END:
                return (await self._stable(log, timeout)).end
            case Since(age=age):
                log = await self._stable(log, timeout)
                since = max(round((self._cluster.ports.wall() - age) * _MS), 0)
                listed = await list_offsets(
                    self._cluster, {log.tp: since}, isolation=self._isolation, timeout=timeout
                )
                found = listed.all()[log.tp]
                # The end was asked for first: what is written meanwhile lies behind it.
                return log.end if found is None else max(found.offset, log.begin)
            case _:
                assert_never(place)


def _wanted(
    asked: FindPosition, known: int | _Error | None, committed: _Committed
) -> int | _Error | None:
    """Return the position that is known, None when nobody ever had one; or why none is."""
    if isinstance(known, Exception) or (known is not None and not asked.furthest):
        return known
    if isinstance(committed, Exception):
        return committed
    found = committed[asked.tp]
    offsets = [known, None if found is None else found.offset]
    return max((each for each in offsets if each is not None), default=None)


def _is_outside(wanted: int | _Error | None, bounds: Bounds) -> bool:
    """Tell whether a position lies beyond the ends of its log as they were known."""
    if not isinstance(wanted, int) or bounds.begin is None or bounds.end is None:
        return False
    return not bounds.begin <= wanted <= bounds.end


def _known(tp: TopicPartition, bounds: Bounds) -> _Log:
    if bounds.error is not None:
        raise bounds.error
    if bounds.begin is None or bounds.end is None:
        raise TimeoutError(f"{tp}: its leader did not say where its log begins and ends")
    # An end before the beginning is of a leader that lost its log just then.
    return _Log(tp, bounds.begin, max(bounds.end, bounds.begin))
