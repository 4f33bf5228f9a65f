"""The consumer people program against.

Decides: names, defaults and order of the public calls.
Never: holds logic of its own: each call is a few words to one part. Nothing in the background
refers to it, so a consumer that is dropped is collected.
KIPs: 62, 345, 429, 568.
"""

import logging
import weakref
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Generic, Self, TypeVar, Unpack, overload

import anyio
from anyio.abc import TaskGroup

from kgroup.config import ConsumerConfig, ConsumerOptions
from kgroup.consumer.assembly import Coordination, Parts, assemble, classic
from kgroup.consumer.batch import Batch
from kgroup.consumer.committing import Offsets
from kgroup.consumer.iterators import BatchIterator, RecordIterator
from kgroup.consumer.listener import Listener, sound
from kgroup.consumer.membership_stream import MembershipStream
from kgroup.consumer.polling import Polling
from kgroup.consumer.record import Deserializer, Formats, Record, raw
from kgroup.consumer.root import Root
from kgroup.consumer.subscribing import Subscribing, by_hand, to_topics
from kgroup.errors import IllegalStateError
from kgroup.types import (
    CommitOutcome,
    Leave,
    Membership,
    OffsetAndMetadata,
    Subscription,
    TopicPartition,
)

__all__ = ["Consumer"]

K = TypeVar("K")
V = TypeVar("V")
_Bytes = bytes | None

log = logging.getLogger(__name__)


