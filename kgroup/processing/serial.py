"""The records of one partition, one after the other, in each of the semantics that go so.

Decides: when a record counts as done and when it is committed, in each of them; that what was not
begun goes back when the partition is asked for.
Never: begins a record before the one in front of it has ended.
"""

import inspect
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, TypeAlias

from kgroup.consumer import Batch
from kgroup.errors import (
    ClosedError,
    CommitFailedError,
    FencedWriteError,
    IllegalStateError,
    LockLostError,
    NotOwnedError,
)
from kgroup.frozen import replace
from kgroup.processing.absences import Absences
from kgroup.processing.choices import EffectivelyOnce, Per
from kgroup.processing.locks import Grant, Locksmith
from kgroup.processing.reports import ReportKind, Reports
from kgroup.processing.shop import Shop
from kgroup.processing.store import Hold, token_text
from kgroup.processing.trying import FINISHED, Ending, Trying, Unit
from kgroup.types import Backend, Claim, CommitStatus
from kgroup.values import dataclass

Handler: TypeAlias = Callable[..., Awaitable[None] | None]
"""Handles a record or a batch, plain or awaitable; it gets the transaction too where there is
a store, and then the grants where there are locks."""


@dataclass(frozen=True, slots=True, eq=False)
class Tools:
    """What every way of handling needs.

    Args:
        shop: says who owns what.
        trying: calls the handler.
        reports: tells what happened.
        handler: the user's.
        locks: takes the locks of a batch, None without any.
        absences: gives partitions up for a while, None where the strategy never does.
    """

    shop: Shop
    trying: Trying
    reports: Reports
    handler: Handler
    locks: Locksmith | None = None
    absences: Absences | None = None


class Way(Protocol):
    """How one unit is handled in one semantics."""

    async def one(self, unit: Unit) -> Ending:
        """Handle one unit, and count it as done."""
        ...

    def settle(self, batch: Batch[Any, Any]) -> None:
        """Do what is left when a batch, or the front of it, is done."""
        ...


class Counted:
    """Auto-commit: it counts as done, and the consumer commits in its own time.

    Args:
        tools: what it needs.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def one(self, unit: Unit) -> Ending:
        """Handle one unit."""
        ending = await self._tools.trying.finish(unit, partial(self._tools.handler, *unit.given()))
        if ending in FINISHED:
            unit.batch.done(unit.next_offset)
        return ending

    def settle(self, batch: Batch[Any, Any]) -> None:
        """Do nothing: leaving the batch counts it as done."""


class CommittedAfter:
    """At least once: it is committed when it is done.

    Args:
        tools: what it needs.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._committed_to = -1

    async def one(self, unit: Unit) -> Ending:
        """Handle one unit."""
        tools = self._tools
        ending = await tools.trying.finish(unit, partial(tools.handler, *unit.given()))
        if ending not in FINISHED:
            return ending
        try:
            await tools.shop.consumer.commit(unit.what)
        except (NotOwnedError, ClosedError) as error:
            tools.reports.tell(unit.report(ReportKind.LATE, error))
            return Ending.OVER
        except CommitFailedError as error:
            if not tools.shop.holds(unit.claim):
                tools.reports.tell(unit.report(ReportKind.LATE, error))
                return Ending.OVER
            # It was handled; the next commit covers it, or it comes again.
            tools.reports.tell(unit.report(ReportKind.NOT_COMMITTED, error))
        else:
            self._committed_to = unit.next_offset
        return ending

    def settle(self, batch: Batch[Any, Any]) -> None:
        """Commit offsets without records behind the last one, and what was refused."""
        if batch.next_offset > self._committed_to:
            with suppress(NotOwnedError, ClosedError):
                self._tools.shop.consumer.commit_soon(batch)


