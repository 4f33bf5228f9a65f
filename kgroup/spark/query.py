"""One streaming query in its reader process: which batch comes next, and what is committed.

Decides: the order of steps at a trigger.
1. Spark says which batch is finished: it is in the sink.
2. Its end is committed, and its partitions are let go: those that others are to have, go.
3. A lost membership ends the query, or not.
4. What is held now is given its position (`positions`).
5. The next batch is planned.
Never: commits what Spark has not said is finished; goes by `commit(end)`, which comes too late.
"""

import logging
import math
from collections.abc import Mapping
from typing import Final

import anyio

from kgroup.errors import GroupError
from kgroup.net.metadata import EMPTY_VIEW, ClusterView
from kgroup.spark.connecting import driver_config
from kgroup.spark.driver import Driver
from kgroup.spark.offsets import CheckpointError, Span, StreamOffset
from kgroup.spark.options import SourceOptions
from kgroup.spark.places import partitions_in, resolved
from kgroup.spark.planning import shared
from kgroup.spark.positions import Known, Sighting, begin, mark, settle
from kgroup.spark.where import AtOffsets, AtTimes, Named
from kgroup.types import Claim, OffsetAndMetadata, TopicPartition
from kgroup.values import dataclass

log = logging.getLogger(__name__)

_JOINING: Final = 60.0
"""Longest wait for a first assignment, seconds; then the trigger has no batch."""
_ASKING: Final = 30.0
_LOOK_AGAIN: Final = 5.0
"""Seconds between two questions about topics."""
_GRACE: Final = 60.0
"""Seconds in which a log may end in front of a position before records count as lost."""
_IDLE: Final = 0.05
"""Seconds between two triggers that find nothing; Spark asks a hundred times a second."""


