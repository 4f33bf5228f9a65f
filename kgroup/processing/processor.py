"""Calls a handler with the records of a consumer, in the semantics that the user chose.

Decides: what is read and when, how work ends, and in which order things are closed.
Never: handles a record itself, or leaves records that were begun without a defined end.

1. Batches are read and given to the hand of their claim; a hand that is full pauses its partition,
   and no other. 2. To end, nothing more is begun, handlers in work have until the deadline, what is
   not begun goes back, and commits are answered. 3. Then the consumer is closed, if `stop` was
   called, or the error of the handler is raised.
"""

import secrets
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, Protocol

import anyio
from anyio.abc import TaskGroup, TaskStatus

from kgroup.consumer import Batch, Consumer
from kgroup.errors import ArgumentError, ConfigError, IllegalStateError, KGroupError
from kgroup.marshal.rules import Guarantee
from kgroup.processing.absences import Absences
from kgroup.processing.choices import (
    AtLeastOnce,
    AtMostOnce,
    AutoCommit,
    DeadLetter,
    EffectivelyOnce,
    Evict,
    InParallel,
    Per,
    Raise,
    Relinquish,
    Requeue,
    Semantics,
    Strategy,
)
from kgroup.processing.fitting import check_fit
from kgroup.processing.letters import Letters
from kgroup.processing.locks import Locked, Locksmith
from kgroup.processing.parallel import Crew, ParallelHand
from kgroup.processing.reports import Hears, Reports
from kgroup.processing.serial import (
    CommittedAfter,
    CommittedBefore,
    Counted,
    Handler,
    SerialHand,
    Stored,
    Tools,
    Way,
)
from kgroup.processing.shop import Shop
from kgroup.processing.trying import Trying
from kgroup.processing.yielding import YieldingAssignor
from kgroup.types import Claim, Leave, TopicPartition
from kgroup.values import dataclass

_AHEAD: Final = 2
"""Batches of a partition in hand at most: one in work, and the next."""
_LEAST_CLOSING: Final = 0.5
"""Seconds for closing when everything before it has used up the deadline."""
_SHARE_FOR_COMMITS: Final = 0.1
"""Part of the deadline in which commits are answered."""
_SHARE_FOR_WORK: Final = 0.8
"""Part of the deadline after which handlers are cancelled, so that there is time to commit."""


@dataclass(frozen=True, slots=True)
class Drain:
    """How a processor ends.

    Args:
        timeout: seconds from `stop` to the end of `run`, for everything.
        leave: whether the member leaves its group; by default a static one stays.
        signals: those that have it stop, such as `signal.SIGTERM`; only in the main thread.
    """

    timeout: float = 25.0
    leave: Leave = Leave.DEFAULT
    signals: tuple[signal.Signals, ...] = ()

    def __post_init__(self) -> None:
        if not self.timeout > 0:
            raise ConfigError("timeout", self.timeout, "seconds above 0")


class _Hand(Protocol):
    claim: Claim

    @property
    def busy(self) -> bool: ...

    def feed(self, batch: Batch[Any, Any]) -> None: ...

    def look(self) -> None: ...

    async def settled(self) -> None: ...


