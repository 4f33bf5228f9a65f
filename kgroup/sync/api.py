"""The blocking consumer: the calls of `kgroup.Consumer` for programs without an event loop.

Decides: how each call waits. A loop in a thread of its own runs the asynchronous consumer; a call
hands its work over and waits for the answer.
Never: decides anything about the group or about records; the asynchronous consumer does.

In order: life (start, close), listeners, reading, offsets and commits, the group, logs, and the
consumer that has them all.
"""

import inspect
import math
import sys
import time
import warnings
import weakref
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from types import SimpleNamespace, TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    Unpack,
    cast,
    overload,
)
from weakref import ReferenceType

import anyio

from kgroup.config import ConsumerConfig, ConsumerOptions
from kgroup.consumer.api import Consumer as NativeConsumer
from kgroup.consumer.api import Listener as NativeListener
from kgroup.consumer.api import sound
from kgroup.consumer.commit.commit_order import log_failures
from kgroup.consumer.commit.committing import CommitCallback, Committable, Offsets
from kgroup.consumer.fetch.logs import Times
from kgroup.consumer.reads.batch import Batch as NativeBatch
from kgroup.consumer.reads.leaving import read_for_nobody
from kgroup.consumer.reads.record import Deserializer, Record, raw
from kgroup.errors import ArgumentError, ClosedError, ConfigError, IllegalStateError, KGroupError
from kgroup.observe.vitals import Vitals
from kgroup.sync.ahead import Progress, ReadAhead, settle
from kgroup.sync.batch import Batch, BatchIterator, MembershipIterator, RecordIterator
from kgroup.sync.host import Host
from kgroup.sync.waiting_threads import WaitingThreads
from kgroup.types import (
    CommitOutcome,
    DoneAt,
    Generation,
    Leave,
    Membership,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    OwnershipChange,
    Subscription,
    TopicPartition,
)

if TYPE_CHECKING:
    import pyarrow as pa

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

_FOR_THE_THREAD: Final = 1.0
"""Seconds of a close timeout that are kept for sockets and the thread, at most half of it."""


