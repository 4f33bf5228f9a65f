"""The life of the facade object: what it is made of, starting, stopping, being dropped.

Decides: what `start()` waits for: brokers, the topics that are named, the first assignment; what
an object that was never stopped says when it is collected.
Never: is referred to by anything in the background.
"""

import asyncio
import contextlib
import logging
import warnings
from types import TracebackType
from typing import Any, Final, Self

from aiokafka.errors import IllegalStateError, KafkaError, UnknownTopicOrPartitionError

from kgroup import Consumer, KGroupError
from kgroup.backends.choice import outliving
from kgroup.compat.aiokafka.errors import translating
from kgroup.compat.aiokafka.options import read
from kgroup.compat.aiokafka.rounds import Rounds
from kgroup.compat.aiokafka.wishes import Wishes, topics_of
from kgroup.errors import AssignorError, UnauthorizedError

__all__ = ["Host", "Life"]

_QUIET_END: Final = 1.0
"""Seconds in which a consumer that nobody refers to any more leaves its group."""


class Host:
    """Holds one consumer, which lives in a task of its own.

    Args:
        consumer: not started.
        patience: seconds after which it is over once it is asked to end.
    """

    def __init__(self, consumer: Consumer[Any, Any], patience: float) -> None:
        self.consumer = consumer
        self._patience = patience

    def check(self) -> None:
        """Raise what has ended the consumer, when nobody foresaw it.

        Raises:
            Exception: whatever it was.
        """
        error = self.consumer.failure
        if error is not None and not isinstance(error, KGroupError):
            raise error

    async def stop(self, *, wait: bool) -> None:
        """Close the consumer; a call that is cancelled ends its own wait only.

        Args:
            wait: until it is over; not in a callback that closing waits for.

        Raises:
            Exception: what nobody foresaw.
        """
        if wait:
            await self.consumer.stop(timeout=self._patience)
        else:
            self.consumer.close_soon(timeout=self._patience)

    async def ended(self) -> None:
        """Wait until it is over, however it ends; it was asked to end before."""
        with contextlib.suppress(Exception):  # the caller that gave it up knows the error
            await self.consumer.stop(timeout=_QUIET_END)

    def abandon(self) -> None:
        """Have the consumer end by itself, without a word; from any thread, at any time."""
        self.consumer.close_soon(timeout=_QUIET_END)


# -- life ------------------------------------------------------------------------------------------


log = logging.getLogger(__name__)

_LONGEST_STOP: Final = 7.0
"""Seconds for closing: with what ends it when brokers are silent, `stop()` takes ten at most."""