class CommittedBefore:
    """At most once: it is handled only when its commit is stored.

    Args:
        tools: what it needs.
        by_itself: whether the consumer commits before it hands out.
    """

    def __init__(self, tools: Tools, *, by_itself: bool) -> None:
        self._tools = tools
        self._by_itself = by_itself

    async def one(self, unit: Unit) -> Ending:
        """Handle one unit, unless nobody knows what became of its commit."""
        ending = None if self._by_itself else await self._commit(unit)
        if ending is not None:
            return ending
        tools = self._tools
        # Nobody else gets it, whoever owns the partition by now.
        call = partial(tools.handler, *unit.given())
        return await tools.trying.finish(unit, call, late_counts=True)

    async def _commit(self, unit: Unit) -> Ending | None:
        """Commit; None when it may be handled."""
        tools = self._tools
        try:
            await tools.shop.consumer.commit(unit.what)
        except (NotOwnedError, ClosedError):
            return Ending.OVER
        except CommitFailedError as error:
            if error.outcome.partitions[unit.tp].status is CommitStatus.UNKNOWN:
                tools.reports.tell(unit.report(ReportKind.SKIPPED, error))
                return Ending.SENT
            tools.reports.tell(unit.report(ReportKind.NOT_COMMITTED, error))
            return Ending.SOUGHT
        return None

    def settle(self, batch: Batch[Any, Any]) -> None:
        """Do nothing: all of it is committed."""


class Stored:
    """Effectively once: the store counts it as processed in the transaction of the handler.

    Args:
        tools: what it needs.
        semantics: its store.
        claim: the period of ownership.
        nonce: of the processor, for the token.
    """

    def __init__(self, tools: Tools, semantics: EffectivelyOnce, claim: Claim, nonce: str) -> None:
        self._tools = tools
        self._store = semantics.store
        self._claim = claim
        self._nonce = nonce
        self._hold: Hold | None = None

    async def one(self, unit: Unit) -> Ending:
        """Handle one unit, unless the store has it already."""
        tools = self._tools
        try:
            hold = self._hold or await self._acquire(unit)
            offset = hold.offset or 0
            if unit.first < offset:
                return self._repeated(unit, offset)
            call = partial(self._within, hold, unit)
            ending = await tools.trying.finish(unit, call, late_counts=True)  # the store decides
            if ending is Ending.SENT:
                async with self._store.transaction(hold, unit.first, unit.next_offset):
                    pass
        except FencedWriteError as error:
            tools.reports.tell(unit.report(ReportKind.FENCED, error))
            self._hold = None
            return Ending.FENCED
        if ending in FINISHED:
            self._hold = replace(hold, offset=unit.next_offset)
            unit.batch.done(unit.next_offset)
        return ending

    async def _within(self, hold: Hold, unit: Unit) -> None:
        async with self._store.transaction(hold, unit.first, unit.next_offset) as transaction:
            returned = self._tools.handler(*unit.given(transaction))
            if inspect.isawaitable(returned):
                await returned

    async def _acquire(self, unit: Unit) -> Hold:
        """Take the next epoch, and see that the store and the log are of one topic.

        Raises:
            FencedWriteError: a later owner has it.
            IllegalStateError: the store is ahead of the log.
        """
        consumer, token = self._tools.shop.consumer, unit.batch.token
        claims = consumer.config.backend is Backend.MARSHAL
        number = token.generation_id if claims and token is not None else None
        owner = token_text(token, self._claim.serial, self._nonce)
        hold = await self._store.acquire(consumer.config.group(), unit.tp, owner, number)
        end = consumer.highwater(unit.tp) if consumer.owns(unit.tp) else None
        if hold.offset is not None and end is not None and hold.offset > end:
            raise IllegalStateError(
                f"{unit.tp}: the store has processed it up to {hold.offset}, and the log ends at "
                f"{end}: it is another topic of the same name; delete its rows from the store"
            )
        self._hold = hold
        return hold

    def _repeated(self, unit: Unit, offset: int) -> Ending:
        self._tools.reports.tell(unit.report(ReportKind.REPEATED))
        if offset < unit.next_offset:
            # A batch of which the front is processed: its rest comes as a batch of its own.
            unit.batch.give_back(offset)
            return Ending.SPLIT
        unit.batch.done(unit.next_offset)
        return Ending.DONE

    def settle(self, batch: Batch[Any, Any]) -> None:
        """Commit as well: who looks at the group sees how far it is."""
        with suppress(NotOwnedError, ClosedError):
            self._tools.shop.consumer.commit_soon(batch)