class Query:
    """What is kept of a query between two calls of Spark.

    Args:
        options: of the query.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._driver: Driver | None = None
        self._view: ClusterView = EMPTY_VIEW
        self._seen_at = -math.inf
        self._in_batch: set[Claim] = set()
        self._held: dict[TopicPartition, Claim | None] = {}
        self._positions: dict[TopicPartition, _Position] = {}
        self._target: dict[TopicPartition, int] | None = None
        self._waits_since: float | None = None
        self._beyond: dict[TopicPartition, float] = {}
        self.latest: dict[TopicPartition, int] = {}
        """Ends of the logs as they were asked last."""

    @property
    def in_group(self) -> bool:
        """Whether the query is a member of a group."""
        return self._options.group_id is not None

    def driver(self) -> Driver:
        """Return the connections, made at the first call.

        Raises:
            NoBrokerError, ConfigError: they cannot be made.
        """
        if self._driver is None:
            driver = Driver(driver_config(self._options, member=self.in_group))
            driver.start()
            self._driver = driver
        return self._driver

    def close(self) -> None:
        """Leave the group and disconnect. Idempotent."""
        driver, self._driver = self._driver, None
        if driver is not None:
            driver.close()

    # -- calls of Spark --------------------------------------------------------------------

    def initial(self, query: str) -> StreamOffset:
        """Return the offset before the first batch.

        A query in no group says there where it begins. In a group it is not known before the
        group has said what is owned, and each first position is committed.

        Args:
            query: an id for it, new for each.
        """
        if self.in_group:
            return StreamOffset(query)
        view = self._look(-math.inf)
        partitions = partitions_in(view)
        where = self._options.starting or Named.LATEST
        places = resolved(self.driver(), where, partitions, name="startingOffsets")
        return self._offset(query, 0, {tp: (at, at) for tp, at in places.items()})

    def advance(
        self, start: StreamOffset, limit: int | None, *, now: float, available: bool
    ) -> StreamOffset | None:
        """Finish the batch before, and plan the next.

        Args:
            start: the end of the batch before, which is in the sink.
            limit: most offsets of the next batch, None for no bound.
            now: seconds, monotonic.
            available: whether only what is there at the first call is read.

        Returns:
            The end of the next batch, None when there is none.

        Raises:
            GroupError: the membership was lost, and `onFenced` says `fail`.
            DataLossError: records are gone, and `failOnDataLoss` says so.
            CheckpointError: a topic is not the one of the checkpoint.
            TimeoutError, KGroupError: the cluster could not be asked.
        """
        self._finish(start)
        self._check_topics(self._look(now), start)
        held = self._holds(available=available)
        self._positions = self._place(start, held, now)
        self._held = held
        self._commit(start)
        spans = self._backlog(available=available)
        rows = sum(end - begin for begin, end in spans.values())
        if rows == 0 or self._waits(rows, now, available=available):
            self.driver().call(lambda _: anyio.sleep(_IDLE))
            return None
        self._waits_since = None
        # What it does not hold now, it may hold again: its sink has so much of it.
        elsewhere = {tp: (end, end) for tp, end in start.ends.items() if tp not in spans}
        spans = {**elsewhere, **shared(spans, limit)}
        return self._offset(start.query, start.batch + 1, spans)

    def begin_batch(self, end: StreamOffset) -> None:
        """Take a batch in hand; one that is run again after a restart is not the member's yet."""
        spans = {
            claim: span
            for tp, span in end.spans.items()
            if span[0] < span[1] and (claim := self._held.get(tp)) is not None
        }
        self._in_batch = set(spans)
        if self._driver is not None and spans:
            self._driver.call(lambda member: member.begin_batch(spans))

    # -- the batch before ------------------------------------------------------------------

    def _finish(self, start: StreamOffset) -> None:
        """Commit what is in the sink, and let it go."""
        if not self.in_group:
            return
        driver, text, ends = self.driver(), mark(start.query, start.batch), start.ends
        offsets = {
            claim: OffsetAndMetadata(ends[claim.tp], text)
            for claim in self._in_batch
            if claim.tp in ends
        }
        if offsets:
            driver.call(lambda member: member.commit_soon(offsets))
        self._in_batch = set()
        lost, cut = driver.call(lambda member: member.end_batch())
        if cut:
            names = ", ".join(map(str, sorted(cut)))
            log.warning(
                "the group did not wait for the end of a batch: %s were given up before, and what "
                "the batch read of them is not committed; raise kgroup.rebalance_timeout",
                names,
            )
        if lost is not None and not self._options.rejoins:
            names = ", ".join(str(claim.tp) for claim in lost.removed)
            raise GroupError(
                f"the query has lost {names} ({lost.cause.value}): other members may have read on; "
                "start it again, or set onFenced=rejoin to have it go on at what is committed"
            )

    # -- what is held ----------------------------------------------------------------------

    def _look(self, now: float) -> ClusterView:
        """Return what the cluster says of the topics; asked anew after some seconds."""
        if now - self._seen_at >= _LOOK_AGAIN or not self._view.topics:
            wanted = self._options.topics
            self._view = self.driver().call(lambda member: member.topics(wanted, _ASKING))
            self._seen_at = now
        return self._view

    def _holds(self, *, available: bool) -> dict[TopicPartition, Claim | None]:
        """Return what may be read now; wait for the group only while that is nothing."""
        if not self.in_group:
            return dict.fromkeys(partitions_in(self._view))
        driver, wanted = self.driver(), self._options.topics
        waits = _JOINING if available or not self._held else 0.0
        if not driver.call(lambda member: member.join(wanted, waits)) and waits:
            why = f"the group has not said within {waits:g} s what this query owns"
            if available:
                raise GroupError(why)
            log.warning(why)
        return dict(driver.call(lambda member: member.held()))

    def _check_topics(self, view: ClusterView, start: StreamOffset) -> None:
        """Refuse topics that are not those of the checkpoint.

        Raises:
            CheckpointError: one was made anew.
        """
        for topic in start.topic_ids:
            if self._options.fails_on_data_loss and _is_renewed(topic, start, view):
                raise CheckpointError(
                    f"topic {topic!r} was made anew since; a new checkpoint begins anew, and "
                    "failOnDataLoss=false goes on at the beginning of the new topic"
                )

    # -- positions -------------------------------------------------------------------------

    def _place(
        self, start: StreamOffset, held: Mapping[TopicPartition, Claim | None], now: float
    ) -> dict[TopicPartition, "_Position"]:
        """Return where to go on with each partition; the log must hold that place."""
        new = {tp for tp in held if not self._is_kept(tp, held[tp])}
        found = self.driver().call(lambda member: member.look(frozenset(held), new))
        firsts, self.latest = found.firsts, found.latest
        known = {tp: self._known(tp, start, found, kept=tp not in new) for tp in held}
        unknown = {tp for tp in held if begin(known[tp], start.query) is None}
        fallbacks = self._fallbacks(unknown, firsts, start)
        positions: dict[TopicPartition, _Position] = {}
        for tp in held:
            place = begin(known[tp], start.query)
            at = fallbacks[tp] if place is None else place
            if not self._is_awaited(tp, at, now):
                log_of = (firsts.get(tp, 0), self.latest[tp])
                at = settle(tp, at, log_of, fails=self._options.fails_on_data_loss)
            positions[tp] = _Position(at, start.batch)
        begun = {
            claim: (found.committed.get(tp), positions[tp].offset)
            for tp in new
            if (claim := held[tp]) is not None
        }
        if begun:
            self.driver().call(lambda member: member.begin(begun))
        return positions

    def _is_awaited(self, tp: TopicPartition, at: int, now: float) -> bool:
        """Tell whether a log that ends in front of a position is given time.

        1. A leader dies; 2. its successor says a lower high watermark, until its followers have
        fetched from it. Nothing is lost then.
        """
        if at <= self.latest[tp]:
            self._beyond.pop(tp, None)
            return False
        return now - self._beyond.setdefault(tp, now) < _GRACE

    def _is_kept(self, tp: TopicPartition, claim: Claim | None) -> bool:
        return tp in self._positions and self._held[tp] == claim

    def _known(
        self, tp: TopicPartition, start: StreamOffset, found: Sighting, *, kept: bool
    ) -> Known:
        if _is_renewed(tp.topic, start, self._view):
            return Known(fallback=0)
        span = start.spans.get(tp)
        checkpoint = None if span is None else span[1]
        if not kept:
            committed, taken = found.committed.get(tp), found.taken.get(tp)
            return Known(checkpoint=checkpoint, committed=committed, taken=taken)
        before = self._positions[tp]
        if checkpoint is not None and start.batch > before.batch:
            return Known(checkpoint)
        return Known(before.offset)

    def _fallbacks(
        self,
        unknown: set[TopicPartition],
        firsts: Mapping[TopicPartition, int],
        start: StreamOffset,
    ) -> dict[TopicPartition, int]:
        """Return where to begin without a position; a partition that came later, at its start."""
        later = {tp for tp in unknown if start.batch > 0 or not self.in_group}
        found = {tp: firsts.get(tp, 0) for tp in later}
        first = unknown - later
        if first:
            where = self._options.starting or Named.LATEST
            asked = partitions_in(self._view) if isinstance(where, AtOffsets | AtTimes) else first
            places = resolved(self.driver(), where, asked, name="startingOffsets")
            found |= {tp: places[tp] for tp in first}
        return found

    def _commit(self, start: StreamOffset) -> None:
        """Commit what is further than what is committed: first positions, and after a restart."""
        text = mark(start.query, start.batch)
        offsets = {
            claim: OffsetAndMetadata(self._positions[tp].offset, text)
            for tp, claim in self._held.items()
            if claim is not None
        }
        if offsets:
            self.driver().call(lambda member: member.commit_soon(offsets))

    # -- how much --------------------------------------------------------------------------

    def _backlog(self, *, available: bool) -> dict[TopicPartition, Span]:
        if available and self._target is None:
            self._target = dict(self.latest)
        found: dict[TopicPartition, Span] = {}
        for tp, position in self._positions.items():
            at, end = position.offset, self.latest[tp]
            if available and self._target is not None:
                end = min(end, self._target.get(tp, at))
            found[tp] = (at, max(at, end))
        return found

    def _waits(self, rows: int, now: float, *, available: bool) -> bool:
        """Tell whether a batch waits for more rows (`minOffsetsPerTrigger`)."""
        least = self._options.least_rows
        if least is None or available or rows >= least:
            return False
        if self._waits_since is None:
            self._waits_since = now
        return now - self._waits_since < self._options.longest_delay

    def _offset(self, query: str, batch: int, spans: Mapping[TopicPartition, Span]) -> StreamOffset:
        ids = {topic: self._view.topic_id(topic) for topic in {tp.topic for tp in spans}}
        known = {topic: found.hex() for topic, found in ids.items() if found is not None}
        fences: dict[TopicPartition, int] = {}
        if self._options.fence:
            all_fences = self.driver().call(lambda member: member.fences())
            fences = {tp: fence for tp, fence in all_fences.items() if tp in spans}
        return StreamOffset(query, batch, spans, known, fences)


@dataclass(frozen=True, slots=True)
class _Position:
    """Where a query stood with a partition.

    Args:
        offset: first one that is not in a batch.
        batch: number of the batch before.
    """

    offset: int
    batch: int


def _is_renewed(topic: str, start: StreamOffset, view: ClusterView) -> bool:
    known, found = start.topic_ids.get(topic), view.topic_id(topic)
    return known is not None and found is not None and found.hex() != known
