"""The commit queue: one request in flight, in order of submission, outcomes per partition.

Decides: what goes into the next OffsetCommit, and what each caller is told.
Never: commits under a claim that is over; retries a commit whose outcome is unknown; lets an
older offset of a partition overtake a newer one.

1. A caller submits offsets under claims and waits. 2. The worker takes everything submitted so
far, the latest offset per partition, and sends it with the generation of that moment. 3. What the
coordinator did not apply (a round is on, it moved) waits for the next request, while its claim
holds. 4. Without an answer the outcome is unknown, and stays so.
A caller that is cancelled ends its own wait; what it submitted is committed all the same.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import anyio

from kgroup.consumer.conductor import Conductor
from kgroup.errors import KGroupError
from kgroup.journal import CommitStage, CommitStep, Sink
from kgroup.membership.commits import CommitAnswer, commit_request, read_commit
from kgroup.membership.events import CommitRejected
from kgroup.net.cluster import Cluster, Lane
from kgroup.types import (
    Claim,
    CommitOutcome,
    CommitStatus,
    Generation,
    OffsetAndMetadata,
    PartitionOutcome,
    TopicPartition,
)

__all__ = ["CommitQueue"]


@dataclass(slots=True, eq=False)
class _Submission:
    """What one caller waits for."""

    serial: int
    open: dict[Claim, OffsetAndMetadata]
    deadline: float
    closed: dict[TopicPartition, PartitionOutcome] = field(default_factory=dict)
    done: anyio.Event = field(default_factory=anyio.Event)

    def close(self, claim: Claim, outcome: PartitionOutcome) -> None:
        self.open.pop(claim, None)
        self.closed[claim.tp] = outcome


class CommitQueue:
    """Commits for one member.

    Args:
        conductor: of the member.
        cluster: connections; not owned.
        sink: takes the journal's events.
        timeout: seconds until a commit that could not be sent is given up.
        pause: seconds between two tries.
    """

    def __init__(
        self, conductor: Conductor, cluster: Cluster, sink: Sink, *, timeout: float, pause: float
    ) -> None:
        self._conductor = conductor
        self._cluster = cluster
        self._sink = sink
        self._timeout = timeout
        self._pause = pause
        self._waiting: list[_Submission] = []
        self._serial = 0
        self._arrived: anyio.Event | None = None

    async def commit(self, offsets: Mapping[Claim, OffsetAndMetadata]) -> CommitOutcome:
        """Submit offsets and wait for the outcome of every partition.

        Args:
            offsets: claim -> position; a claim that is over is refused, nothing is sent for it.
        """
        return await self.submit(offsets)()

    def submit(
        self, offsets: Mapping[Claim, OffsetAndMetadata]
    ) -> Callable[[], Awaitable[CommitOutcome]]:
        """Queue offsets at once, in order; the returned function waits for the outcome."""
        self._serial += 1
        deadline = self._conductor.now + self._timeout
        submission = _Submission(self._serial, dict(offsets), deadline)
        for claim in tuple(submission.open):
            self._refuse_ended(submission, claim)
        for claim, offset in submission.open.items():
            self._emit(CommitStage.REQUESTED, submission.serial, claim, offset.offset)
        if submission.open:
            self._waiting.append(submission)
            self._wake()
        else:
            submission.done.set()

        async def outcome() -> CommitOutcome:
            await submission.done.wait()
            return CommitOutcome(dict(submission.closed))

        return outcome

    async def run(self) -> None:
        """Send what is submitted, one request at a time, until cancelled."""
        while True:
            if not self._waiting:
                await self._next_arrival()
            self._expire()
            generation = self._conductor.member.identity.generation
            if not self._waiting:
                continue
            if generation is None or not self._conductor.member.may_commit():
                with anyio.move_on_after(self._pause):
                    await self._conductor.moved()
                continue
            if await self._send(generation):
                await anyio.sleep(self._pause)

    def give_up(self, reason: str) -> None:
        """End every wait: the membership is over, nothing more is sent."""
        for submission in self._waiting:
            for claim, offset in tuple(submission.open.items()):
                self._close(submission, claim, _refusal(offset, reason))
        self._sweep()

    # -- sending ---------------------------------------------------------------------------

    async def _send(self, generation: Generation) -> bool:
        batch = tuple(self._waiting)
        latest: dict[Claim, OffsetAndMetadata] = {}
        for submission in batch:
            latest.update(submission.open)
        if not latest:
            self._sweep()
            return False
        offsets = {claim.tp: offset for claim, offset in latest.items()}
        node_id = self._conductor.member.coordinator.node_id
        assert node_id is not None
        try:
            answer = await self._cluster.send(
                node_id,
                commit_request(generation, offsets),
                lane=Lane.HEARTBEAT,
                timeout=self._timeout,
            )
        except (KGroupError, TimeoutError) as error:
            self._cluster.drop(node_id, Lane.HEARTBEAT)
            self._all_unknown(batch, str(error) or type(error).__name__)
            return True
        read = read_commit(offsets, answer)
        self._apply(batch, read, generation)
        return bool(read.again)

    def _apply(
        self, batch: tuple[_Submission, ...], read: CommitAnswer, generation: Generation
    ) -> None:
        for submission in batch:
            for claim, offset in tuple(submission.open.items()):
                outcome = read.outcomes.get(claim.tp)
                if outcome is not None:
                    mine = PartitionOutcome(outcome.status, offset, outcome.code, outcome.reason)
                    self._close(submission, claim, mine)
        if read.signal is not None:
            self._conductor.apply(CommitRejected(read.signal, generation, read.code))
        self._expire()

    def _all_unknown(self, batch: tuple[_Submission, ...], reason: str) -> None:
        for submission in batch:
            for claim, offset in tuple(submission.open.items()):
                unknown = PartitionOutcome(CommitStatus.UNKNOWN, offset, None, reason)
                self._close(submission, claim, unknown)
        self._sweep()

    # -- ending ----------------------------------------------------------------------------

    def _expire(self) -> None:
        for submission in self._waiting:
            for claim, offset in tuple(submission.open.items()):
                self._refuse_ended(submission, claim)
                if claim in submission.open and self._conductor.now >= submission.deadline:
                    reason = "the group was rebalancing, or had no coordinator, until the deadline"
                    self._close(submission, claim, _refusal(offset, reason))
        self._sweep()

    def _refuse_ended(self, submission: _Submission, claim: Claim) -> None:
        if not self._conductor.member.owns(claim):
            reason = "the partition is not owned any more; its claim is over"
            self._close(submission, claim, _refusal(submission.open[claim], reason))

    def _close(self, submission: _Submission, claim: Claim, outcome: PartitionOutcome) -> None:
        submission.close(claim, outcome)
        stage = {
            CommitStatus.COMMITTED: CommitStage.OK,
            CommitStatus.REFUSED: CommitStage.ERROR,
            CommitStatus.UNKNOWN: CommitStage.UNKNOWN,
        }[outcome.status]
        self._emit(stage, submission.serial, claim, outcome.offset.offset, outcome.code)

    def _sweep(self) -> None:
        # In order of submission: a caller never hears before one that asked earlier about the
        # same partition, for both are settled by the same answer or the earlier one before.
        for submission in self._waiting:
            if not submission.open:
                submission.done.set()
        self._waiting = [each for each in self._waiting if each.open]

    # -- waking and telling ----------------------------------------------------------------

    def _wake(self) -> None:
        arrived, self._arrived = self._arrived, None
        if arrived is not None:
            arrived.set()

    async def _next_arrival(self) -> None:
        self._arrived = anyio.Event()
        await self._arrived.wait()

    def _emit(
        self, stage: CommitStage, serial: int, claim: Claim, offset: int, code: int | None = None
    ) -> None:
        generation = self._conductor.member.identity.generation
        self._sink.emit(
            CommitStep(
                stage=stage,
                commit_id=serial,
                claim=claim,
                offset=offset,
                member_id=None if generation is None else generation.member_id,
                generation_id=None if generation is None else generation.generation_id,
                code=code,
            )
        )


def _refusal(offset: OffsetAndMetadata, reason: str) -> PartitionOutcome:
    return PartitionOutcome(CommitStatus.REFUSED, offset, None, reason)
