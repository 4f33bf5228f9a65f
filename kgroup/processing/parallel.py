"""The records of one partition, several at a time.

Decides: which records wait for each other; that only what is done without a gap is committed, and
that one commit of a partition is under way at a time, so that a fast handler costs no more requests
than a slow one.
Never: begins a record while one in front of it in its lane has not ended.

1. Records are put into lanes: of their key, of the partition, or each into its own. 2. The record
in front of a lane gets its turn. 3. When it ends, the prefix and what is done beyond it are
committed, or noted for the commit after the one that is under way; the lane goes behind the others.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel

from kgroup.consumer import Batch, Record
from kgroup.errors import ClosedError, DeserializationError, NotOwnedError
from kgroup.processing.choices import InParallel, Order
from kgroup.processing.gaps import Gaps, Runs, is_in, read_runs, write_runs
from kgroup.processing.reports import Report, ReportKind
from kgroup.processing.serial import Tools
from kgroup.processing.shop import Shop
from kgroup.processing.trying import FINISHED, Ending, Unit
from kgroup.types import Claim, CommitOutcome, Generation, OffsetAndMetadata


class Crew:
    """So many records at a time, of all partitions, in the order in which they came.

    Tasks that wait for a permit would come in any order: on trio the last records go first.

    Args:
        shop: starts tasks.
        lanes: most records in work.
    """

    def __init__(self, shop: Shop, lanes: int) -> None:
        self._shop = shop
        self._free = lanes
        self._turns: deque[Callable[[], Awaitable[None]]] = deque()

    def add(self, turn: Callable[[], Awaitable[None]]) -> None:
        """Have a record handled when its turn comes."""
        self._turns.append(turn)
        if self._free:
            self._free -= 1
            self._shop.start(self._work)

    async def _work(self) -> None:
        try:
            while self._turns:
                await self._turns.popleft()()
                await anyio.lowlevel.checkpoint()  # a handler need not await anything
        finally:
            self._free += 1


class ParallelHand:
    """What is in hand of one claim.

    Args:
        tools: what it needs.
        claim: the period of ownership.
        semantics: order, bounds, and who hears of commits.
        crew: handles records, in the order in which they came.
    """

    def __init__(self, tools: Tools, claim: Claim, semantics: InParallel, crew: Crew) -> None:
        self._tools = tools
        self._shop = tools.shop
        self.claim = claim
        self._semantics = semantics
        self._crew = crew
        self._in_work = 0
        self._gaps: Gaps | None = None
        self._before: Runs | None = None
        self._incoming: deque[Batch[Any, Any]] = deque()
        self._batches: deque[Batch[Any, Any]] = deque()
        self._lanes: dict[Hashable, deque[Unit]] = {}
        self._admits = False
        self._halted: Ending | None = None
        self._token: Generation | None = None
        self._under_way = 0
        self._dirty = False

    @property
    def busy(self) -> bool:
        """Whether records are in work, or about to be."""
        return self._admits or self._in_work > 0 or bool(self._lanes)

    def feed(self, batch: Batch[Any, Any]) -> None:
        """Take a batch; its partition is paused until the records are in their lanes."""
        self._incoming.append(batch)
        self._token = batch.token
        self._shop.hold_back(self.claim)
        if not self._admits:
            self._admits = True
            self._shop.start(self._admit)

    def look(self) -> None:
        """Read on, or give back what was not begun; called whenever something has changed."""
        self._make_room()
        if self._stops() and not self._admits and not self._in_work:
            self._give_back()
        self._shop.news.notify()

    async def settled(self) -> None:
        """Wait until every commit is answered; the caller bounds the time."""
        while self._under_way:
            await self._shop.news.wait()

    # -- in --------------------------------------------------------------------------------

    async def _admit(self) -> None:
        try:
            while self._incoming and not self._stops():
                if self._gaps is None:
                    self._gaps = await self._begin(self._incoming[0])
                self._put_all(self._gaps, self._incoming.popleft())
        except Exception as error:  # noqa: BLE001 - it ends the processor
            self._shop.fail(error)
        finally:
            self._admits = False
            self.look()

    async def _begin(self, batch: Batch[Any, Any]) -> Gaps:
        """Read what was done beyond the committed offset when somebody left it."""
        tp = batch.partition
        if self._before is None:
            committed = (await self._shop.consumer.committed(tp)).get(tp)
            self._before = ()
            if committed is not None:
                self._before = read_runs(committed.offset, committed.metadata)
        return Gaps(batch.first)

    def _put_all(self, gaps: Gaps, batch: Batch[Any, Any]) -> None:
        self._batches.append(batch)
        records: list[Record[Any, Any]] = []
        refused: DeserializationError | None = None
        try:
            records.extend(batch)
        except DeserializationError as error:
            refused = error  # the batch ends in front of it now
        gaps.admit(((each.offset, each.leader_epoch) for each in records), batch.next_offset)
        for record in records:
            if is_in(self._before or (), record.offset):
                self._finished(record.offset)
            else:
                self._put(Unit(batch, record))
        if self._before and batch.next_offset >= self._before[-1].stop:
            self._before = ()
        if not records:
            self._dirty = True
            self._commit()
        if refused is not None:
            self._shop.fail(refused)

    def _put(self, unit: Unit) -> None:
        name = self._lane_of(unit)
        lane = self._lanes.get(name)
        if lane is not None:
            lane.append(unit)
            return
        self._lanes[name] = deque([unit])
        self._crew.add(partial(self._turn, name))

    def _lane_of(self, unit: Unit) -> Hashable:
        assert unit.record is not None
        key = unit.record.key
        match self._semantics.order:
            case Order.PARTITION:
                return None
            case Order.KEY if key is not None:
                return _hashable(key)
            case _:
                return object()

    # -- in work ---------------------------------------------------------------------------

    async def _turn(self, name: Hashable) -> None:
        """Handle the record in front of a lane."""
        lane = self._lanes.get(name)
        if lane is None:
            return  # what was in it went back
        self._in_work += 1
        ending: Ending | None = None
        try:
            ending = await self._one(lane[0])
            if ending in FINISHED:
                self._finished(lane.popleft().first)
            else:
                self._halted = self._halted or ending
        except Exception as error:  # noqa: BLE001 - it ends the processor
            self._shop.fail(error)
        finally:
            self._in_work -= 1
            if not lane:
                del self._lanes[name]
            elif ending in FINISHED and not self._stops():
                self._crew.add(partial(self._turn, name))
            self.look()

    async def _one(self, unit: Unit) -> Ending:
        if self._stops():
            return Ending.LEFT
        return await self._tools.trying.finish(unit, partial(self._tools.handler, unit.record))

    def _stops(self) -> bool:
        return self._halted is not None or self._shop.is_leaving(self.claim)

    # -- out -------------------------------------------------------------------------------

    def _finished(self, offset: int) -> None:
        assert self._gaps is not None
        self._gaps.done(offset)
        self._dirty = True
        self._commit()
        self._make_room()

    def _make_room(self) -> None:
        in_flight = 0 if self._gaps is None else len(self._gaps)
        if not self._admits and not self._stops() and in_flight < self._semantics.in_flight:
            self._shop.resume(self.claim)

    def _commit(self, *, at_once: bool = False) -> None:
        gaps = self._gaps
        if gaps is None or not self._dirty or not self._shop.holds(self.claim):
            return
        if self._under_way and not at_once:
            return  # its answer asks for the next
        text = write_runs(gaps.prefix, gaps.runs())
        offset = OffsetAndMetadata(gaps.prefix, text, gaps.epoch)
        try:
            self._shop.consumer.commit_soon({self.claim.tp: offset}, self._committed)
        except (NotOwnedError, ClosedError):
            return
        self._dirty = False
        self._under_way += 1
        while self._batches and self._batches[0].next_offset <= gaps.prefix:
            self._batches.popleft()

    def _committed(self, outcome: CommitOutcome) -> None:
        self._under_way -= 1
        for tp, each in outcome.failed().items():
            begin, error = each.offset.offset, RuntimeError(each.reason)
            report = Report(ReportKind.NOT_COMMITTED, tp, begin, begin, self._token, error)
            self._tools.reports.tell(report)
        if outcome.ok:
            self._commit()
        else:
            self._dirty = True  # with the next record that is done; not at once, for ever
        self._shop.news.notify()
        if self._semantics.on_committed is not None:
            self._semantics.on_committed(outcome)

    def _give_back(self) -> None:
        """Give back what is not done: nothing is in work, and nothing more is begun."""
        gaps = self._gaps
        self._lanes.clear()
        # Before anything is out of hand: then a revocation waits for this commit.
        self._commit(at_once=True)
        if gaps is not None:
            self._before, self._gaps = gaps.runs(), None
        for batch in (*self._batches, *self._incoming):
            batch.give_back(batch.first if gaps is None else max(gaps.prefix, batch.first))
            batch.release()
        self._batches.clear()
        self._incoming.clear()
        if self._halted is Ending.STOPPED and self.claim in self._shop.stopped:
            self._shop.hold_back(self.claim)
        else:
            self._shop.resume(self.claim)
        self._halted = None


def _hashable(key: object) -> Hashable:
    """Return a key, or its text when a deserialiser made something that has no hash."""
    try:
        hash(key)
    except TypeError:
        return repr(key)
    return key