class Life:
    """What every group of calls of the facade stands on.

    Args:
        topics: to subscribe to; none to call `subscribe` or `assign` later.
        ports: kgroup's own: network, clocks and dice, None for the real ones; for tests.
        keywords: as aiokafka's constructor; see `kgroup.compat.aiokafka.options`.
    """

    _closed: bool | None = None
    """None: the constructor has not come to its end."""

    def __init__(
        self,
        *topics: str,
        ports: Any = None,  # noqa: ANN401 - `Consumer` checks it
        **keywords: object,
    ) -> None:
        self._options = read(keywords)
        self._ports = ports
        self._loop = self._options.facade.loop or _running_loop()
        self._rounds = Rounds()
        self._wishes = Wishes(self._rounds, self._options.facade.group_id)
        self._host: Host | None = None
        self._former: Host | None = None
        if topics:
            self._wishes.topics(topics_of(topics), None)
        self._closed = False

    def __del__(self) -> None:
        if self._closed is not False:
            return
        text = f"Unclosed AIOKafkaConsumer {self!r}"
        warnings.warn(text, ResourceWarning, stacklevel=1, source=self)
        context = {"consumer": self, "message": "Unclosed AIOKafkaConsumer"}
        self._loop.call_exception_handler(context)
        if self._host is not None:
            self._host.abandon()

    # -- starting --------------------------------------------------------------------------

    async def start(self) -> None:
        """Connect, wait for the topics that are named, and for the first assignment.

        Raises:
            KafkaConnectionError: no broker can be used.
            UnknownTopicOrPartitionError: a topic was not there in time.
            KafkaError: the group, or a topic, is refused; no membership could be had.
        """
        if self._loop is not asyncio.get_running_loop():
            raise AssertionError("Please create objects with the same loop as running with")
        if self._host is not None:
            raise AssertionError("Did you call `start` twice?")
        if self._closed:
            raise IllegalStateError("A consumer that was stopped cannot be started; make a new one")
        facade, made = self._options.facade, self._options.deserializers
        if facade.refusal is not None:
            raise facade.refusal
        native: Consumer[Any, Any] = Consumer(
            config=self._options.config,
            key=made.key,
            value=made.value,
            listener=self._rounds,
            stay_with_partition=True,
            done_at="delivery",
            ports=self._ports,
        ).coordinate_by(outliving)
        self._host = host = Host(native, min(facade.request_timeout, _LONGEST_STOP))
        try:
            with translating():
                await self._begin(native)
        except BaseException as error:
            # A consumer that could not start may try again, as services do that start before Kafka.
            self._host, self._former = None, host
            self._wishes.leave()
            host.abandon()
            if isinstance(error, Exception):
                await host.ended()
            raise

    async def _begin(self, native: Consumer[Any, Any]) -> None:
        await native.start()
        try:
            await native.find_partitions(*self._wishes.names)
            self._wishes.carry(native)
            if not self._wishes.of_group:
                await native.subscribed_partitions()
        except TimeoutError as error:
            raise UnknownTopicOrPartitionError(str(error)) from error
        await self._first_assignment(native)

    async def _first_assignment(self, native: Consumer[Any, Any]) -> None:
        if not self._wishes.of_group:
            return
        watch = asyncio.ensure_future(_trouble(native))
        try:
            while self._awaits_assignment():
                # 1. There is no assignment, so this is going to wait.
                # 2. The assignment comes, and waiting tasks are woken.
                # 3. Were it only now that this begins to wait, nothing would wake it.
                # So `changed` counts from its call, which no other task comes in front of.
                change = self._rounds.changed()
                try:
                    await asyncio.wait((watch, change), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    change.cancel()
                if watch.done() and self._awaits_assignment():
                    raise watch.result()
        finally:
            watch.cancel()

    def _awaits_assignment(self) -> bool:
        return not self._rounds.assigned and self._wishes.of_group and not self._closed

    # -- stopping --------------------------------------------------------------------------

    async def stop(self) -> None:
        """Commit what was delivered, if that is to be done, leave the group, and close.

        A static member does not leave. It takes ten seconds at most, whatever brokers do.
        """
        if self._closed:
            return
        self._closed = True
        self._rounds.wake()
        if self._host is not None:
            with translating():
                await self._host.stop(wait=not self._rounds.inside)
        if self._former is not None:
            await self._former.ended()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    # -- for the calls ---------------------------------------------------------------------

    def _native(self) -> Consumer[Any, Any]:
        """Return the consumer behind the facade.

        Raises:
            IllegalStateError: it is not started.
            KafkaError: what nobody foresaw has ended it.
        """
        if self._host is None:
            raise IllegalStateError("The consumer is not started: `await consumer.start()` first")
        try:
            self._host.check()
        except Exception as error:
            raise KafkaError(f"Unexpected error of the consumer: {error!r}") from error
        return self._host.consumer


async def _trouble(native: Consumer[Any, Any]) -> Exception:
    """Wait until there is a reason why no assignment will come, and return it."""
    try:
        async for membership in native.membership_changes():
            if isinstance(membership.trouble, UnauthorizedError | AssignorError):
                return membership.trouble
    except KGroupError as error:
        return error
    return KafkaError("The consumer was stopped before it had an assignment")


def _running_loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        reason = "The object should be created within an async function or provide loop directly."
        raise RuntimeError(reason) from None
