"""The thread in which a query's member lives, and how Spark's thread asks it.

Decides: that the event loop has a thread of its own: Spark calls from a process's main thread,
blocks it for whole batches, and leaves it without a call.
Never: decides anything about the member (`member` does).
"""

from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from functools import partial
from typing import TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from kgroup.config import ConsumerConfig
from kgroup.spark.member import Member

T = TypeVar("T")


class Driver:
    """The connections of a query's driver side, and its member.

    Args:
        config: the consumer's options; with a group id `join` can be called.
    """

    def __init__(self, config: ConsumerConfig) -> None:
        self._config = config
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None
        self._member: Member | None = None

    def start(self) -> None:
        """Connect.

        Raises:
            NoBrokerError: no broker answers.
            ConfigError: an option cannot be used.
        """
        portal = self._stack.enter_context(start_blocking_portal(name="kgroup-member"))
        member = Member(self._config)
        try:
            self._stack.enter_context(portal.wrap_async_context_manager(member.connected()))
        except BaseException:
            self._stack.close()
            raise
        self._portal, self._member = portal, member

    def close(self) -> None:
        """Leave the group, if it was joined, and disconnect. Idempotent."""
        self._stack.close()
        self._portal = None

    def call(self, work: Callable[[Member], Awaitable[T]]) -> T:
        """Have something done on the event loop, and wait for it.

        Args:
            work: such as `lambda member: member.ends(...)`.

        Raises:
            KGroupError, TimeoutError: what it raised.
        """
        assert self._portal is not None, "the driver is started first"
        assert self._member is not None
        found: T = self._portal.call(partial(_awaited, work, self._member))
        return found


async def _awaited(work: Callable[[Member], Awaitable[T]], member: Member) -> T:
    return await work(member)