class Processor:
    """Hands each record to a handler, and says when it is done.

        async def handle(record: Record) -> None:
            ...

        async with Consumer("orders", group_id="billing") as consumer:
            await Processor(consumer, handle).run()

    While it runs, it alone reads, pauses and resumes.

    Args:
        consumer: entered when `run` is called.
        handler: plain or awaitable; called with a record or a batch, as the semantics say, and with
            the transaction where there is a store.
        semantics: when a record counts as done.
        stuck: what becomes of a record that cannot finish.
        bad_records: topic for records that a deserialiser refuses; None leaves them to the
            consumer's `on_deserialize_error`.
        drain: how it ends.
        locks: what is held while a batch is handled; the handler gets the grants, too.

    Raises:
        ConfigError: the choices do not fit each other, or the consumer.
        ArgumentError: the handler cannot be called.
    """

    def __init__(
        self,
        consumer: Consumer[Any, Any],
        handler: Handler,
        semantics: Semantics | None = None,
        *,
        stuck: Strategy | None = None,
        bad_records: str | None = None,
        drain: Drain | None = None,
        locks: Locked | None = None,
    ) -> None:
        if not callable(handler):
            raise ArgumentError("handler", handler, "a function of a record or a batch")
        self._consumer = consumer
        self._semantics: Semantics = AtLeastOnce() if semantics is None else semantics
        self._strategy: Strategy = Raise() if stuck is None else stuck
        self._drain = Drain() if drain is None else drain
        config = consumer.config
        check_fit(config, self._semantics, self._strategy, bad_records, locked=locks is not None)
        self._reports = Reports()
        self._letters = Letters(config)
        self._writes = bad_records is not None or isinstance(self._strategy, Requeue | DeadLetter)
        self._shop = Shop(consumer, self._end_work)
        trying = Trying(
            self._shop, self._strategy, bad_records, self._letters, self._reports, config.group()
        )
        smith = None if locks is None else Locksmith(locks, config.group())
        absences = None
        if isinstance(self._strategy, Relinquish):
            kinds = (each for each in config.assignors if isinstance(each, YieldingAssignor))
            absences = Absences(self._shop, self._strategy, next(kinds, None))
        self._tools = Tools(self._shop, trying, self._reports, handler, smith, absences)
        self._hands: dict[Claim, _Hand] = {}
        lanes = self._semantics.lanes if isinstance(self._semantics, InParallel) else 0
        self._crew = Crew(self._shop, lanes)
        self._nonce = secrets.token_hex(8)
        self._reading: anyio.CancelScope | None = None
        self._tasks: TaskGroup | None = None
        self._failure: Exception | None = None
        self._ends_at: float | None = None

    # -- from outside ----------------------------------------------------------------------

    def hear(self, hears: Hears) -> None:
        """Have a function called with each report; it must not wait."""
        self._reports.hears.append(hears)

    @property
    def stopped(self) -> Mapping[TopicPartition, Exception]:
        """The partitions that stand still because a copy could not be written, and why."""
        return {claim.tp: error for claim, error in self._shop.stopped.items()}

    def go_on(self, tp: TopicPartition) -> bool:
        """Read a stopped partition on, from the record that could not be written.

        Returns:
            Whether it was stopped.
        """
        return self._shop.go_on(tp)

    def stop(self) -> None:
        """Begin to end: nothing more is begun, and the consumer is closed in the end.

        Call it on the event loop. `run` returns when all is over, after `drain.timeout` at most.
        """
        if self._ends_at is None:
            self._ends_at = anyio.current_time() + self._drain.timeout
        self._wind_up()

    async def run(self) -> None:
        """Handle records until `stop`, a signal, the end of the consumer, or an error.

        Raises:
            IllegalStateError: it ran before.
            ConfigError: records would be put back into topics that other groups read.
            Exception: what the handler raised, unless the strategy knows what to do with it.
            KGroupError: what a read raised.
        """
        if self._tasks is not None:
            raise IllegalStateError("a processor runs once; make a new one")
        async with anyio.create_task_group() as around:
            try:
                await self._prepare(around)
                await self._work()
            except Exception as error:  # noqa: BLE001 - raised below, not in a group
                self._failure = self._failure or error
            around.cancel_scope.cancel()
        if self._failure is not None:
            raise self._failure
        if self._ends_at is not None:
            left = max(self._ends_at - anyio.current_time(), _LEAST_CLOSING)
            await self._consumer.close(timeout=left, leave=self._drain.leave)

    # -- life ------------------------------------------------------------------------------

    async def _prepare(self, around: TaskGroup) -> None:
        around.start_soon(self._watch)
        if self._writes:
            await around.start(self._letters.run)
        if self._drain.signals:
            await around.start(self._hear_signals)
        if isinstance(self._strategy, Requeue) and not self._strategy.forced:
            topics = self._consumer.subscribed_topics()
            others = await self._letters.other_readers(topics)
            if others:
                expected = f"True, or no other group that reads {', '.join(sorted(topics))}"
                raise ConfigError("forced", value=False, expected=f"{expected}; found {others}")

    async def _hear_signals(self, *, task_status: TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(*self._drain.signals) as signals:
            task_status.started()
            async for _ in signals:
                self.stop()

    async def _watch(self) -> None:
        """Have hands look when the membership changes: a partition may be asked for."""
        with suppress(KGroupError):  # readers raise it, too
            async for _ in self._consumer.membership_changes():
                for hand in tuple(self._hands.values()):
                    hand.look()

    async def _work(self) -> None:
        async with anyio.create_task_group() as tasks:
            self._tasks = self._shop.tasks = tasks
            if self._shop.ending:
                self._wind_up()
            await self._read()
        with anyio.move_on_after(self._drain.timeout * _SHARE_FOR_COMMITS):
            for hand in self._hands.values():
                await hand.settled()

    async def _read(self) -> None:
        """Read until the end; in between step back, when a hand asked for it."""
        while not self._shop.ending:
            with anyio.CancelScope() as self._reading:
                if await self._read_on():
                    return
            if self._shop.away:
                await self._step_back()

    async def _read_on(self) -> bool:
        """Read until cancelled, or until that fails; tell whether there is nothing to read."""
        try:
            await self._read_batches()
        except StopAsyncIteration:
            if self._consumer.closed:
                self._shop.wind_up()
            return True
        except Exception as error:  # noqa: BLE001 - it ends the processor
            self._shop.fail(error)
        return False

    async def _read_batches(self) -> None:
        alone = isinstance(self._strategy, Evict)
        while True:
            while alone and self._is_busy():
                await self._shop.news.wait()
            # An iterator of its own for each: the next batch does not make this one done.
            batch = await anext(self._consumer.batches())
            self._hand_of(batch.claim).feed(batch)

    async def _step_back(self) -> None:
        """Give everything up for a while, when nothing is in hand any more."""
        while self._is_busy():
            await self._shop.news.wait()
        assert self._tools.absences is not None
        await self._tools.absences.leave_all()

    # -- hands -----------------------------------------------------------------------------

    def _hand_of(self, claim: Claim) -> _Hand:
        hand = self._hands.get(claim)
        if hand is None:
            self._shop.forget_ended()
            kept = {c: h for c, h in self._hands.items() if h.busy or self._shop.holds(c)}
            self._hands = kept
            hand = self._hands[claim] = self._new_hand(claim)
        return hand

    def _new_hand(self, claim: Claim) -> _Hand:
        tools, semantics = self._tools, self._semantics
        if isinstance(semantics, InParallel):
            return ParallelHand(tools, claim, semantics, self._crew)
        way: Way
        match semantics:
            case AutoCommit():
                way = Counted(tools)
            case AtLeastOnce():
                way = CommittedAfter(tools)
            case AtMostOnce():
                by_itself = self._consumer.config.guarantee is Guarantee.AT_MOST_ONCE
                way = CommittedBefore(tools, by_itself=by_itself)
            case EffectivelyOnce():
                way = Stored(tools, semantics, claim, self._nonce)
        capacity = 1 if isinstance(self._strategy, Evict) else _AHEAD
        per: Per = semantics.per
        return SerialHand(tools, claim, way, per, capacity)

    def _is_busy(self) -> bool:
        return any(hand.busy for hand in self._hands.values())

    # -- the end ---------------------------------------------------------------------------

    def _end_work(self, error: Exception | None) -> None:
        """End with an error; or, with None, only stop reading for now."""
        if error is not None:
            self._failure = self._failure or error
            self._wind_up()
        elif self._reading is not None:
            self._reading.cancel()

    def _wind_up(self) -> None:
        """Begin nothing more; handlers in work have the greater part of the deadline."""
        self._shop.wind_up()
        if self._reading is not None:
            self._reading.cancel()
        if self._tasks is not None:
            ends = anyio.current_time() + self._drain.timeout * _SHARE_FOR_WORK
            scope = self._tasks.cancel_scope
            scope.deadline = min(scope.deadline, ends)