class Life(Generic[K, V]):
    """The base of every group of calls of a blocking consumer.

    Args:
        native: the consumer it drives; not entered.
        threads: where callbacks wait for a thread.
        name: of the thread.
    """

    def __init__(self, native: NativeConsumer[K, V], threads: WaitingThreads, name: str) -> None:
        self._native = native
        self._threads = threads
        self._host = Host(native, threads, name)
        self._read_ahead: ReadAhead[K, V] = ReadAhead()

    def __repr__(self) -> str:
        return repr(self._native)

    def __enter__(self) -> Self:
        """Start the thread, and wait for a broker, at most `bootstrap_timeout`.

        Raises:
            NoBrokerError: none answered; it lists every address and why.
            IllegalStateError: it was entered before.
        """
        if self._host.started:
            raise IllegalStateError("a consumer is entered once; make a new one")
        self._host.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close; without an exception, what this thread has read is done, as after `close`."""
        self._end(5.0, Leave.DEFAULT, commit=True, well=exc_type is None)

    def __del__(self) -> None:
        host = getattr(self, "_host", None)
        if host is not None and host.runs:
            warnings.warn(f"Unclosed consumer {self!r}", ResourceWarning, source=self, stacklevel=2)
            host.stop_soon()

    def close(
        self, *, timeout: float = 5.0, leave: Leave = Leave.DEFAULT, commit: bool = True
    ) -> None:
        """Stop handing out, let others finish their batches, commit what is done, leave.

        What this thread has read is done, up to the record that a loop has in hand; not while an
        exception is on its way through the caller (`finally`), or is handled there.
        The listener is called in this thread. A second call waits for the first.
        Inside a listener it only asks for all that; the `with` around it, or another `close`,
        waits. In a forked child it does nothing: the consumer is the parent's.

        Args:
            timeout: seconds after which it returns, the thread ended, whatever brokers do.
            leave: whether the member leaves the group; by default a static one stays (KIP-345).
            commit: whether what is done is committed, where `enable_auto_commit` is on. Without it
                the group goes on where the last commit was; a commit on its way may still arrive.
        """
        self._end(timeout, leave, commit=commit, well=sys.exception() is None)

    def _end(self, timeout: float, leave: Leave, *, commit: bool, well: bool) -> None:
        if not self._host.started or self._host.forked:
            return
        if self._host.inside:
            self._native.close_soon(timeout=timeout, leave=leave, commit=commit)
            return
        deadline = time.monotonic() + timeout
        progress = self._ahead.withdraw()
        patience = timeout - min(_FOR_THE_THREAD, timeout / 2)

        async def end() -> None:
            settle(progress)
            self._threads.close()
            if not well:
                read_for_nobody()
            await self._native.close(timeout=patience, leave=leave, commit=commit)

        try:
            self._host.call(end, reads=True)
        except ClosedError:
            pass  # by another thread
        finally:
            self._host.stop(deadline)

    def close_soon(
        self, *, timeout: float = 5.0, leave: Leave = Leave.DEFAULT, commit: bool = True
    ) -> None:
        """Have the consumer closed, without waiting: from any thread, or from a signal handler.

        Reads end as they do after `close`, so a loop over records or batches is left, and the
        `with` around it waits for the rest. Does nothing before the consumer is entered.

        Args:
            timeout: seconds after which it is over, counted from when the event loop is notified.
            leave: whether the member leaves the group.
            commit: whether what is done is committed, as for `close`.
        """
        if not self._host.forked:
            self._native.close_soon(timeout=timeout, leave=leave, commit=commit)

    def wakeup(self) -> None:
        """End the reads that are blocked now with `WakeupError`, or the next one when none is.

        From any thread, or from a signal handler. Nothing is lost, and the consumer goes on as
        before; other calls than reads have deadlines of their own.
        """
        self._host.wake()

    # -- carrying calls --------------------------------------------------------------------

    @property
    def _ahead(self) -> ReadAhead[K, V]:
        """The records read ahead for loops; a forked child is refused.

        1. A thread of the parent takes the lock of them; 2. another thread forks; 3. in the child
        the lock is never released.
        """
        self._host.check_process()
        return self._read_ahead

    def _do(self, work: Callable[[], Awaitable[T]], progress: list[Progress] | None = None) -> T:
        """Have something done on the event loop, and wait for it."""

        async def do() -> T:
            settle(progress or ())
            return await work()

        return self._host.call(do)

    def _view(self, look: Callable[[], T], progress: list[Progress] | None = None) -> T:
        """Call something plain: on the event loop while there is one, here otherwise."""
        self._host.check_process()
        if not self._host.runs:
            return look()

        async def do() -> T:
            return look()

        try:
            return self._do(do, progress)
        except ClosedError:
            still_runs: bool = self._host.runs
            if still_runs:
                raise
            return look()


# -- listener --------------------------------------------------------------------------------------


class AssignedListener(Protocol):
    """Called when partitions are assigned."""

    def on_assigned(self, consumer: "Consumer[Any, Any]", change: OwnershipChange, /) -> None:
        """Called before any record of `change.added` is handed out, and after each round, also when
        nothing was added."""


class RevokedListener(Protocol):
    """Called when partitions are revoked."""

    def on_revoked(self, consumer: "Consumer[Any, Any]", change: OwnershipChange, /) -> None:
        """Called while `change.removed` is still owned: commit here."""


class LostListener(Protocol):
    """Called when partitions are lost."""

    def on_lost(self, consumer: "Consumer[Any, Any]", change: OwnershipChange, /) -> None:
        """Called when `change.removed` may have another owner already: too late to commit."""


Listener: TypeAlias = AssignedListener | RevokedListener | LostListener
"""Any object with one or more of the three callbacks; none of them `async`."""

_NAMES: Final = ("on_assigned", "on_revoked", "on_lost")


def on_loop(
    listener: Listener | None,
    consumer: "ReferenceType[Consumer[Any, Any]]",
    threads: WaitingThreads,
) -> NativeListener | None:
    """Return the listener as the event loop calls it.

    Args:
        listener: the application's.
        consumer: what callbacks are given; not kept alive.
        threads: has threads run them.

    Raises:
        ArgumentError: it has none of the callbacks, or one of them is `async`.
    """
    if listener is None:
        return None
    sound(cast("NativeListener", listener))
    found = {name: getattr(listener, name, None) for name in _NAMES}
    for name, callback in found.items():
        if inspect.iscoroutinefunction(callback):
            expected = f"a plain {name}: it runs in the thread that reads"
            raise ArgumentError("listener", listener, expected)
    calls = {
        name: _carried(callback, consumer, threads)
        for name, callback in found.items()
        if callable(callback)
    }
    return cast("NativeListener", SimpleNamespace(**calls))


def _carried(
    callback: Callable[..., object],
    consumer: "ReferenceType[Consumer[Any, Any]]",
    threads: WaitingThreads,
) -> Callable[[object, OwnershipChange], Awaitable[None]]:
    async def call(_: object, change: OwnershipChange) -> None:
        held = consumer()
        if held is not None:
            await threads.carry_out(partial(callback, held, change), is_change=True)

    return call


# -- group calls -----------------------------------------------------------------------------------


class GroupCalls(Life[K, V]):
    """Calls about the subscription, the assignment and the membership."""

    # -- what to read ----------------------------------------------------------------------

    def subscribe(
        self,
        *topics: str,
        pattern: str | None = None,
        exclude: str | None = None,
        listener: Listener | None = None,
    ) -> None:
        """Read topics as a member of the group; replaces what was subscribed before.

        Args:
            topics: names; they need not exist yet.
            pattern: regular expression instead, matched from the start of a topic's name.
            exclude: names the pattern must not take.
            listener: from now on; None keeps the present one.

        Raises:
            ConfigError: there is no group_id.
            ArgumentError: the listener has no callback, or an `async` one.
            IllegalStateError: partitions are assigned by hand; `unsubscribe` first.
        """
        # Only `Consumer` derives from this class: a listener gets the whole consumer.
        whole: weakref.ReferenceType[Any] = weakref.ref(self)
        carried = on_loop(listener, whole, self._threads)
        ask = partial(
            self._native.subscribe, *topics, pattern=pattern, exclude=exclude, listener=carried
        )
        self._view(ask, self._ahead.withdraw())

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, at once and without a group; replaces earlier ones.

        With a group_id its offsets are read and committed, which works only while no
        consumer subscribes under that id. No listener is called.

        Raises:
            IllegalStateError: topics are subscribed; `unsubscribe` first.
        """
        self._view(partial(self._native.assign, partitions), self._ahead.withdraw())

    def assign_ranges(self, ranges: Mapping[TopicPartition, tuple[int, int]]) -> None:
        """Read exactly these offsets: `assign`, and `seek` with `until`, in one call.

        Args:
            ranges: partition -> its first offset, and the one behind its last.

        Raises:
            IllegalStateError: topics are subscribed, or the consumer was not entered.
            ArgumentError: an offset is negative or no whole number.
        """
        self._view(partial(self._native.assign_ranges, ranges), self._ahead.withdraw())

    def follow(self, *topics: str, pattern: str | None = None, exclude: str | None = None) -> None:
        """Read every partition of topics without a group, also those that are added later.

        Replaces what was followed before. No listener is called, and nothing is committed.

        Args:
            topics: names; they need not exist yet.
            pattern: regular expression instead, matched from the start of a topic's name.
            exclude: names the pattern must not take.

        Raises:
            ConfigError: there is a group_id; members of a group `subscribe`.
            IllegalStateError: partitions are assigned by hand; `unsubscribe` first.
        """
        ask = partial(self._native.follow, *topics, pattern=pattern, exclude=exclude)
        self._view(ask, self._ahead.withdraw())

    def unsubscribe(self) -> None:
        """Give every partition up; the listener is called by the next read, or when closing."""
        self._view(self._native.unsubscribe, self._ahead.withdraw())

    # -- views -----------------------------------------------------------------------------

    @property
    def config(self) -> ConsumerConfig:
        """All options, those that were given and the defaults."""
        return self._native.config

    def assignment(self) -> frozenset[TopicPartition]:
        """Return every partition owned now."""
        return self._view(self._native.assignment)

    def owns(self, tp: TopicPartition) -> bool:
        """Tell whether a partition is owned now."""
        return tp in self.assignment()

    def subscription(self) -> Subscription | None:
        """Return the subscription, None without one."""
        return self._native.subscription()

    def subscribed_topics(self) -> frozenset[str]:
        """Return the topics that were asked for, by name, by partition, or by a pattern."""
        return self._view(self._native.subscribed_topics)

    def subscribed_partitions(self, *, timeout: float | None = None) -> frozenset[TopicPartition]:
        """Return the partitions of `subscribed_topics`, waiting until each of them has some.

        In a group they are owned by its members. What is followed is owned when this returns.

        Args:
            timeout: seconds, None for `request_timeout`.

        Raises:
            UnauthorizedError, BrokerError: the brokers refuse a topic.
            TimeoutError: a topic was not there in time, or not all topics were heard of.
        """
        return self._do(partial(self._native.subscribed_partitions, timeout=timeout))

    @property
    def membership(self) -> Membership:
        """An immutable snapshot."""
        return self._native.membership

    def vitals(self) -> Vitals:
        """Return how it is doing, in numbers; asks nobody. See `kgroup.observe.health`."""
        return self._view(self._native.vitals)

    def membership_changes(self) -> MembershipIterator:
        """Iterate over memberships, beginning with the present one."""
        return MembershipIterator(self._native.membership_changes(), self._host)

    def group_metadata(self) -> Generation | None:
        """Return the identity that a transaction's offset commit has to carry (KIP-447).

        None while this consumer is no member: nothing may be committed for it then.

        Raises:
            ConfigError: there is no group_id.
        """
        return self._native.group_metadata()

    @property
    def rebalances(self) -> int:
        """How many rounds this member has completed since the consumer was entered."""
        return self._native.rebalances

    @property
    def closed(self) -> bool:
        """Whether it is closing, or closed."""
        return self._native.closed

    @property
    def failure(self) -> Exception | None:
        """The fatal error that ended the consumer's work, None while there is none."""
        return self._native.failure

    def enforce_rebalance(self, reason: str = "the application asked for it") -> None:
        """Ask the group for a new round (KIP-568).

        Raises:
            IllegalStateError: partitions are assigned by hand.
        """
        self._view(partial(self._native.enforce_rebalance, reason))