class SerialHand:
    """The batches of one claim, one after the other.

    Args:
        tools: what it needs.
        claim: the period of ownership.
        way: how a unit is handled.
        per: what a unit is.
        capacity: batches in hand from which on the partition is paused.
    """

    def __init__(self, tools: Tools, claim: Claim, way: Way, per: Per, capacity: int) -> None:
        self._tools = tools
        self._shop = tools.shop
        self.claim = claim
        self._way = way
        self._per = per
        self._capacity = capacity
        self._queue: deque[Batch[Any, Any]] = deque()
        self._works = False
        self._waits = False

    @property
    def busy(self) -> bool:
        """Whether a batch is in hand."""
        return self._works

    def feed(self, batch: Batch[Any, Any]) -> None:
        """Take a batch."""
        self._queue.append(batch)
        if len(self._queue) >= self._capacity:
            self._shop.hold_back(self.claim)
        if not self._works:
            self._works = True
            self._shop.start(self._work)

    def look(self) -> None:
        """Do nothing: before each record it looks by itself."""

    async def settled(self) -> None:
        """Return at once: every commit was waited for, or is the consumer's."""

    async def _work(self) -> None:
        try:
            while self._queue:
                ending, at = await self._batch(self._queue[0])
                self._queue.popleft()
                self._after(ending, at)
        except Exception as error:  # noqa: BLE001 - it ends the processor
            self._shop.fail(error)
        finally:
            self._works = False
            self._shop.news.notify()

    async def _batch(self, batch: Batch[Any, Any]) -> tuple[Ending, int]:
        """Handle a batch; return how that ended, and the offset from which it is not."""
        async with batch:
            ending, at = await self._under_locks(batch)
            if ending in FINISHED:
                self._way.settle(batch)
            else:
                batch.give_back(at)
                if at > batch.first:
                    self._way.settle(batch)
        if ending is Ending.SOUGHT and self._shop.holds(self.claim):
            # Its commit was asked for, so it counts as done; it was refused, so it comes again.
            self._shop.consumer.seek(batch.partition, at)
        return ending, at

    async def _under_locks(self, batch: Batch[Any, Any]) -> tuple[Ending, int]:
        """Handle a batch while its locks are held; return as `_units`."""
        locks = self._tools.locks
        if locks is None:
            return await self._units(batch, None)
        if self._shop.is_leaving(self.claim):
            return Ending.LEFT, batch.first
        names = locks.names(batch)
        try:
            grants = await locks.take(names, self.claim.serial)
        except Exception as error:  # noqa: BLE001 - a service may raise anything
            if not self._waits:
                self._waits = True  # told once, however often it is tried
                self._tools.reports.tell(Unit(batch).report(ReportKind.UNLOCKED, error))
            return Ending.UNLOCKED, batch.first
        self._waits = False
        try:
            return await self._units(batch, grants)
        finally:
            await locks.give_back(grants)

    async def _units(
        self, batch: Batch[Any, Any], grants: tuple[Grant, ...] | None
    ) -> tuple[Ending, int]:
        """Handle what a batch holds; return how that ended, and the offset from which it is not."""
        if self._per is Per.BATCH:
            ending = await self._unit(Unit(batch, grants=grants))
            return ending, batch.next_offset if ending is Ending.SPLIT else batch.first
        for record in batch:
            ending = await self._unit(Unit(batch, record, grants))
            if ending not in FINISHED:
                return ending, record.offset
        return Ending.DONE, batch.next_offset

    async def _unit(self, unit: Unit) -> Ending:
        if self._shop.is_leaving(self.claim):
            return Ending.LEFT
        try:
            return await self._way.one(unit)
        except LockLostError as error:
            self._tools.reports.tell(unit.report(ReportKind.FENCED, error))
            return Ending.FENCED

    def _after(self, ending: Ending, at: int) -> None:
        """Go on with the next batch; or give all back, and read on when there is a reason to."""
        shop = self._shop
        if ending in FINISHED:
            if len(self._queue) < self._capacity:
                shop.resume(self.claim)
            return
        while self._queue:
            self._queue.popleft().release()
        match ending:
            case Ending.STOPPED if self.claim in shop.stopped:
                shop.hold_back(self.claim)
            case Ending.STOPPED | Ending.FENCED | Ending.SOUGHT | Ending.UNLOCKED:
                shop.hold_back(self.claim)
                shop.start(shop.resume_later, self.claim)
            case Ending.BACK:
                assert self._tools.absences is not None
                self._tools.absences.begin(self.claim, at)
            case _:
                shop.resume(self.claim)
