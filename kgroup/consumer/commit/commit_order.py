"""The order of commits, and the order of their callbacks.

Decides: what goes to a backend together, and that callbacks run in the order of calls.
Never: lets a commit overtake an earlier one of the same partition; has a caller of `submit` wait.

1. Every commit is a job at the end of the line. 2. The sender takes the whole line, the latest
offset of each partition, and hands it to the backends: at once when a caller waits for an answer,
else when the lot before it is answered, so that a commit after every record costs one request per
round trip. 3. Answers close jobs. 4. Callbacks run job by job, from the front of the line: a job
that is answered early waits for those before it.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import field
from functools import partial
from typing import Final, TypeAlias

import anyio
from anyio.abc import TaskGroup

from kgroup.backends.backend import GroupBackend, QueueingBackend
from kgroup.consumer.buffer.gate import Gate
from kgroup.consumer.user_code import UserCode
from kgroup.errors import ClosedError, KGroupError
from kgroup.frozen import replace
from kgroup.net.ports import Notifier
from kgroup.offsets.ledger import Ledger
from kgroup.types import (
    Claim,
    CommitOutcome,
    CommitStatus,
    OffsetAndMetadata,
    PartitionOutcome,
    TopicPartition,
)
from kgroup.values import dataclass

log = logging.getLogger(__name__)

_NAMED: Final = 5
"""Partitions a warning names."""


def log_failures(
    what: str, outcome: CommitOutcome, *, warned: frozenset[str] = frozenset()
) -> frozenset[str]:
    """Warn of partitions that were not committed; they will be, or have another owner now.

    Args:
        what: which commit it was.
        outcome: what became of it.
        warned: causes that were warned of before.

    Returns:
        The causes of this commit's failures.
    """
    causes: dict[str, list[str]] = {}
    for tp, each in sorted(outcome.failed().items()):
        causes.setdefault(f"{each.status.value}: {each.reason}", []).append(str(tp))
    for cause, partitions in causes.items():
        if cause in warned:
            continue
        named = ", ".join(partitions[:_NAMED])
        more = f" and {len(partitions) - _NAMED} more" if len(partitions) > _NAMED else ""
        log.warning("%s partitions=%s%s %s", what, named, more, cause)
    return frozenset(causes)


# -- commit order ----------------------------------------------------------------------------------


CommitCallback: TypeAlias = Callable[[CommitOutcome], Awaitable[None] | None]
"""Progress the outcome of one `commit_soon`, plain or awaitable."""

_Bound: TypeAlias = dict[Claim, OffsetAndMetadata]

_NAME: Final = "the callback of commit_soon"


@dataclass(slots=True, eq=False)
class Job:
    """One commit that was asked for.

    Args:
        bound: claim -> what to commit.
        asked: claim -> the ledger's moment at which that was said.
        callback: called with the outcome, None without one.
        urgent: whether a caller waits for the answer.
    """

    bound: dict[Claim, OffsetAndMetadata]
    asked: dict[Claim, int]
    callback: CommitCallback | None = None
    urgent: bool = False
    sent: bool = False
    _outcomes: dict[TopicPartition, PartitionOutcome] = field(default_factory=dict)
    _news: Notifier = field(default_factory=Notifier)

    @property
    def silent(self) -> bool:
        """Whether no caller waits for it and no callback gets it: the next job may include it."""
        return not self.urgent and self.callback is None

    @property
    def outcome(self) -> CommitOutcome:
        """The outcomes that are known."""
        return CommitOutcome(dict(self._outcomes))

    @property
    def closed(self) -> bool:
        """Whether the outcome of every partition is known."""
        return len(self._outcomes) == len(self.bound)

    async def answered(self) -> CommitOutcome:
        """Wait for the outcome of every partition."""
        if self.closed:
            await anyio.lowlevel.checkpoint()  # so that a loop of such calls lets others run
        while not self.closed:
            await self._news.wait()
        return self.outcome

    def close(self, claim: Claim, outcome: PartitionOutcome) -> None:
        """Note the outcome of one partition; the first counts."""
        if claim in self.bound:
            offset = self.bound[claim]
            own = outcome if outcome.offset is offset else replace(outcome, offset=offset)
            self._outcomes.setdefault(claim.tp, own)
        if self.closed:
            self._news.notify()


class CommitOrder:
    """The line of commits of one consumer.

    Args:
        gate: knows the backend of each claim, and takes reports of callbacks that failed.
        ledger: notes the offsets that are committed.
        code: calls back.
    """

    def __init__(self, gate: Gate, ledger: Ledger, code: UserCode) -> None:
        self._gate = gate
        self._ledger = ledger
        self._code = code
        self._line: deque[Job] = deque()
        self._urgent = 0
        self._under_way = 0
        self._unreported: deque[Job] = deque()
        self._reporting = anyio.CancelScope()
        self._calling = False
        self._warned: frozenset[str] = frozenset()
        self._ended = False
        self._tasks: TaskGroup | None = None
        self._queues: dict[GroupBackend, QueueingBackend | None] = {}
        self._to_send = Notifier()
        self._to_report = Notifier()
        self._reported = Notifier()

    def submit(self, job: Job) -> Job:
        """Put a job at the end of the line; return it, or the one it became a part of.

        Raises:
            ClosedError: the last callback has run; nothing is sent or called any more. A callback
                that commits again after each failure would be called for ever.
        """
        if self._ended:
            raise ClosedError("the consumer is closed; nothing more is committed")
        last = self._line[-1] if self._line else None
        if last is not None and last.silent and job.silent:
            last.bound.update(job.bound)
            last.asked.update(job.asked)
            return last
        self._line.append(job)
        self._unreported.append(job)
        self._urgent += job.urgent
        if job.urgent and self._tasks is not None:
            self._send_at_once()
        if self._line:
            self._to_send.notify()
        if job.closed:
            self._report_closed()
        return job

    async def landed(self, claims: Collection[Claim] | None = None) -> None:
        """Wait until what was submitted so far is answered; the caller bounds the time.

        Args:
            claims: as far as it is about these, None for all.
        """
        for job in tuple(self._unreported):
            if claims is None or not job.bound.keys().isdisjoint(claims):
                await job.answered()

    async def run(self) -> None:
        """Send, and call back, until cancelled."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._report)
                self._tasks = tasks
                while True:
                    await (self._send(tasks) if self._may_send() else self._to_send.wait())
        finally:
            self._tasks = None
            await self._cut_off()

    async def end(self, patience: float) -> None:
        """Wait for answers and for callbacks, then do without.

        Afterwards every callback was called, and nothing is sent any more.

        Args:
            patience: seconds to wait.
        """
        with anyio.move_on_after(patience):
            while self._unreported or self._calling:
                await self._reported.wait()
        await self._cut_off()

    # -- sending ---------------------------------------------------------------------------

    def _may_send(self) -> bool:
        return bool(self._line) and (not self._under_way or self._urgent > 0) and not self._ended

    def _send_at_once(self) -> None:
        """Hand everything in line over in the caller's own step, if all backends queue at once."""
        backends = {self._gate.backend_of(claim) for job in self._line for claim in job.bound}
        queues = {each: queue for each in backends if (queue := self._queue_of(each)) is not None}
        if len(queues) == len(backends):
            lot, parts = self._take_line()
            for backend, bound in parts.items():
                self._queue(queues[backend], bound, lot)

    async def _send(self, tasks: TaskGroup) -> None:
        """Hand everything in line to the backends, and see that they have it."""
        lot, parts = self._take_line()
        for backend, bound in parts.items():
            queue = self._queue_of(backend)
            if queue is not None:
                self._queue(queue, bound, lot)
                continue
            # A backend queues what it is given in the order of calls. Of two tasks the one that
            # was started later may run earlier, so wait until this one has made its call.
            begun = anyio.Event()
            self._under_way += 1
            tasks.start_soon(self._commit_at, backend, bound, lot, begun)
            await begun.wait()

    def _take_line(self) -> tuple[tuple[Job, ...], dict[GroupBackend, _Bound]]:
        """Empty the line; return its jobs, and what each backend is given of them."""
        lot = tuple(self._line)
        self._line.clear()
        self._urgent = 0
        latest: _Bound = {}
        for job in lot:
            job.sent = True
            latest.update(job.bound)
        parts: dict[GroupBackend, _Bound] = {}
        for claim, offset in latest.items():
            parts.setdefault(self._gate.backend_of(claim), {})[claim] = offset
        return lot, parts

    def _queue_of(self, backend: GroupBackend) -> QueueingBackend | None:
        """Tell whether a backend queues at once; asked of each once, for asking is slow."""
        if backend not in self._queues:
            self._queues[backend] = backend if isinstance(backend, QueueingBackend) else None
        return self._queues[backend]

    def _queue(self, backend: QueueingBackend, bound: _Bound, lot: tuple[Job, ...]) -> None:
        self._under_way += 1
        backend.submit_commit(bound, partial(self._heard, bound, lot))

    def _heard(self, bound: _Bound, lot: tuple[Job, ...], outcome: CommitOutcome) -> None:
        """Hear what became of what was queued; after the end nobody asks for it."""
        self._landed_one()
        if self._tasks is not None:
            self._close(bound, lot, outcome)

    async def _commit_at(
        self, backend: GroupBackend, bound: _Bound, lot: tuple[Job, ...], begun: anyio.Event
    ) -> None:
        begun.set()
        try:
            outcome = await backend.commit(bound)
        except (KGroupError, TimeoutError) as error:
            outcome = _all(bound, CommitStatus.UNKNOWN, str(error) or type(error).__name__)
        finally:
            self._landed_one()
        self._close(bound, lot, outcome)

    def _landed_one(self) -> None:
        self._under_way -= 1
        if self._line:
            self._to_send.notify()

    def _close(self, bound: _Bound, lot: tuple[Job, ...], outcome: CommitOutcome) -> None:
        """Close what the outcome is about, and report what that makes whole."""
        newest = {claim.tp: claim for claim in sorted(bound, key=_serial)}
        for claim, offset in bound.items():
            found = outcome.partitions[claim.tp]
            if newest[claim.tp] != claim:
                # Lost and given back while it stood in line: the answer is about the new claim.
                found = PartitionOutcome(CommitStatus.REFUSED, offset, None, "its claim is over")
            if found.status is CommitStatus.COMMITTED:
                asked = max(job.asked.get(claim, 0) for job in lot)
                self._ledger.acknowledged(claim, offset.offset, asked)
            for job in lot:
                job.close(claim, found)
        if self._gate.hold is not None:
            self._gate.hold.committed()
        self._report_closed()

    def _give_up(self, job: Job) -> None:
        """Close the partitions of a job that have no answer."""
        if job.sent:
            status, reason = CommitStatus.UNKNOWN, "the consumer was closed before the answer came"
        else:
            status, reason = CommitStatus.REFUSED, "the consumer was closed before it was sent"
        outcome = _all(job.bound, status, reason)
        for claim in job.bound:
            job.close(claim, outcome.partitions[claim.tp])

    # -- reporting -------------------------------------------------------------------------

    def _report_closed(self) -> None:
        """Report what is closed at the front of the line, as far as nothing is to be called."""
        if self._calling or self._ended:
            return  # the task that runs the callbacks goes on with the rest
        while self._unreported and self._unreported[0].closed:
            if self._unreported[0].callback is not None:
                self._to_report.notify()
                return
            self._note(self._unreported.popleft())

    async def _report(self) -> None:
        """Report outcomes in the order of calls, until `_cut_off` reports the rest.

        1. The answer to the oldest job comes, which wakes this task. 2. Before it runs, the time
        for closing is over: `_cut_off` reports all jobs. Cancelling comes too late to be noticed.
        """
        with self._reporting:
            while not self._ended:
                if self._unreported and self._unreported[0].closed:
                    await self._call_back(self._unreported.popleft())
                else:
                    await self._to_report.wait()

    def _note(self, job: Job) -> None:
        """Report a job without a callback: nobody waits for it, so that it failed is logged."""
        if not job.urgent:
            warned = self._warned
            self._warned = log_failures("commit_soon", job.outcome, warned=warned)
        self._reported.notify()

    async def _call_back(self, job: Job) -> None:
        if job.callback is None:
            self._note(job)
            return
        self._calling = True
        try:
            error = await self._code.call(_NAME, job.callback, job.outcome)
            if error is not None:
                self._gate.report(error)
        finally:
            self._calling = False
            self._reported.notify()

    async def _cut_off(self) -> None:
        """Report the rest without waiting; a callback that waits is cut off where it waits."""
        self._ended = True
        self._reporting.cancel()
        for job in self._unreported:
            self._give_up(job)
        while self._unreported:
            with anyio.CancelScope(shield=True) as scope:
                scope.cancel()
                await self._call_back(self._unreported.popleft())


def _serial(claim: Claim) -> int:
    return claim.serial


def _all(
    bound: Mapping[Claim, OffsetAndMetadata], status: CommitStatus, reason: str
) -> CommitOutcome:
    return CommitOutcome(
        {claim.tp: PartitionOutcome(status, each, None, reason) for claim, each in bound.items()}
    )