# -- log calls -------------------------------------------------------------------------------------


class LogCalls(Life[K, V]):
    """What the logs hold. Most ask brokers, of any partition, owned or not."""

    def beginning_offsets(
        self, *tps: TopicPartition, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the first offset each log still holds.

        Args:
            tps: any partitions; none for all that are owned.
            timeout: seconds, None for `request_timeout`.

        Raises:
            BrokerError: a leader refused, or there is no such partition.
            TimeoutError: a partition had no answer in time.
        """
        return self._do(partial(self._native.beginning_offsets, *tps, timeout=timeout))

    def end_offsets(
        self, *tps: TopicPartition, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the offset the next record of each log will get; as `beginning_offsets`."""
        return self._do(partial(self._native.end_offsets, *tps, timeout=timeout))

    def offsets_for_times(
        self, times: Times, *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return the first record at or after a time (KIP-79), None where there is none.

        Args:
            times: any partition -> milliseconds since the epoch, or a datetime with a zone.
            timeout: seconds, None for `request_timeout`.

        Raises:
            ArgumentError: a time is negative or has no zone; nothing was asked.
            BrokerError, TimeoutError: as `beginning_offsets`.
        """
        return self._do(partial(self._native.offsets_for_times, times, timeout=timeout))

    def topics(self, *, internal: bool = True, timeout: float | None = None) -> frozenset[str]:
        """Return the name of every topic of the cluster that may be seen.

        Args:
            internal: also those that belong to the brokers.
            timeout: seconds, None for `request_timeout`.

        Raises:
            NoBrokerError, BrokerError, TimeoutError: no broker answered the question.
        """
        return self._do(partial(self._native.topics, internal=internal, timeout=timeout))

    def find_partitions(
        self, *topics: str, timeout: float | None = None
    ) -> dict[str, frozenset[int]]:
        """Return the partition numbers of topics, waiting until each of them exists.

        Args:
            topics: names; they need not be read.
            timeout: seconds for all of them, None for `request_timeout`.

        Raises:
            UnauthorizedError, BrokerError: the brokers refuse a topic.
            TimeoutError: a topic was not there in time.
        """
        return self._do(partial(self._native.find_partitions, *topics, timeout=timeout))

    def partitions_for_topic(self, topic: str) -> frozenset[int] | None:
        """Return the partition numbers of a topic, None while not known; sends no request."""
        return self._view(partial(self._native.partitions_for_topic, topic))

    def api_versions(self, *, timeout: float | None = None) -> dict[int, tuple[int, int]]:
        """Return API key -> lowest and highest version of it that a broker takes (KIP-35).

        Args:
            timeout: seconds, None for `request_timeout`.

        Raises:
            NoBrokerError, BrokerError, TimeoutError: no broker answered the question.
        """
        return self._do(partial(self._native.api_versions, timeout=timeout))

    # -- what the last fetch said; sends no request ----------------------------------------

    def highwater(self, tp: TopicPartition) -> int | None:
        """Return the end of a log as its last fetch said, None before the first.

        Raises:
            NotOwnedError: the partition is not owned.
        """
        return self._view(partial(self._native.highwater, tp))

    def last_stable_offset(self, tp: TopicPartition) -> int | None:
        """Return the end of what read_committed may read, as the last fetch said (KIP-98).

        Raises:
            NotOwnedError: the partition is not owned.
        """
        return self._view(partial(self._native.last_stable_offset, tp))

    def last_fetch_at(self, tp: TopicPartition) -> float | None:
        """Return when `highwater` and `last_stable_offset` were heard, None before the first fetch.

        Seconds since the epoch, by the clock on the wall.

        Raises:
            NotOwnedError: the partition is not owned.
        """
        return self._view(partial(self._native.last_fetch_at, tp))

    def lag(self, tp: TopicPartition) -> int | None:
        """Return how many offsets lie between what was handed out and the end that can be read.

        Raises:
            NotOwnedError: the partition is not owned.
        """
        found = self._view(partial(self._native.lag, tp))
        return None if found is None else found + self._ahead.left(tp)


# -- offset calls ----------------------------------------------------------------------------------


SyncCommittable: TypeAlias = Offsets | Record[Any, Any] | Batch[Any, Any] | None
"""What can be committed; see `kgroup.Consumer.commit`."""

SyncCallback: TypeAlias = Callable[[CommitOutcome], None]
"""Progress what became of a commit, in a thread that is inside a call of the consumer."""


class OffsetCalls(Life[K, V]):
    """Calls about positions and commits. All may be called inside listeners."""

    def commit(
        self, what: SyncCommittable = None, *, timeout: float | None = None
    ) -> CommitOutcome:
        """Commit, and wait for the coordinator's answer.

        Args:
            what: a mapping of partitions to the next offset to read (alone, or with metadata of at
                most 4,096 bytes); a record or a batch, which means it and all records before it;
                or None for everything handed out so far. What is committed counts as done.
            timeout: seconds after which the wait is over, the commit goes on; None to wait for
                what becomes of it, which has deadlines of its own.

        Raises:
            TimeoutError: there was no answer in time.
            CommitFailedError: its `outcome` has every partition, the committed ones too.
            NotOwnedError: a partition is not owned, or a record or batch is from an earlier period
                of ownership; nothing was sent.
            ArgumentError, IllegalStateError: nothing was sent.
        """
        places = self._ahead.places()

        async def commit() -> CommitOutcome:
            with anyio.fail_after(timeout):
                return await self._native.commit(await self._meant(what, places))

        return self._do(commit)

    def commit_soon(
        self, what: SyncCommittable = None, callback: SyncCallback | None = None
    ) -> Future[CommitOutcome]:
        """Commit without waiting for the answer.

        Commits of a partition are carried out in the order of calls, `commit` among them. A commit
        that fails is logged when there is no callback.

        Args:
            what: as for `commit`.
            callback: called once with the outcome, good or bad, in the order of calls, in a thread
                that is inside a call of this consumer, at the latest when it closes. What it
                raises is raised once, by the next read.

        Returns:
            The outcome, good or bad, once the coordinator has answered; without any thread's help.

        Raises:
            NotOwnedError, ArgumentError, IllegalStateError: as `commit`; nothing is sent or called.
        """
        if callback is not None and not callable(callback):
            raise ArgumentError("callback", callback, "a function of a CommitOutcome, or None")
        places = self._ahead.places()
        answered: Future[CommitOutcome] = Future()
        answered.set_running_or_notify_cancel()
        carried = self._carried(answered, callback)

        async def commit() -> None:
            self._native.commit_soon(await self._meant(what, places), carried)

        self._do(commit)
        return answered

    def commit_done(self) -> CommitOutcome:
        """Commit what is done and not committed yet, and wait for the coordinator's answer.

        Raises:
            CommitFailedError: its `outcome` has every partition, the committed ones too.
            ConfigError: there is no group_id.
        """
        return self._do(self._native.commit_done, self._ahead.progress())

    def committed(
        self, *tps: TopicPartition, timeout: float | None = None
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Return what the group has committed, None where nothing.

        Args:
            tps: any partitions, owned or not; none for all that are owned.
            timeout: seconds, None for `request_timeout`.

        Raises:
            TimeoutError: no coordinator answered in time.
            BrokerError: the coordinator refused.
            ConfigError: there is no group_id.
            ArgumentError: one of `tps` is no partition; nothing was asked.
        """
        return self._do(partial(self._native.committed, *tps, timeout=timeout))

    def position(self, tp: TopicPartition, *, timeout: float | None = None) -> int:
        """Return the offset that is handed out next, waiting until it is known.

        Raises:
            NotOwnedError: the partition is not owned.
            KGroupError: why there is no position, such as `NoOffsetError`.
            TimeoutError: it was not found within `timeout` (None for `request_timeout`).
        """
        found = self._do(partial(self._native.position, tp, timeout=timeout))
        return self._ahead.places().get(tp, found)

    def seek(
        self, tp: TopicPartition, offset: int | OffsetAndMetadata, *, until: int | None = None
    ) -> None:
        """Go on at an offset, at once; what was fetched ahead is dropped.

        Args:
            tp: a partition that is owned.
            offset: the next to hand out; with a leader epoch it is checked against the log
                before anything is read (KIP-320).
            until: offset at which reading ends, None for never. Nothing is fetched from there on.
                Once all partitions are at their ends, loops end, and `getmany` returns at once.

        Raises:
            NotOwnedError: the partition is not owned.
            ArgumentError: an offset is negative or no whole number.
        """
        self._view(partial(self._native.seek, tp, offset, until=until), self._ahead.withdraw((tp,)))

    def seek_to_beginning(
        self, *tps: TopicPartition, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Go on at the first offset each log still holds; return those offsets.

        Args:
            tps: partitions that are owned; none for all.
            timeout: seconds, None for `request_timeout`.

        Raises:
            NotOwnedError: a partition is not owned.
            BrokerError, TimeoutError: a log could not be asked; no position has moved.
        """
        seek = partial(self._native.seek_to_beginning, *tps, timeout=timeout)
        return self._do(seek, self._ahead.withdraw(tps))

    def seek_to_end(
        self, *tps: TopicPartition, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Go on behind the last record each log holds now; as `seek_to_beginning`."""
        seek = partial(self._native.seek_to_end, *tps, timeout=timeout)
        return self._do(seek, self._ahead.withdraw(tps))

    def seek_to_committed(
        self, *tps: TopicPartition, timeout: float | None = None
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Go on at what the group has committed; return it, None where nothing is.

        A partition without a committed offset stays where it is.

        Args:
            tps: partitions that are owned; none for all.
            timeout: seconds, None for `request_timeout`.

        Raises:
            ConfigError: there is no group_id.
            NotOwnedError: a partition is not owned.
            BrokerError, TimeoutError: the coordinator could not be asked; nothing has moved.
        """
        seek = partial(self._native.seek_to_committed, *tps, timeout=timeout)
        return self._do(seek, self._ahead.withdraw(tps))

    def pause(self, *tps: TopicPartition) -> None:
        """Hand out nothing of some partitions until `resume`, or until they are given up."""
        self._view(partial(self._native.pause, *tps), self._ahead.withdraw(tps))

    def resume(self, *tps: TopicPartition) -> None:
        """Hand out records of some partitions again."""
        self._view(partial(self._native.resume, *tps))

    def paused(self) -> frozenset[TopicPartition]:
        """Return the owned partitions that are paused."""
        return self._view(self._native.paused)

    def held_back(self) -> frozenset[TopicPartition]:
        """Return the owned partitions that wait for a commit.

        They have reached `max_uncommitted`; without that option there are none. A partition may
        be paused as well.
        """
        return self._view(self._native.held_back)

    async def _meant(self, what: SyncCommittable, places: dict[TopicPartition, int]) -> Committable:
        """Return what a commit is about, in native terms; see `places` of `ReadAhead`."""
        if isinstance(what, Batch):
            return what.native
        if what is not None or not places:
            return what
        offsets: dict[TopicPartition, int | OffsetAndMetadata] = {}
        for tp in self._native.assignment():
            with suppress(KGroupError, TimeoutError):  # nothing is known of it, nor handed out
                asked = self._native.position
                offsets[tp] = places[tp] if tp in places else await asked(tp, timeout=0)
        return offsets or None

    def _carried(
        self, answered: Future[CommitOutcome], callback: SyncCallback | None
    ) -> CommitCallback:
        threads = self._threads

        async def report(outcome: CommitOutcome) -> None:
            answered.set_result(outcome)
            if callback is not None:
                await threads.carry_out(partial(callback, outcome), is_change=False)
            else:
                log_failures("commit_soon", outcome)

        return report


# -- reading calls ---------------------------------------------------------------------------------


class ReadingCalls(Life[K, V]):
    """Four ways to get records."""

    def batches(self) -> BatchIterator[K, V]:
        """Iterate over batches until closed; each is done when the next is asked for."""
        native = self._view(self._native.batches)
        return BatchIterator(native, self._host, lambda: partial(settle, self._ahead.withdraw()))

    def arrow_batches(self) -> Iterator["pa.RecordBatch"]:
        """Iterate over Arrow RecordBatches until closed; see `kgroup.Consumer.arrow_batches`.

        The first one raises `MissingExtraError` where pyarrow is not installed.
        """
        return (batch.to_arrow() for batch in self.batches())

    def __iter__(self) -> RecordIterator[K, V]:
        """Iterate over single records until closed; each is done when the next is asked for."""
        return self.records()

    def records(self, *, timeout: float | None = None) -> RecordIterator[K, V]:
        """Iterate over single records, also only while they come.

        Args:
            timeout: seconds without a record after which the loop ends; one may go on with the
                same iterator later. None to end only when closed.
        """
        limit = math.inf if timeout is None else timeout
        self._host.check_process()
        fill = partial(self._fill, limit)
        return RecordIterator(self._ahead, fill, self._report, self._host.check_process)

    def getone(self, *tps: TopicPartition, timeout: float | None = None) -> Record[K, V]:
        """Return the next record. It is done when any later read includes its partition.

        Args:
            tps: partitions to read from, none for all.
            timeout: seconds, None to wait for ever.

        Raises:
            TimeoutError: nothing came in time.
            WakeupError: `wakeup()` was called.
            DeserializationError: a deserialiser refused the record; it stays in front.
            ClosedError, NotOwnedError, KGroupError: see `getmany`.
        """
        began, left = time.monotonic(), math.inf if timeout is None else timeout
        limit = left
        while found := self._read(tps, 1, max(left, 0.0)):
            for batch in found.values():
                for record in batch:
                    return record
            left = limit - (time.monotonic() - began)  # the record was skipped
        if time.monotonic() - began < limit:
            self._view(self._native.resume)  # it raises `ClosedError` where that is why
            raise TimeoutError("no record is left in front of the offsets where reading ends")
        raise TimeoutError(f"no record within {timeout:g} s")

    def getmany(
        self, *tps: TopicPartition, max_records: int | None = None, timeout: float = 0.0
    ) -> dict[TopicPartition, Batch[K, V]]:
        """Return what is there, waiting only while there is nothing.

        Args:
            tps: partitions to read from, none for all.
            max_records: most records altogether, None for `max_poll_records`.
            timeout: seconds to wait for a first record.

        Returns:
            At most one batch of each partition, from at most one fetch; empty when nothing came.

        Raises:
            WakeupError: `wakeup()` was called.
            ClosedError: the consumer was closed before the call.
            NotOwnedError: a partition named is not owned.
            IllegalStateError: the present thread is inside a listener.
            KGroupError: a fatal error; what a listener raised, once; the error of a partition,
                each time it is its turn, until a seek or a success ends it.
        """
        found = self._read(tps, max_records, timeout)
        return {tp: Batch(batch, self._host) for tp, batch in found.items()}

    def note_poll(self) -> None:
        """Say that the application is alive and at work on what it was handed (KIP-62)."""
        self._view(self._native.note_poll)

    @property
    def skipped(self) -> int:
        """How many records were left out because a deserialiser refused them (policy "skip")."""
        return self._native.skipped

    @property
    def passed_over(self) -> int:
        """The former name of `skipped`."""
        return self.skipped

    def _read(
        self, tps: tuple[TopicPartition, ...], max_records: int | None, timeout: float
    ) -> dict[TopicPartition, NativeBatch[K, V]]:
        progress = self._ahead.withdraw(tps)

        async def read() -> dict[TopicPartition, NativeBatch[K, V]]:
            settle(progress)
            return await self._native.getmany(*tps, max_records=max_records, timeout=timeout)

        return self._host.read(read, _return)

    def _fill(self, timeout: float) -> bool:
        try:
            found = self._read((), None, timeout)
        except ClosedError:
            return False
        self._ahead.take(found.values())
        return bool(found)

    def _report(self, progress: list[Progress]) -> None:
        """Report to the event loop how far a loop over records is; ask whether to give back.

        1. A loop has read 500 records ahead and works on the first; 2. the group asks for the
        partition; 3. the records that the loop has not seen go back, so that the group need not
        wait for them.
        """
        ahead, native = self._ahead, self._native

        def report() -> None:
            settle(progress)
            native.note_poll()
            asked = native.membership.draining
            if any(each.batch.partition in asked for each in progress):
                ahead.recall = True

        self._host.soon(report)


def _return(found: dict[TopicPartition, NativeBatch[K, V]]) -> None:
    batches: Iterable[NativeBatch[K, V]] = found.values()
    for batch in batches:
        batch.give_back(batch.first)


# -- api -------------------------------------------------------------------------------------------


_Bytes = bytes | None


class Consumer(ReadingCalls[K, V], OffsetCalls[K, V], LogCalls[K, V], GroupCalls[K, V]):
    """Reads topics, alone or in a group, for code that has no event loop.

        with Consumer("orders", group_id="billing") as consumer:
            for record in consumer:
                ...

    A thread of its own keeps the membership alive, fetches and commits. Any thread may call
    anything, several at once. Reading from several threads is sound when each reads other
    partitions (`getone(tp)`), or each has its own `batches()`: else the read of one thread says
    that what another one holds is done. `wakeup` and `close_soon` may be called in signal handlers.

    The listener, and callbacks of commits, run in a thread of yours that is inside a call: the
    listener in one that reads or closes. While no thread reads, the listener is not called. They
    may make every call but reads; `close` inside only asks for it.

    Ctrl-C ends a blocked read, and what it would have returned is handed out next.

    Args:
        topics: topics to subscribe to; none to call `subscribe`, `follow` or `assign` later.
        config: options, None for the defaults.
        key: makes keys out of bytes (None for null).
        value: makes values out of bytes.
        listener: called when partitions come and go; its callbacks are plain, not `async`.
        options: set single options on top of `config`; see `ConsumerConfig`.

    Raises:
        ConfigError: an option is not known, or its value cannot be used; `done_at` among them,
            unless it is "next_read".
        ArgumentError: a topic, a deserialiser or the listener is not valid.
    """

    @overload
    def __init__(
        self: "Consumer[_Bytes, _Bytes]",
        *topics: str,
        config: ConsumerConfig | None = None,
        listener: Listener | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: "Consumer[K, _Bytes]",
        *topics: str,
        config: ConsumerConfig | None = None,
        key: Deserializer[K],
        listener: Listener | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: "Consumer[_Bytes, V]",
        *topics: str,
        config: ConsumerConfig | None = None,
        value: Deserializer[V],
        listener: Listener | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> None: ...
    @overload
    def __init__(
        self,
        *topics: str,
        config: ConsumerConfig | None = None,
        key: Deserializer[K],
        value: Deserializer[V],
        listener: Listener | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> None: ...
    def __init__(
        self,
        *topics: str,
        config: ConsumerConfig | None = None,
        key: Deserializer[K] = raw,  # type: ignore[assignment]  # then K is bytes | None
        value: Deserializer[V] = raw,  # type: ignore[assignment]  # then V is bytes | None
        listener: Listener | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> None:
        settings, threads = ConsumerConfig.of(options, config), WaitingThreads()
        if settings.done_at is not DoneAt.NEXT_READ:
            expected = "'next_read': a loop over records fetches ahead; say batch.done() instead"
            raise ConfigError("done_at", "delivery", expected)
        carried = on_loop(listener, weakref.ref(self), threads)
        native = NativeConsumer(*topics, config=settings, key=key, value=value, listener=carried)
        super().__init__(native, threads, f"kgroup {settings.client_id}")
