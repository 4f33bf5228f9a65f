"""The consumer that applications use: `async with Consumer("orders", ...) as consumer`.

Decides: which calls there are, in which state each is allowed, and how long it may take.
Never: decides anything about the group, positions or buffers; the rooms below do.

In order: life (start, stop, close), subscribing, the group, reading, offsets and commits, logs, the
stream of memberships, and the consumer that has them all.
"""

import logging
import re
import sys
import warnings
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    Unpack,
    cast,
    overload,
)

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from kgroup.backends.choice import Coordination, configured
from kgroup.backends.coordinator_search import refusing
from kgroup.backends.topics import SubscribedTopics, to_watch
from kgroup.config import ConsumerConfig, ConsumerOptions
from kgroup.consumer.assembly import Parts, assemble
from kgroup.consumer.buffer.gate import Gate
from kgroup.consumer.commit.committing import CommitCallback, Committable
from kgroup.consumer.fetch.flow import sound_offset
from kgroup.consumer.fetch.logs import Times, check_partition
from kgroup.consumer.hosting import Host, begin
from kgroup.consumer.listener import CALLBACKS
from kgroup.consumer.reads.batch import Batch
from kgroup.consumer.reads.iterators import ArrowIterator, BatchIterator, RecordIterator
from kgroup.consumer.reads.leaving import count_handled
from kgroup.consumer.reads.polling import Polling
from kgroup.consumer.reads.record import Deserializer, Formats, Record, raw
from kgroup.consumer.root import Root
from kgroup.consumer.user_code import Closing
from kgroup.consumer.vitals import vitals_of
from kgroup.errors import (
    ArgumentError,
    CommitFailedError,
    ConfigError,
    IllegalStateError,
    UnsupportedError,
)
from kgroup.net.log_offsets import OffsetSpec
from kgroup.observe.vitals import Vitals
from kgroup.types import (
    Backend,
    CommitOutcome,
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
    from weakref import ReferenceType

# -- listeners -------------------------------------------------------------------------------------


class AssignedListener(Protocol):
    """Called when partitions are assigned."""

    def on_assigned(
        self, consumer: "Consumer[Any, Any]", change: OwnershipChange, /
    ) -> Awaitable[None] | None:
        """Called before any record of `change.added` is handed out, and after each round, also when
        nothing was added."""


class RevokedListener(Protocol):
    """Called when partitions are revoked."""

    def on_revoked(
        self, consumer: "Consumer[Any, Any]", change: OwnershipChange, /
    ) -> Awaitable[None] | None:
        """Called while `change.removed` is still owned: commit here."""


class LostListener(Protocol):
    """Called when partitions are lost."""

    def on_lost(
        self, consumer: "Consumer[Any, Any]", change: OwnershipChange, /
    ) -> Awaitable[None] | None:
        """Called when `change.removed` may have another owner already: too late to commit."""


Listener: TypeAlias = AssignedListener | RevokedListener | LostListener
"""Any object with one or more of the three callbacks."""


def sound(listener: Listener | None) -> Listener | None:
    """Return a listener that can be called back.

    Raises:
        ArgumentError: it has none of the callbacks, or it is a class.
    """
    callbacks = [getattr(listener, name, None) for name in CALLBACKS.values()]
    if listener is None or (any(map(callable, callbacks)) and not isinstance(listener, type)):
        return listener
    expected = f"an object with {', '.join(CALLBACKS.values())}, or some of them"
    raise ArgumentError("listener", listener, expected)


# -- subscribing -----------------------------------------------------------------------------------


def to_topics(topics: tuple[str, ...], pattern: str | None, exclude: str | None) -> Subscription:
    """Return a subscription to topics or to a pattern.

    Raises:
        ArgumentError: neither or both are given; a name is not a string; a pattern is not one.
    """
    if bool(topics) == (pattern is not None):
        raise ArgumentError("topics", topics, "names of topics, or a pattern; one of the two")
    if exclude is not None and pattern is None:
        raise ArgumentError("exclude", exclude, "a pattern beside it")
    for topic in topics:
        _check_name(topic)
    for name, expression in (("pattern", pattern), ("exclude", exclude)):
        _check(name, expression)
    if pattern is not None:
        return Subscription(pattern=pattern, exclude=exclude)
    return Subscription(topics=frozenset(topics))


def by_hand(partitions: Iterable[TopicPartition]) -> Subscription:
    """Return a subscription to exact partitions.

    Raises:
        ArgumentError: one of them is not a partition.
    """
    if isinstance(partitions, TopicPartition):
        raise ArgumentError("partitions", partitions, "several TopicPartition in a list or set")
    return Subscription(partitions=frozenset(_partition(each) for each in partitions))


def _check_name(topic: object) -> None:
    if not isinstance(topic, str) or not topic:
        raise ArgumentError("topics", topic, "names that are strings and not empty")


def _partition(given: object) -> TopicPartition:
    match given:
        case (str(topic), int(number)) if topic and number >= 0:
            return TopicPartition(topic, number)
        case _:
            raise ArgumentError("partitions", given, "a TopicPartition(topic, partition)")


def _check(name: str, expression: str | None) -> None:
    if expression is None:
        return
    try:
        re.compile(expression)
    except (re.error, TypeError) as error:
        raise ArgumentError(name, expression, f"a regular expression ({error})") from error


class Subscribing:
    """Passes a subscription to the backend that serves it.

    Args:
        parts: of the consumer.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def ask(self, wanted: Subscription) -> None:
        """Ask for topics, a pattern, or partitions by hand."""
        parts = self._parts
        parts.gate.check_alive()
        group = parts.group
        if group is None and wanted.partitions is None:
            parts.reading.next_read(None)
            parts.following.ask(wanted)
        elif wanted.partitions is not None and not (group and group.takes_partitions):
            parts.gate.backend = parts.standalone
            # As at a read: what was read before counts as done.
            parts.reading.next_read(None)
            self._settle(wanted.partitions)
        else:
            assert group is not None
            parts.gate.backend = group
            group.subscribe(wanted)
        parts.gate.topics.ask(wanted)

    def drop(self) -> None:
        """Give up what was asked for."""
        self._parts.gate.topics.ask(None)
        self._parts.reading.let_go()
        if self._parts.gate.backend is self._parts.group:
            self._parts.gate.backend.subscribe(None)
        else:
            self._parts.following.ask(None)
            self._settle(frozenset())

    def _settle(self, wanted: frozenset[TopicPartition]) -> None:
        for change in self._parts.standalone.assign(wanted):
            self._parts.ownership.settle_now(change)


# -- life ------------------------------------------------------------------------------------------


log = logging.getLogger(__name__)

_QUIET_END = 1.0
"""Seconds in which a consumer that nobody refers to any more leaves its group."""


class Life:
    """The base of every group of calls of a consumer.

    Args:
        config: all options.
        subscription: what to ask for when entered, None for nothing.
        listener: called when partitions come and go.
    """

    _host: Host | None = None

    def __init__(
        self,
        config: ConsumerConfig,
        subscription: Subscription | None,
        listener: Listener | None,
    ) -> None:
        self._config = config
        self._listener = sound(listener)
        self._subscription = subscription
        self._coordination: Coordination = configured
        self._parts: Parts | None = None
        self._root: Root | None = None
        self._tasks: TaskGroup | None = None
        self._closing = Closing()

    def __del__(self) -> None:
        if self._host is not None and self._host.runs and not self._closing.asked:
            text = f"Unclosed consumer {self!r}"
            warnings.warn(text, ResourceWarning, source=self, stacklevel=2)
            self.close_soon(timeout=_QUIET_END)

    def __repr__(self) -> str:
        """Return its ids and its state; never an option that is secret."""
        config, name = self._config, type(self).__name__
        ids = f"{name} group_id={config.group_id!r} client_id={config.client_id!r}"
        if self._parts is None or self._root is None:
            return f"<{ids} state=not entered>"
        membership = self._parts.gate.backend.membership
        state = self._root.end or membership.state.value
        return f"<{ids} state={state} partitions={len(membership.claims)}>"

    async def __aenter__(self) -> Self:
        """Start everything and wait for a broker, at most `bootstrap_timeout`.

        Raises:
            NoBrokerError: none answered; it lists every address and why.
            IllegalStateError: it was entered before.
        """
        self._tasks = await self._assemble()()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close; an exception of the body goes on as it is, not wrapped in a group.

        Without one, what this task has read is done, as after `close`.
        """
        await self._end(5.0, Leave.DEFAULT, commit=True, well=exc_type is None)
        assert self._tasks is not None
        await self._tasks.__aexit__(None, None, None)

    def _assemble(self) -> Callable[[], Awaitable[TaskGroup]]:
        """Make all parts, and return what starts them; it does not refer to this object."""
        if self._parts is not None:
            raise IllegalStateError("a consumer is entered once; make a new one")
        for doubt in self._config.doubts():
            log.warning("%s", doubt)
        # Only `Consumer` derives from this class: a listener gets the whole consumer.
        whole = cast("ReferenceType[Consumer[Any, Any]]", weakref.ref(self))
        parts = assemble(self._config, self._coordination, whole)
        parts.calls.listener = self._listener
        root = Root(self._config, parts)
        self._closing.enter()
        self._parts, self._root = parts, root
        wanted = self._subscription
        ask = None if wanted is None else partial(Subscribing(parts).ask, wanted)
        return partial(begin, root, parts, ask, patience=self._config.patience)

    async def start(self) -> None:
        """Start everything without `async with`; `stop` ends it.

        The two may be awaited in different tasks. A cancelled start leaves nothing running.

        Raises:
            NoBrokerError: none answered; it lists every address and why.
            IllegalStateError: it was started, or entered, before.
            ClosedError: it was stopped before a broker answered.
        """
        enter = self._assemble()
        assert self._root is not None
        self._host = Host(self._root, enter)
        await self._host.start()

    async def stop(
        self, *, timeout: float = 5.0, leave: Leave = Leave.DEFAULT, commit: bool = True
    ) -> None:
        """Close as `close` does, from any task; then raise what has ended the consumer.

        If you cancel it, the consumer closes all the same. Does nothing before `start`.

        Args:
            timeout: seconds after which closing is over, whatever brokers and listeners do.
            leave: whether the member leaves the group, as for `close`.
            commit: whether what is done is committed, as for `close`.

        Raises:
            Exception: the unforeseen one that ended the consumer; `async with` raises it too.
        """
        await self.close(timeout=timeout, leave=leave, commit=commit)
        if self._host is not None and self._parts is not None and not self._parts.calls.inside:
            await self._host.stop()

    async def close(
        self, *, timeout: float = 5.0, leave: Leave = Leave.DEFAULT, commit: bool = True
    ) -> None:
        """Stop handing out, let others finish their batches, commit what is done, leave.

        What this task has read is done, up to the record that a loop has in hand; not while an
        exception is on its way through the caller (`finally`), or is handled there.
        Inside a listener it only asks for all that. A second call waits for the first.

        Args:
            timeout: seconds after which it returns whatever brokers and listeners do.
            leave: whether the member leaves the group; by default a static one stays (KIP-345).
            commit: whether what is done is committed, where `enable_auto_commit` is on. Without it
                the group goes on where the last commit was; a commit on its way may still arrive.
        """
        await self._end(timeout, leave, commit=commit, well=sys.exception() is None)

    async def _end(self, timeout: float, leave: Leave, *, commit: bool, well: bool) -> None:
        if self._root is None or self._parts is None:
            return
        if well:
            count_handled(self._parts.delivery)
        task = anyio.get_current_task().id
        self._root.close_soon(timeout, leave, commit=commit, task=task)
        if not self._parts.calls.inside:
            await self._root.closed()

    def close_soon(
        self, *, timeout: float = 5.0, leave: Leave = Leave.DEFAULT, commit: bool = True
    ) -> None:
        """Have the consumer closed, without waiting: from any thread, or from a signal handler.

        Readers end as they do after `close`, so a loop over records or batches is left, and the
        `async with` around it waits for the rest. Does nothing before the consumer is entered.

        Args:
            timeout: seconds after which it is over, counted from when the event loop is notified.
            leave: whether the member leaves the group.
            commit: whether what is done is committed, as for `close`.
        """
        if self._root is not None:
            begin = partial(self._root.close_soon, timeout, leave, commit=commit)
            self._closing.soon(begin)

    def _entered(self, *, running: bool = False) -> Parts:
        if self._parts is None or self._root is None:
            raise IllegalStateError("the consumer is not entered: use `async with` or `start`")
        if running:
            self._parts.gate.check_failure()
            self._root.check_running()
        return self._parts

    async def _running(self) -> Parts:
        """Return what an awaited call works with, as `_entered(running=True)`.

        1. A call is refused with an error that lasts; 2. the application takes no notice of it, and
        calls again; 3. if neither awaited anything, no other task would ever run, and nothing
        could cancel this one. So a call that is refused lets others run first.
        """
        try:
            return self._entered(running=True)
        except Exception:
            await anyio.lowlevel.checkpoint()
            raise


# -- membership stream -----------------------------------------------------------------------------


_LOOK_AGAIN = 1.0


class MembershipStream:
    """`async for membership in consumer.membership_changes()`.

    Args:
        gate: knows the backend, and whether the consumer is closed.
    """

    __slots__ = ("_gate", "_seen")

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._seen: Membership | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Membership:
        """Wait for a membership that differs from the one before.

        Raises:
            KGroupError: the fatal error after which nothing will change any more.
        """
        await anyio.lowlevel.checkpoint()
        while (now := self._gate.backend.membership) == self._seen:
            if self._gate.closed:
                raise StopAsyncIteration
            self._gate.check_failure()
            with anyio.move_on_after(_LOOK_AGAIN):
                await self._gate.backend.membership_changed(now)
        self._seen = now
        return now


# -- group calls -----------------------------------------------------------------------------------


class GroupCalls(Life):
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
            IllegalStateError: partitions are assigned by hand; `unsubscribe` first.
        """
        wanted = to_topics(topics, pattern, exclude)
        self._config.group()
        if self._subscription is not None and self._subscription.partitions is not None:
            raise IllegalStateError("partitions are assigned by hand; unsubscribe() first")
        self._listener = sound(listener) or self._listener
        self._replace(wanted)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, at once and without a group; replaces earlier ones.

        With a group_id its offsets are read and committed, which works only while no
        consumer subscribes under that id. No listener is called.

        Raises:
            IllegalStateError: topics are subscribed; `unsubscribe` first.
        """
        wanted = by_hand(partitions)
        if self._subscription is not None and self._subscription.partitions is None:
            raise IllegalStateError("topics are subscribed; unsubscribe() first")
        self._replace(wanted)

    def assign_ranges(self, ranges: Mapping[TopicPartition, tuple[int, int]]) -> None:
        """Read exactly these offsets: `assign`, and `seek` with `until`, in one call.

        Args:
            ranges: partition -> its first offset, and the one behind its last.

        Raises:
            IllegalStateError: topics are subscribed, or the consumer was not entered.
            ArgumentError: an offset is negative or no whole number.
        """
        flow = self._entered(running=True).flow
        for first, end in ranges.values():
            sound_offset(first)
            sound_offset(end, "until")
        self.assign(ranges)
        for tp, (first, end) in ranges.items():
            flow.seek(tp, first, end)

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
        wanted = to_topics(topics, pattern, exclude)
        if self._config.group_id is not None:
            expected = "None, to follow topics without a group; in a group, subscribe()"
            raise ConfigError("group_id", self._config.group_id, expected)
        if self._subscription is not None and self._subscription.partitions is not None:
            raise IllegalStateError("partitions are assigned by hand; unsubscribe() first")
        self._replace(wanted)

    def unsubscribe(self) -> None:
        """Give every partition up."""
        before, self._subscription = self._subscription, None
        if self._parts is not None and before is not None:
            Subscribing(self._parts).drop()

    def _replace(self, wanted: Subscription) -> None:
        if self._parts is not None:
            self._parts.calls.listener = self._listener
            Subscribing(self._parts).ask(wanted)
        self._subscription = wanted

    # -- views -----------------------------------------------------------------------------

    @property
    def config(self) -> ConsumerConfig:
        """All options, those that were given and the defaults."""
        return self._config

    def assignment(self) -> frozenset[TopicPartition]:
        """Return every partition owned now."""
        return frozenset() if self._parts is None else self._parts.delivery.owned.partitions

    def owns(self, tp: TopicPartition) -> bool:
        """Tell whether a partition is owned now."""
        return tp in self.assignment()

    def subscription(self) -> Subscription | None:
        """Return the subscription, None without one."""
        return self._subscription

    def subscribed_topics(self) -> frozenset[str]:
        """Return the topics that were asked for, by name, by partition, or by a pattern.

        Those of a pattern are the ones it matches now; none until all topics are known.
        """
        wanted, parts = self._subscription, self._parts
        if wanted is None or wanted.pattern is None:
            return to_watch(wanted) or frozenset()
        if parts is None:
            return frozenset()
        return self._topics(wanted).among(parts.cluster.view) or frozenset()

    async def subscribed_partitions(
        self, *, timeout: float | None = None
    ) -> frozenset[TopicPartition]:
        """Return the partitions of `subscribed_topics`, waiting until each of them has some.

        In a group they are owned by its members. What is followed is owned when this returns.

        Args:
            timeout: seconds, None for `request_timeout`.

        Raises:
            UnauthorizedError, BrokerError: the brokers refuse a topic.
            TimeoutError: a topic was not there in time, or not all topics were heard of.
        """
        parts, wanted = await self._running(), self._subscription
        if wanted is None or wanted.partitions is not None:
            await anyio.lowlevel.checkpoint()  # so that a loop of such calls lets others run
            return frozenset() if wanted is None else wanted.partitions or frozenset()
        limit = self._config.fetching().request_timeout if timeout is None else timeout
        return await parts.following.partitions(self._topics(wanted), limit)

    def _topics(self, wanted: Subscription) -> SubscribedTopics:
        topics = SubscribedTopics(exclude_internal=self._config.exclude_internal_topics)
        topics.ask(wanted)
        return topics

    @property
    def membership(self) -> Membership:
        """An immutable snapshot; may be read from any thread."""
        return self._entered().gate.backend.membership

    def vitals(self) -> Vitals:
        """Return how it is doing, in numbers; asks nobody. See `kgroup.observe.health`."""
        return vitals_of(self._config, self._entered())

    def membership_changes(self) -> MembershipStream:
        """Iterate over memberships, beginning with the present one, until the consumer is closed.

        A fatal error is raised by it, after the last membership.
        """
        return MembershipStream(self._entered().gate)

    def group_metadata(self) -> Generation | None:
        """Return the identity that a transaction's offset commit has to carry (KIP-447).

        None while this consumer is no member: nothing may be committed for it then.

        Raises:
            ConfigError: there is no group_id.
        """
        self._config.group()
        if self._config.backend is Backend.MARSHAL:
            reason = "a group that claims has no generation that brokers could fence by"
            raise UnsupportedError(f"{reason}; see `token` of each batch")
        return self.membership.generation

    @property
    def rebalances(self) -> int:
        """How many rounds this member has completed since the consumer was entered."""
        return 0 if self._parts is None else self.membership.rebalances

    @property
    def closed(self) -> bool:
        """Whether it is closing, or closed."""
        return self._parts is not None and self._parts.gate.closed

    @property
    def failure(self) -> Exception | None:
        """The fatal error that ended the consumer's work, None while there is none."""
        return None if self._parts is None else self._parts.gate.failure

    def enforce_rebalance(self, reason: str = "the application asked for it") -> None:
        """Ask the group for a new round (KIP-568).

        Raises:
            IllegalStateError: partitions are assigned by hand.
        """
        self._entered(running=True).gate.backend.enforce_rebalance(reason)


# -- log calls -------------------------------------------------------------------------------------


class LogCalls(Life):
    """What the logs hold. The awaited ones ask brokers, of any partition, owned or not."""

    async def beginning_offsets(
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
        return await self._ends(tps, OffsetSpec.EARLIEST, timeout)

    async def end_offsets(
        self, *tps: TopicPartition, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the offset the next record of each log will get.

        Under read_committed it is the first offset of the oldest open transaction, if there is
        one (the last stable offset).

        Args:
            tps: any partitions; none for all that are owned.
            timeout: seconds, None for `request_timeout`.

        Raises:
            BrokerError, TimeoutError: as `beginning_offsets`.
        """
        return await self._ends(tps, OffsetSpec.LATEST, timeout)

    async def offsets_for_times(
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
        return await (await self._running()).logs.at_times(times, timeout)

    async def topics(
        self, *, internal: bool = True, timeout: float | None = None
    ) -> frozenset[str]:
        """Return the name of every topic of the cluster that may be seen.

        Args:
            internal: also those that belong to the brokers.
            timeout: seconds, None for `request_timeout`.

        Raises:
            NoBrokerError, BrokerError, TimeoutError: no broker answered the question.
        """
        return await (await self._running()).logs.topics(timeout, internal=internal)

    async def find_partitions(
        self, *topics: str, timeout: float | None = None
    ) -> dict[str, frozenset[int]]:
        """Return the partition numbers of topics, waiting until each of them exists.

        With `allow_auto_create_topics`, asking makes those that are missing, where brokers do.

        Args:
            topics: names; they need not be read.
            timeout: seconds for all of them, None for `request_timeout`.

        Raises:
            UnauthorizedError, BrokerError: the brokers refuse a topic.
            ClosedError: the consumer was closed meanwhile.
            TimeoutError: a topic was not there in time.
        """
        return await (await self._running()).logs.find_partitions(topics, timeout)

    def partitions_for_topic(self, topic: str) -> frozenset[int] | None:
        """Return the partition numbers of a topic, None while they are not known.

        Sends no request: it knows the topics that are read, and those of the last `topics()`.
        """
        return self._entered().logs.partitions_of(topic)

    async def api_versions(self, *, timeout: float | None = None) -> dict[int, tuple[int, int]]:
        """Return which versions of each request a broker takes (KIP-35), as it says itself.

        API key -> the lowest and the highest, both included; keys are Kafka's numbers, also of
        requests that are unknown here. Brokers may differ while they are upgraded.

        Args:
            timeout: seconds, None for `request_timeout`.

        Raises:
            NoBrokerError, BrokerError, TimeoutError: no broker answered the question.
        """
        return await (await self._running()).logs.api_versions(timeout)

    # -- what the last fetch said; sends no request ----------------------------------------

    def highwater(self, tp: TopicPartition) -> int | None:
        """Return the end of a log as its last fetch said, None before the first.

        Raises:
            NotOwnedError: the partition is not owned.
        """
        (owned,) = self._entered().delivery.owned.require([tp])
        return owned.high_watermark

    def last_stable_offset(self, tp: TopicPartition) -> int | None:
        """Return the end of what read_committed may read, as the last fetch said (KIP-98).

        Raises:
            NotOwnedError: the partition is not owned.
        """
        (owned,) = self._entered().delivery.owned.require([tp])
        return owned.last_stable_offset

    def last_fetch_at(self, tp: TopicPartition) -> float | None:
        """Return when `highwater` and `last_stable_offset` were heard, None before the first fetch.

        Seconds since the epoch, by the clock on the wall; the answer may have held no record.

        Raises:
            NotOwnedError: the partition is not owned.
        """
        (owned,) = self._entered().delivery.owned.require([tp])
        return owned.heard_at

    def lag(self, tp: TopicPartition) -> int | None:
        """Return how many offsets lie between what was handed out and the end that can be read.

        None before the first fetch. Offsets are counted, not records: marks of transactions and
        holes left by compaction count too.

        Raises:
            NotOwnedError: the partition is not owned.
        """
        return self._entered().flow.lag(tp)

    async def _ends(
        self, tps: tuple[TopicPartition, ...], end: OffsetSpec, timeout: float | None
    ) -> dict[TopicPartition, int]:
        parts = await self._running()
        asked = tps or tuple(parts.delivery.owned.partitions)
        found = await parts.logs.ends(asked, end, timeout)
        return {tp: listed.offset for tp, listed in found.items()}


# -- offset calls ----------------------------------------------------------------------------------


class OffsetCalls(Life):
    """Calls about positions and commits."""

    async def commit(self, what: Committable = None) -> CommitOutcome:
        """Commit, and wait for the coordinator's answer.

        If you cancel it, you only stop waiting: the commit goes on.

        Args:
            what: a mapping of partitions to the next offset to read (alone, or with metadata of at
                most 4,096 bytes); a record or a batch, which means it and all records before it;
                or None for everything handed out so far. What is committed counts as done.

        Raises:
            CommitFailedError: its `outcome` has every partition, the committed ones too.
            NotOwnedError: a partition is not owned, or a record or batch is from an earlier period
                of ownership; nothing was sent.
            ArgumentError, IllegalStateError: nothing was sent.
        """
        return await (await self._running()).committing.commit(what)

    def commit_soon(self, what: Committable = None, callback: CommitCallback | None = None) -> None:
        """Commit without waiting.

        Commits of a partition are carried out in the order of calls, `commit` among them. A commit
        that fails without a callback is logged.

        Args:
            what: as for `commit`.
            callback: plain or awaitable; called once with the outcome, good or bad, in the order
                of calls, one at a time, at the latest when the consumer closes. What it raises is
                raised once, by the next read.

        Raises:
            NotOwnedError, ArgumentError, IllegalStateError: as `commit`; nothing is sent or called.
        """
        self._entered(running=True).committing.commit_soon(what, callback)

    async def commit_done(self) -> CommitOutcome:
        """Commit what is done and not committed yet, and wait for the coordinator's answer.

        Unlike `commit()` it does not count records in hand as done. Auto-commit does the same; call
        this at a moment of your own choice, such as in `on_revoked`.

        Raises:
            CommitFailedError: its `outcome` has every partition, the committed ones too.
            ConfigError: there is no group_id.
        """
        async with refusing():
            self._config.group()
        outcome = await (await self._running()).committing.commit_done()
        if not outcome.ok:
            raise CommitFailedError(outcome)
        return outcome

    async def committed(
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
            ArgumentError: one of `tps` is not a partition; no request was sent.
        """
        async with refusing():
            self._config.group()
            parts = self._entered(running=True)
            for tp in tps:
                check_partition(tp)
        asked = tps or tuple(parts.delivery.owned.partitions)
        if not asked:
            await anyio.lowlevel.checkpoint()  # no request is sent, and others run all the same
        limit = self._config.fetching().request_timeout if timeout is None else timeout
        return await parts.gate.backend.committed(asked, timeout=limit)

    async def position(self, tp: TopicPartition, *, timeout: float | None = None) -> int:
        """Return the offset that is handed out next, waiting until it is known.

        Raises:
            NotOwnedError: the partition is not owned.
            KGroupError: why there is no position, such as `NoOffsetError`.
            TimeoutError: it was not found within `timeout` (None for `request_timeout`).
        """
        limit = self._config.fetching().request_timeout if timeout is None else timeout
        return await (await self._running()).flow.position(tp, limit)

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
        self._entered(running=True).flow.seek(tp, offset, until)

    async def seek_to_beginning(
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
        flow = (await self._running()).flow
        return await flow.seek_to_end(tps, OffsetSpec.EARLIEST, timeout)

    async def seek_to_end(
        self, *tps: TopicPartition, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Go on behind the last record each log holds now; as `seek_to_beginning`.

        Under read_committed that is where the oldest open transaction begins.
        """
        flow = (await self._running()).flow
        return await flow.seek_to_end(tps, OffsetSpec.LATEST, timeout)

    async def seek_to_committed(
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
        async with refusing():
            self._config.group()
        limit = self._config.fetching().request_timeout if timeout is None else timeout
        return await (await self._running()).flow.seek_to_committed(tps, limit)

    def pause(self, *tps: TopicPartition) -> None:
        """Hand out nothing of some partitions until `resume`, or until they are given up."""
        self._entered(running=True).flow.pause(tps)

    def resume(self, *tps: TopicPartition) -> None:
        """Hand out records of some partitions again."""
        self._entered(running=True).flow.resume(tps)

    def paused(self) -> frozenset[TopicPartition]:
        """Return the owned partitions that are paused."""
        return frozenset() if self._parts is None else self._parts.flow.paused()

    def held_back(self) -> frozenset[TopicPartition]:
        """Return the owned partitions that wait for a commit.

        They have reached `max_uncommitted`; without that option there are none. A partition may
        be paused as well.
        """
        return frozenset() if self._parts is None else self._parts.flow.held_back()


# -- reading calls ---------------------------------------------------------------------------------


K = TypeVar("K")
V = TypeVar("V")


class ReadingCalls(Life, Generic[K, V]):
    """Four ways to get records.

    Args:
        config: all options.
        subscription: what to ask for when entered, None for nothing.
        listener: called when partitions come and go.
        formats: the two deserialisers.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        subscription: Subscription | None,
        listener: Listener | None,
        formats: Formats[K, V],
    ) -> None:
        super().__init__(config, subscription, listener)
        self._formats = formats

    def batches(self) -> BatchIterator[K, V]:
        """Iterate over batches until closed; each is done when the next is asked for."""
        limit = self._config.max_poll_records
        return BatchIterator(self._entered().reading, self._formats, limit)

    def arrow_batches(self) -> ArrowIterator[K, V]:
        """Iterate over Arrow RecordBatches until closed: those of `batches()`, as `to_arrow` has
        them. Needs `kgroup[arrow]`.

        The first one raises `MissingExtraError` where pyarrow is not installed.
        """
        return ArrowIterator(self.batches())

    def __aiter__(self) -> RecordIterator[K, V]:
        """Iterate over single records; each is done when the next is asked for."""
        limit = self._config.max_poll_records
        return RecordIterator(self._entered().reading, self._formats, limit)

    async def getone(self, *tps: TopicPartition, timeout: float | None = None) -> Record[K, V]:
        """Return the next record. It is done when any later read includes its partition.

        Args:
            tps: partitions to read from, none for all.
            timeout: seconds, None to wait for ever.

        Raises:
            TimeoutError: nothing came in time.
            DeserializationError: a deserialiser refused the record; it stays in front.
            ClosedError, NotOwnedError, KGroupError: see `getmany`.
        """
        return await (await self._polling()).one(tps, timeout)

    async def getmany(
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
            ClosedError: the consumer was closed before the call.
            NotOwnedError: a partition named is not owned.
            KGroupError: a fatal error; what a listener raised, once; the error of a partition,
                each time it is its turn, until a seek or a success ends it.
        """
        return await (await self._polling()).many(tps, max_records, timeout)

    def note_poll(self) -> None:
        """Say that the application is alive and at work on what it was handed (KIP-62).

        Each read says so; call this where work between two reads may take longer than
        `max_poll_interval`. It costs next to nothing.
        """
        self._entered().reading.note_poll()

    @property
    def skipped(self) -> int:
        """How many records were left out because a deserialiser refused them (policy "skip")."""
        return 0 if self._parts is None else self._parts.delivery.skipped.count

    @property
    def passed_over(self) -> int:
        """The former name of `skipped`."""
        return self.skipped

    async def _polling(self) -> Polling[K, V]:
        limit = self._config.max_poll_records
        return Polling((await self._running()).reading, self._formats, limit)


# -- api -------------------------------------------------------------------------------------------


_Bytes = bytes | None


class Consumer(ReadingCalls[K, V], OffsetCalls, LogCalls, GroupCalls):
    """Reads topics, alone or in a group.

        async with Consumer("orders", group_id="billing") as consumer:
            async for batch in consumer.batches():
                for record in batch:
                    ...

    Entering waits for a broker, not for the group. `commit`, `seek`, `pause`, `position` and
    `close` work inside listeners too.

    Args:
        topics: topics to subscribe to; none to call `subscribe` or `assign` later.
        config: options, None for the defaults.
        key: makes keys out of bytes (None for null).
        value: makes values out of bytes.
        listener: called when partitions come and go.
        options: set single options on top of `config`; see `ConsumerConfig`.

    Raises:
        ConfigError: an option is not known, or its value cannot be used.
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
        settings = ConsumerConfig.of(options, config)
        subscription = to_topics(topics, None, None) if topics else None
        if subscription is not None:
            settings.group()
        super().__init__(
            settings, subscription, listener, Formats(key, value, settings.deserialize_errors)
        )

    def coordinate_by(self, coordination: Coordination) -> Self:
        """Have this backend coordinate the group, not the one of the options; before entering."""
        self._coordination = coordination
        return self
