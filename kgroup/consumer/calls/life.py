"""The life of a consumer object: what it is told, entering, closing.

Decides: what a consumer remembers before it is entered, and that it is entered once.
Never: holds logic of its own; nothing in the background refers to it, so a consumer that is
dropped is collected.
"""

import logging
import weakref
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from kgroup.backends.choice import Coordination, configured
from kgroup.config import ConsumerConfig
from kgroup.consumer.assembly import Parts, assemble
from kgroup.consumer.calls.subscribing import Subscribing
from kgroup.consumer.listener import Listener, sound
from kgroup.consumer.root import Root
from kgroup.consumer.user_code import Closing
from kgroup.errors import IllegalStateError
from kgroup.types import Leave, Subscription

if TYPE_CHECKING:
    from weakref import ReferenceType

    from kgroup.consumer.api import Consumer

__all__ = ["Life"]

log = logging.getLogger(__name__)


class Life:
    """What every group of calls of a consumer stands on.

    Args:
        config: all options.
        subscription: what to ask for when entered, None for nothing.
        listener: told when partitions come and go.
    """

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

    def __repr__(self) -> str:
        """Return who it is and how it stands; never an option that is secret."""
        config, name = self._config, type(self).__name__
        who = f"{name} group_id={config.group_id!r} client_id={config.client_id!r}"
        if self._parts is None or self._root is None:
            return f"<{who} state=not entered>"
        membership = self._parts.gate.backend.membership
        state = self._root.end or membership.state.value
        return f"<{who} state={state} partitions={len(membership.claims)}>"

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
        # Only `Consumer` stands on this: a listener gets the whole of it.
        whole = cast("ReferenceType[Consumer[Any, Any]]", weakref.ref(self))
        parts = assemble(self._config, self._coordination, whole)
        parts.calls.listener = self._listener
        root = Root(self._config, parts)
        self._closing.enter()
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

    async def close(
        self, *, timeout: float = 5.0, leave: Leave = Leave.DEFAULT, commit: bool = True
    ) -> None:
        """Stop handing out, let others finish their batches, commit what is done, leave.

        Inside a listener it only asks for that. A second call waits for the first.

        Args:
            timeout: seconds after which it returns whatever brokers and listeners do.
            leave: whether the group is told; by default a static member is silent (KIP-345).
            commit: whether what is done is committed, where `enable_auto_commit` is on. Without it
                the group goes on where the last commit was; a commit on its way may still arrive.
        """
        if self._root is None or self._parts is None:
            return
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
            timeout: seconds after which it is over, counted from when the loop hears of it.
            leave: whether the group is told.
            commit: whether what is done is committed, as for `close`.
        """
        if self._root is not None:
            begin = partial(self._root.close_soon, timeout, leave, commit=commit)
            self._closing.soon(begin)

    def _entered(self, *, running: bool = False) -> Parts:
        if self._parts is None or self._root is None:
            raise IllegalStateError("the consumer is not entered: use `async with consumer:`")
        if running:
            self._parts.gate.check_failure()
            self._root.check_running()
        return self._parts

    async def _running(self) -> Parts:
        """Return what an awaited call works with, as `_entered(running=True)`.

        1. A call is refused with an error that lasts; 2. the application takes no notice of it, and
        calls again; 3. had neither awaited anything, no other task would ever run, and nothing
        could cancel this one. So whoever is refused lets others run first.
        """
        try:
            return self._entered(running=True)
        except Exception:
            await anyio.lowlevel.checkpoint()
            raise