class Consumer(Generic[K, V]):
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
        listener: told when partitions come and go.
        options: set single options on top of `config`; see `ConsumerConfig`.

    Raises:
        ConfigError: an option is not known, or its value cannot be used.
        ArgumentError: a topic, a deserialiser or the listener is none.
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
        self._config = ConsumerConfig.of(options, config)
        self._formats = Formats(key, value)
        self._listener = sound(listener)
        self._subscription = to_topics(topics, None, None) if topics else None
        if topics:
            self._config.membership()
        self._coordination: Coordination = classic
        self._parts: Parts | None = None
        self._root: Root | None = None
        self._tasks: TaskGroup | None = None

    # -- life ------------------------------------------------------------------------------

    def coordinate_by(self, coordination: Coordination) -> Self:
        """Have the group coordinated by another backend than the classic one; before entering."""
        self._coordination = coordination
        return self

    async def __aenter__(self) -> Self:
        """Start everything and wait for a broker, at most `bootstrap_timeout`.

        Raises:
            NoBrokerError: none answered; it lists every address and why.
            IllegalStateError: it was entered before.
        """
        if self._parts is not None:
            raise IllegalStateError("a consumer is entered once; make a new one")
        for doubt in self._config.doubts():
            log.warning("%s", doubt)
        parts = assemble(self._config, self._coordination, weakref.ref(self))
        parts.calls.listener = self._listener
        root = Root(self._config, parts)
        self._parts, self._root = parts, root
        self._tasks = tasks = anyio.create_task_group()
        await tasks.__aenter__()
        try:
            await tasks.start(root.run)
            if self._subscription is not None:
                Subscribing(parts).ask(self._subscription)
            await parts.cluster.bootstrap(self._config.patience)
        except BaseException:
            await root.abort()
            await tasks.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close; an exception of the body goes on as it is, not wrapped in a group."""
        await self.close()
        assert self._tasks is not None
        await self._tasks.__aexit__(None, None, None)

    async def close(self, *, timeout: float = 5.0, leave: Leave = Leave.DEFAULT) -> None:
        """Stop handing out, let others finish their batches, commit what is done, leave.

        Inside a listener it only asks for that. A second call waits for the first.

        Args:
            timeout: seconds after which it returns whatever brokers and listeners do.
            leave: whether the group is told; by default a static member is silent (KIP-345).
        """
        if self._root is None or self._parts is None:
            return
        self._root.close_soon(timeout, leave)
        if not self._parts.calls.inside:
            await self._root.closed()

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
        self._config.membership()
        if self._subscription is not None and self._subscription.partitions is not None:
            raise IllegalStateError("partitions are assigned by hand; unsubscribe() first")
        self._listener = sound(listener) or self._listener
        self._replace(wanted)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, at once and without a group; replaces earlier ones.

        With a group_id its offsets are read and committed, which works only while nobody
        subscribes under that id. No listener is called.

        Raises:
            IllegalStateError: topics are subscribed; `unsubscribe` first.
        """
        wanted = by_hand(partitions)
        if self._subscription is not None and self._subscription.partitions is None:
            raise IllegalStateError("topics are subscribed; unsubscribe() first")
        self._replace(wanted)

    def unsubscribe(self) -> None:
        """Give everything up."""
        before, self._subscription = self._subscription, None
        if self._parts is not None and before is not None:
            Subscribing(self._parts).drop(before)

    def _replace(self, wanted: Subscription) -> None:
        if self._parts is not None:
            self._parts.calls.listener = self._listener
            Subscribing(self._parts).ask(wanted)
        self._subscription = wanted

    # -- reading ---------------------------------------------------------------------------

    def batches(self) -> BatchIterator[K, V]:
        """Iterate over batches until closed; each is done when the next is asked for."""
        limit = self._config.max_poll_records
        return BatchIterator(self._entered().reading, self._formats, limit)

    def __aiter__(self) -> RecordIterator[K, V]:
        """Iterate over single records; each is done when the next is asked for."""
        limit = self._config.max_poll_records
        return RecordIterator(self._entered().reading, self._formats, limit)

    async def getone(self, *tps: TopicPartition, timeout: float | None = None) -> Record[K, V]:
        """Return the next record; it is done at the next read, of whatever kind, that is about
        its partition.

        Args:
            tps: partitions to read from, none for all.
            timeout: seconds, None to wait for ever.

        Raises:
            TimeoutError: nothing came in time.
            ClosedError, NotOwnedError, KGroupError: see `getmany`.
        """
        return await self._polling().one(tps, timeout)

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
        return await self._polling().many(tps, max_records, timeout)

    def _polling(self) -> Polling[K, V]:
        limit = self._config.max_poll_records
        return Polling(self._entered().reading, self._formats, limit)

    # -- offsets ---------------------------------------------------------------------------

    async def commit(self, offsets: Offsets | None = None) -> CommitOutcome:
        """Commit, and wait for the coordinator's answer.

        Args:
            offsets: partition -> next offset to read; they count as done up to there. None for
                everything handed out so far: it all counts as done.

        Raises:
            CommitFailedError: its `outcome` tells each partition, the good ones too.
            NotOwnedError, ArgumentError, IllegalStateError: nothing was sent.
        """
        return await self._entered(running=True).committing.commit(offsets)

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
        """
        self._config.membership()
        parts = self._entered(running=True)
        asked = tps or tuple(parts.delivery.owned.partitions)
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
        return await self._entered(running=True).flow.position(tp, limit)

    def seek(self, tp: TopicPartition, offset: int) -> None:
        """Go on at an offset, at once; what was fetched ahead is dropped.

        Raises:
            NotOwnedError: the partition is not owned.
            ArgumentError: the offset is negative or no whole number.
        """
        self._entered(running=True).flow.seek(tp, offset)

    def pause(self, *tps: TopicPartition) -> None:
        """Hand out nothing of some partitions until `resume`; ends with the claim."""
        self._entered(running=True).flow.pause(tps)

    def resume(self, *tps: TopicPartition) -> None:
        """Hand out records of some partitions again."""
        self._entered(running=True).flow.resume(tps)

    # -- views -----------------------------------------------------------------------------

    def assignment(self) -> frozenset[TopicPartition]:
        """Return every partition owned now."""
        return frozenset() if self._parts is None else self._parts.delivery.owned.partitions

    def owns(self, tp: TopicPartition) -> bool:
        """Tell whether a partition is owned now."""
        return tp in self.assignment()

    def subscription(self) -> Subscription | None:
        """Return what was asked for, None for nothing."""
        return self._subscription

    @property
    def membership(self) -> Membership:
        """An immutable snapshot; may be read from any thread."""
        return self._entered().gate.backend.membership

    def membership_changes(self) -> MembershipStream:
        """Iterate over memberships, beginning with the present one."""
        return MembershipStream(self._entered().gate)

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

    def _entered(self, *, running: bool = False) -> Parts:
        if self._parts is None or self._root is None:
            raise IllegalStateError("the consumer is not entered: use `async with consumer:`")
        if running:
            self._parts.gate.check_failure()
            self._root.check_running()
        return self._parts
