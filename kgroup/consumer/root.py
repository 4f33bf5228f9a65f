"""The life of an entered consumer: its background tasks, and its end.

Decides: which tasks run, what the failure of one means, and the order of closing: the gate, work
in hand, revoked, commits answered, leave, then fetchers and sockets; all within one deadline.
Never: cancels the application's own code because of a `KGroupError`: that becomes `failure`, and
readers raise it. Only an unexpected exception leaves the task group.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from anyio.abc import TaskGroup, TaskStatus

from kgroup.backends.backend import GroupBackend
from kgroup.backends.standalone import StandaloneBackend
from kgroup.config import ConsumerConfig
from kgroup.consumer.assembly import Parts, member_started
from kgroup.consumer.commit.commit_order import log_failures
from kgroup.errors import ClosedError, IllegalStateError, KGroupError
from kgroup.journal import CloseAsked, MemberStarted, MemberStopped
from kgroup.types import Leave, MemberState
from kgroup.values import dataclass

log = logging.getLogger(__name__)

_SHARE_FOR_WORK: Final = 0.4
"""Part of a close timeout in which batches held by other tasks are waited for."""
_LOOK_AGAIN: Final = 1.0
_TEARDOWN: Final = 1.0
"""Seconds beyond the deadline in which sockets are closed; nothing in there waits for a peer."""


@dataclass(frozen=True, slots=True)
class _Request:
    """How to close.

    Args:
        deadline: instant by which it is over.
        leave: whether the member leaves the group.
        task: the task that asked; its own batch is not waited for. None when no task did.
    """

    deadline: float
    leave: Leave
    task: int | None


class Root:
    """Runs one consumer's background.

    Args:
        config: all options.
        parts: of the consumer.
    """

    def __init__(self, config: ConsumerConfig, parts: Parts) -> None:
        self._config = config
        self._parts = parts
        self._request: _Request | None = None
        self._requested = anyio.Event()
        self._ended = anyio.Event()
        self._settling: anyio.CancelScope | None = None
        self._settled = anyio.Event()
        self._said_goodbye = False
        self.hosted = False
        """Whether readers are outside the task group, so that no exception of it reaches them."""

    # -- from outside ----------------------------------------------------------------------

    def close_soon(
        self, timeout: float, leave: Leave, *, commit: bool = True, task: int | None = None
    ) -> None:
        """Begin to close; the first request counts.

        Args:
            timeout: seconds until it is over.
            leave: whether the member leaves the group.
            commit: whether auto-commit goes on until then.
            task: the task that asks, None without one.
        """
        if self._request is None:
            if not commit:
                self._stop_auto_commit()
            deadline = self._parts.ports.clock() + timeout
            self._request = _Request(deadline, leave, task)
            self._parts.gate.close()
            self._requested.set()

    @property
    def end(self) -> str | None:
        """Its state when it ends: failed, closing or closed; None before."""
        if self._ended.is_set():
            return "closed"
        if self._request is not None:
            return "closing"
        return None if self._parts.gate.failure is None else "failed"

    def _stop_auto_commit(self) -> None:
        """Go on as if `enable_auto_commit` were off."""
        self._parts.ownership.auto_commit = None
        if self._parts.auto_commit is not None:
            self._parts.auto_commit.stop()

    def check_running(self) -> None:
        """Raise when everything has ended; while closing, listeners may still commit.

        Raises:
            ClosedError: it has.
        """
        if self._ended.is_set():
            raise ClosedError("the consumer is closed")

    async def abort(self) -> None:
        """End at once, sending nothing: entering failed."""
        self.close_soon(0.0, Leave.REMAIN)
        await self.closed()

    async def asked(self) -> None:
        """Wait until somebody asks for the end."""
        await self._requested.wait()

    async def closed(self) -> None:
        """Wait until everything has ended; shielded, bounded by the deadline that was asked."""
        request = self._request
        assert request is not None
        left = request.deadline - self._parts.ports.clock()
        with anyio.move_on_after(max(left, 0.0) + _TEARDOWN, shield=True):
            await self._ended.wait()

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Run everything until closed. Shielded: a task that is cancelled closes in order."""
        try:
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as tasks:
                    await self._start(tasks)
                    task_status.started()
                    await self._requested.wait()
                    await self._close()
                    tasks.cancel_scope.cancel()
        except Exception as error:
            if self.hosted:
                self._parts.gate.fail(error)
            raise
        finally:
            self._ended.set()
            self._parts.gate.close()
            if self._parts.file is not None:
                self._parts.file.close()

    async def _start(self, tasks: TaskGroup) -> None:
        parts = self._parts
        await tasks.start(self._connect)
        self._journal_start()
        if parts.group is not None:
            await tasks.start(self._coordinate, parts.group)
            tasks.start_soon(self._guard, self._settle_changes)
            tasks.start_soon(self._guard, parts.calls.watch)
        works = [parts.committing.run, parts.fetching.run, parts.positioning.run]
        works.append(self._watch_metadata)
        if parts.auto_commit is not None:
            works.append(parts.auto_commit.run)
        for work in (*works, self._watch_membership):
            tasks.start_soon(self._guard, work)

    # -- background ------------------------------------------------------------------------

    async def _guard(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except ClosedError:
            log.debug("%s ended: closed", work)
        except KGroupError as error:
            self._fail("the consumer cannot go on", error)
        self._must_close(getattr(work, "__qualname__", repr(work)))

    def _fail(self, what: str, error: KGroupError) -> None:
        """Shut the gate; only the first failure is an error in the log, others follow from it."""
        if self._parts.gate.failure is None:
            log.error("%s: %s", what, error)
        else:
            log.debug("%s: %s", what, error)
        self._parts.gate.fail(error)

    def _must_close(self, work: str) -> None:
        """Fail when background work ends by itself: readers would wait for ever."""
        if self._request is None:
            self._parts.gate.fail(IllegalStateError(f"{work} has ended, without an error"))

    async def _connect(self, *, task_status: TaskStatus[None]) -> None:
        await self._parts.cluster.run(task_status=task_status)
        self._must_close("the network")

    async def _coordinate(self, backend: GroupBackend, *, task_status: TaskStatus[None]) -> None:
        try:
            await backend.run(task_status=task_status)
        except KGroupError as error:
            self._fail("the membership has ended", error)
        self._must_close("the membership")

    async def _settle_changes(self) -> None:
        assert self._parts.group is not None
        try:
            with anyio.CancelScope() as self._settling:
                await self._parts.ownership.run(self._parts.group)
        finally:
            self._settled.set()

    async def _watch_metadata(self) -> None:
        """Wake fetching when leaders change, readers when a topic is refused."""
        view = self._parts.cluster.view
        while True:
            self._parts.gate.topics.look()
            self._parts.following.look()
            self._parts.notifiers.work.notify()
            view = await self._parts.cluster.changed(view)

    async def _watch_membership(self) -> None:
        """Have readers look again when the membership changes, and collect dropped batches."""
        backend = self._parts.gate.backend
        seen = backend.membership
        while True:
            self._parts.delivery.sweep()
            self._parts.gate.topics.look()
            backend = self._parts.gate.backend
            with anyio.move_on_after(_LOOK_AGAIN):
                seen = await backend.membership_changed(seen)
            # Also after a timeout: 1. it ends the wait; 2. in the same pass of the loop the first
            # heartbeat is answered; 3. the next wait sees nothing new. Between this line and that
            # wait nothing awaits.
            self._parts.notifiers.news.notify()

    # -- the end ---------------------------------------------------------------------------

    async def _close(self) -> None:
        request = self._request
        assert request is not None
        began = self._parts.ports.clock()
        self._parts.sink.emit(CloseAsked(max(request.deadline - began, 0.0)))
        with anyio.move_on_after(max(request.deadline - began, 0.0)):
            with anyio.move_on_after((request.deadline - began) * _SHARE_FOR_WORK):
                await self._work_in_hand(request.task)
            self._take_back()
            await self._part(request)
            # A member that has failed does not wait for `on_lost` by itself.
            await self._parts.calls.returned()
        await self._parts.committing.end(max(request.deadline - self._parts.ports.clock(), 0.0))
        await self._break_off()
        self._journal_stop(request)

    async def _break_off(self) -> None:
        """Have a listener that still runs end before the member does: it counts as raising."""
        if self._settling is not None:
            self._settling.cancel()
            with anyio.move_on_after(_TEARDOWN / 2):
                await self._settled.wait()

    async def _work_in_hand(self, asker: int | None) -> None:
        while self._parts.delivery.at_work(asker):
            await self._parts.notifiers.news.wait()

    def _take_back(self) -> None:
        """End every handout: records that are not done are not committed."""
        delivery = self._parts.delivery
        delivery.sweep()
        for handout in delivery.ledger.held():
            delivery.drop(handout)

    async def _part(self, request: _Request) -> None:
        parts = self._parts
        if isinstance(parts.gate.backend, StandaloneBackend):
            await self._unassign()
        left = max(request.deadline - parts.ports.clock(), 0.0)
        for backend in (parts.group, parts.standalone):
            if backend is not None:
                why = "the consumer is closing"
                said = await backend.leave(request.leave, why, timeout=left)
                self._said_goodbye |= said

    async def _unassign(self) -> None:
        parts = self._parts
        parts.following.ask(None)
        if parts.ownership.auto_commit is not None:
            outcome = await parts.committing.commit_done()
            if parts.gate.failure is None:
                log_failures("commit at close", outcome)
        await parts.committing.landed()
        for change in parts.standalone.assign(()):
            parts.ownership.settle_now(change)

    # -- the journal -----------------------------------------------------------------------

    def _journal_start(self) -> None:
        member = self._parts.group is not None
        self._parts.sink.emit(member_started(self._config) if member else MemberStarted())

    def _journal_stop(self, request: _Request) -> None:
        failure = self._parts.gate.failure
        group = self._parts.group
        static = self._config.group_instance_id is not None
        leaves = request.leave is Leave.LEAVE or (request.leave is Leave.DEFAULT and not static)
        out = group is not None and group.membership.state is MemberState.LEFT
        left = out and leaves and self._said_goodbye
        reason = "closed" if failure is None else str(failure)
        if isinstance(self._parts.gate.backend, StandaloneBackend):
            client, group_id = self._config.client_id, self._config.group_id
            log.info("group=%s client=%s closed reason=%s", group_id, client, reason)
        self._parts.sink.emit(MemberStopped(reason, left=left, mode=request.leave))
