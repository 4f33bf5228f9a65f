"""One record, or one batch, in the hands of the handler, until it has ended one way or another.

Decides: how the handler is called and for how long, and that what the verdict says is carried out.
Never: commits. Never lets a success count that came after its partition was lost.
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias, assert_never

import anyio

from kgroup.consumer import Batch, Record
from kgroup.errors import FencedWriteError, KGroupError, LockLostError
from kgroup.processing.choices import Strategy, deadline_of
from kgroup.processing.letters import Letters
from kgroup.processing.locks import Grant
from kgroup.processing.reports import Report, ReportKind, Reports
from kgroup.processing.shop import Shop
from kgroup.processing.verdicts import (
    Failure,
    GiveUp,
    Send,
    StepBack,
    TryAgain,
    dead,
    verdict_on,
)
from kgroup.types import Claim, TopicPartition
from kgroup.values import dataclass
from kgroup.wire.records import NewRecord
from kgroup.words import Word

Call: TypeAlias = Callable[[], Awaitable[None] | None]
"""Calls the handler once."""

_LONG: Final = 1.0
"""Seconds that a handler takes, from which on it may have blocked the event loop."""
_WRITING_BAD: Final = 10.0
"""Seconds for a record that cannot be deserialised to be written elsewhere."""


class Ending(Word):
    """How a record or a batch ended."""

    DONE = "the handler has returned"
    SENT = "it was written elsewhere, and is done here"
    LEFT = "nothing more is begun; it goes back as it is"
    OVER = "the partition is not owned any more"
    STOPPED = "it could not be written elsewhere: its partition is stopped"
    BACK = "this member leaves its partition to others for a while"
    FENCED = "the store, or a lock, has another owner"
    UNLOCKED = "a lock that it needs is not to be had"
    SOUGHT = "its commit was refused: reading goes back to it"
    SPLIT = "its front was processed before: its rest comes as a batch of its own"


FINISHED: Final = frozenset({Ending.DONE, Ending.SENT})
"""Those after which the next record may be begun."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What the handler gets at a time.

    Args:
        batch: that it is from.
        record: the record, None for all of the batch.
        grants: the locks that are held for it, None where none are asked for.
    """

    batch: Batch[Any, Any]
    record: Record[Any, Any] | None = None
    grants: tuple[Grant, ...] | None = None

    @property
    def claim(self) -> Claim:
        """The period of ownership."""
        return self.batch.claim

    @property
    def tp(self) -> TopicPartition:
        """The partition."""
        return self.batch.partition

    @property
    def what(self) -> Record[Any, Any] | Batch[Any, Any]:
        """What the handler gets, and what is committed."""
        return self.batch if self.record is None else self.record

    def given(self, *transaction: object) -> tuple[object, ...]:
        """Return what the handler is called with."""
        locks = () if self.grants is None else (self.grants,)
        return (self.what, *transaction, *locks)

    @property
    def first(self) -> int:
        """Offset of the first record."""
        return self.batch.first if self.record is None else self.record.offset

    @property
    def next_offset(self) -> int:
        """First offset behind it."""
        return self.batch.next_offset if self.record is None else self.record.offset + 1

    def report(
        self, kind: ReportKind, error: BaseException | None = None, attempt: int = 0
    ) -> Report:
        """Return what is to be told of it."""
        token = self.batch.token
        return Report(kind, self.tp, self.first, self.next_offset, token, error, attempt)


class Trying:
    """Has units finished on behalf of one processor.

    Args:
        shop: says who owns what, and whether work is to end.
        strategy: what becomes of what cannot finish.
        bad_records: topic for records that cannot be deserialised, None without one.
        letters: writes copies.
        reports: tells what happened.
        group_id: the group.
    """

    def __init__(
        self,
        shop: Shop,
        strategy: Strategy,
        bad_records: str | None,
        letters: Letters,
        reports: Reports,
        group_id: str,
    ) -> None:
        self._shop = shop
        self._strategy = strategy
        self._deadline = deadline_of(strategy)
        self._bad_records = bad_records
        self._letters = letters
        self._reports = reports
        self._group_id = group_id

    async def finish(self, unit: Unit, call: Call, *, late_counts: bool = False) -> Ending:
        """Call the handler until the unit has ended.

        Args:
            unit: what it gets.
            call: calls it.
            late_counts: whether a success counts after the partition was lost, because something
                else has decided that it does.

        Raises:
            Exception: what the handler raised, when the strategy is to raise it.
            FencedWriteError, LockLostError: the store, or the lock, has another owner.
        """
        began, attempt = self._now(), 0
        bad = None if unit.record is None else unit.record.error
        if bad is not None and self._bad_records is not None:
            failure = self._failure(unit, 0, bad, began)
            return await self._send(unit, bad, dead(self._bad_records, failure, _WRITING_BAD))
        while True:
            attempt += 1
            called_at = anyio.current_time()
            error = await self._try(call)
            if anyio.current_time() - called_at >= _LONG:
                await self._shop.catch_up(unit.claim)
            if not late_counts and not self._shop.holds(unit.claim):
                self._reports.tell(unit.report(ReportKind.LATE, error, attempt))
                return Ending.OVER
            if error is None:
                return Ending.DONE
            self._reports.tell(unit.report(ReportKind.FAILED, error, attempt))
            ending = await self._carry_out(unit, self._failure(unit, attempt, error, began), error)
            if ending is not None:
                return ending

    async def _try(self, call: Call) -> Exception | None:
        try:
            with anyio.move_on_after(self._deadline) as scope:
                returned = call()
                if inspect.isawaitable(returned):
                    await returned
        except (FencedWriteError, LockLostError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the strategy decides
            return error
        if scope.cancelled_caught:
            return TimeoutError(f"the handler took longer than {self._deadline:g} s")
        return None

    async def _carry_out(self, unit: Unit, failure: Failure, error: Exception) -> Ending | None:
        """Do what the verdict says; None has the handler called again."""
        verdict = verdict_on(self._strategy, failure)
        match verdict:
            case GiveUp():
                raise error
            case TryAgain():
                await self._shop.pause_work(verdict.pause, unit.claim)
                return Ending.LEFT if self._shop.is_leaving(unit.claim) else None
            case StepBack():
                self._reports.tell(unit.report(ReportKind.STEPPED_BACK, error))
                return Ending.BACK
            case Send():
                return await self._send(unit, error, verdict)
            case _:
                assert_never(verdict)

    async def _send(self, unit: Unit, cause: Exception, send: Send) -> Ending:
        record = unit.record
        assert record is not None
        key, value = raw_bytes(unit.batch, record.offset)
        copy = NewRecord(key, value, send.headers, record.timestamp if send.topic else -1)
        try:
            await self._letters.write(unit.tp, send.topic, copy, send.timeout)
        except (KGroupError, TimeoutError) as error:
            self._shop.stopped[unit.claim] = error
            self._reports.tell(unit.report(ReportKind.STOPPED, error))
            return Ending.STOPPED
        kind = ReportKind.REQUEUED if send.topic is None else ReportKind.DEAD_LETTERED
        self._reports.tell(unit.report(kind, cause))
        return Ending.SENT

    def _failure(self, unit: Unit, attempt: int, cause: Exception, began: int) -> Failure:
        headers = () if unit.record is None else unit.record.headers
        origin, now = (unit.tp, unit.first), self._now()
        return Failure(origin, headers, attempt, cause, self._group_id, began, now)

    def _now(self) -> int:
        return int(self._letters.wall() * 1000)


def raw_bytes(batch: Batch[Any, Any], offset: int) -> tuple[bytes | None, bytes | None]:
    """Return key and value of a record as they came, whatever a deserialiser made of them."""
    for segment in batch.columns():
        if segment.first <= offset <= segment.last:
            at = segment.columns.index_of(offset)
            return segment.columns.key(at), segment.columns.value(at)
    raise AssertionError(f"{batch!r} has no record {offset}")
