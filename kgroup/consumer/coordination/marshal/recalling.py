"""Positions of keys in the part of a coordination log that was not read.

Decides: nothing: it folds what stands before the window, and says where each key's last owner was.
Never: makes an owner of what it finds; who owns a key is for the window alone. Reads the same part
of a log twice.

At most once, a claim of a key of which the window says nothing must not trust what is committed by
itself: 1. an owner that was superseded commits late, and moves the position back; 2. its successor
stopped more than an hour ago; 3. whoever claims now would read from the older position again. What
the successor wrote is still in the log, further in front.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

import anyio
from anyio.lowlevel import checkpoint

from kgroup.consumer.coordination.marshal.followed_log import FollowedLog
from kgroup.consumer.coordination.marshal.log_questions import LogQuestions
from kgroup.errors import DecodeError
from kgroup.marshal.rules import Compat, WorldRules
from kgroup.marshal.view import LogView
from kgroup.net.cluster import Cluster
from kgroup.net.log_places import log_bounds
from kgroup.types import TopicPartition
from kgroup.wire.records import iter_batches

__all__ = ["Recalling"]

_MAX_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Recalled:
    """What stood in front of one view of a log."""

    view: LogView
    offsets: Mapping[TopicPartition, int]


class Recalling:
    """Reads what stands in front of windows, once for each.

    Args:
        cluster: running; not owned.
        questions: fetches; not owned.
        compat: what records without headers can do.
    """

    def __init__(self, cluster: Cluster, questions: LogQuestions, compat: Compat) -> None:
        self._cluster = cluster
        self._questions = questions
        self._compat = compat
        self._known: dict[int, _Recalled] = {}
        self._turn = anyio.Lock()

    async def position(self, log: FollowedLog, tp: TopicPartition, timeout: float) -> int | None:
        """Return the last position of a key in front of what was read, None without one.

        Args:
            log: of the key; read to its end.
            tp: the key.
            timeout: seconds.

        Raises:
            BrokerError, TransportError, ProtocolError: it could not be read.
            TimeoutError: not in time.
        """
        view = log.view
        if view is None:
            raise TimeoutError(f"{log.tp}: it is being read anew")
        with anyio.fail_after(timeout):
            async with self._turn:
                known = self._known.get(log.tp.partition)
                if known is None or known.view is not view:
                    known = _Recalled(view, await self._read(log, timeout))
                    self._known[log.tp.partition] = known
        return known.offsets.get(tp)

    async def _read(self, log: FollowedLog, timeout: float) -> Mapping[TopicPartition, int]:
        upto = log.start
        bounds = (await log_bounds(self._cluster, [log.tp], timeout=timeout))[log.tp]
        if bounds.error is not None:
            raise bounds.error
        rules = WorldRules(log.append_time, complete=True, compat=self._compat)
        view = LogView(log.tp.partition, log.group_id, rules)
        at = bounds.begin or 0
        while at < upto:
            data = await self._questions.peek(log.tp, at, _MAX_BYTES)
            found = await _fold(view, data, at, upto)
            if found is None:
                break
            at = found
        keys = view.opened(frozenset(), upto).keys
        return {tp: each.offset for tp, each in keys.items() if each.offset is not None}


async def _fold(view: LogView, data: memoryview | bytes, at: int, upto: int) -> int | None:
    """Fold what was fetched from an offset on; return where to go on, None where nothing is."""
    if not len(data):
        return None
    begun = at
    try:
        for batch in iter_batches(data):
            if not batch.is_control and batch.next_offset > at:
                columns = batch.columns()
                first, last = columns.index_of(at), columns.index_of(upto)
                view.catch_up(columns, islice(columns.raw_rows(first), max(last - first, 0)))
            at = max(at, batch.next_offset)
            await checkpoint()
    except DecodeError:
        pass  # what cannot be read is passed over: the offset behind it is tried
    return at if at > begun else begun + 1
