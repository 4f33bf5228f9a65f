"""The commit queue: one request in flight, in order of submission, outcomes per partition.

Decides: what goes into the next OffsetCommit, and what each caller is told.
Never: commits under a claim that is over; retries a commit whose outcome is unknown; lets an
older offset of a partition overtake a newer one.

1. A caller submits offsets under claims and waits. 2. The worker takes everything submitted so
far, the latest offset per partition, and sends it with the generation of that moment. 3. What the
coordinator did not apply (a round is on, it moved) waits for the next request, while its claim
holds; what it does not know waits until metadata says whether it was deleted. 4. Without an answer
the outcome is unknown, and stays so.
A caller that is cancelled ends its own wait; what it submitted is committed all the same.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

import anyio

from kgroup.codes import ErrorCode, error_name
from kgroup.consumer.coordination.conductor import Conductor
from kgroup.errors import KGroupError, LocalProtocolError, UnsupportedVersionError
from kgroup.journal import CommitStage, CommitStep, Sink
from kgroup.membership.commits import CommitAnswer, commit_request, read_commit
from kgroup.membership.events import CommitRejected
from kgroup.net.backoff import Backoff
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


_STALE = ErrorCode.ILLEGAL_GENERATION
_NOT_THERE = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@dataclass(slots=True, eq=False)
class _Submission:
    """What one caller waits for."""

    serial: int
    open: dict[Claim, OffsetAndMetadata]
    deadline: float
    refused: dict[Claim, PartitionOutcome] = field(default_factory=dict)
    closed: dict[TopicPartition, PartitionOutcome] = field(default_factory=dict)
    done: anyio.Event = field(default_factory=anyio.Event)

    def close(self, claim: Claim, outcome: PartitionOutcome) -> None:
        self.open.pop(claim, None)
        self.refused.pop(claim, None)
        self.closed[claim.tp] = outcome


class CommitQueue:
    """Commits for one member.

    Args:
        conductor: of the member.
        cluster: connections; not owned.
        sink: takes the journal's events.
        timeout: seconds until a commit that could not be sent is given up.
        backoff: pauses between two tries of what the coordinator does not apply.
    """

    def __init__(
        self,
        conductor: Conductor,
        cluster: Cluster,
        sink: Sink,
        *,
        timeout: float,
        backoff: Backoff,
    ) -> None:
        self._conductor = conductor
        self._cluster = cluster
        self._sink = sink
        self._timeout = timeout
        self._backoff = backoff
        self._waiting: list[_Submission] = []
        self._serial = 0
        self._arrived: anyio.Event | None = None
        self._over: str | None = None

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
        self._waiting.append(submission)
        if self._over is None:
            self._sweep()
            self._wake()
        else:
            self.give_up(self._over)

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
            member = self._conductor.member
            generation = member.identity.generation
            if not self._waiting:
                continue
            if generation is None or not member.may_commit():
                with anyio.move_on_after(self._backoff.initial):
                    await self._conductor.moved()
                continue
            applied = await self._send(generation)
            self._backoff = self._backoff.reset() if applied else self._backoff.failed()
            await anyio.sleep(self._backoff.pause(self._cluster.ports.dice))

    def give_up(self, reason: str) -> None:
        """End every wait, also of what is submitted from now on: nothing more is sent."""
        self._over = reason
        for submission in self._waiting:
            for claim, offset in tuple(submission.open.items()):
                self._close(submission, claim, _refusal(offset, reason))
        self._sweep()

    # -- sending ---------------------------------------------------------------------------

    async def _send(self, generation: Generation) -> bool:
        """Send everything that waits, once; tell whether nothing has to be sent again."""
        batch = tuple(self._waiting)
        latest: dict[Claim, OffsetAndMetadata] = {}
        for submission in batch:
            latest.update(submission.open)
        offsets = {claim.tp: offset for claim, offset in latest.items()}
        node_id = self._conductor.member.coordinator.node_id
        assert node_id is not None
        request = commit_request(generation, offsets)
        try:
            answer = await self._cluster.send(
                node_id, request, lane=Lane.HEARTBEAT, timeout=self._timeout
            )
        except (UnsupportedVersionError, LocalProtocolError) as error:
            self._close_all(batch, CommitStatus.REFUSED, str(error))
            return False
        except (KGroupError, TimeoutError) as error:
            if isinstance(error, TimeoutError):
                self._cluster.drop(node_id, Lane.HEARTBEAT)
            self._close_all(batch, CommitStatus.UNKNOWN, str(error) or type(error).__name__)
            return False
        except anyio.get_cancelled_exc_class():
            reason = "the member ended before the answer came"
            self._close_all(batch, CommitStatus.UNKNOWN, reason)
            raise
        return self._apply(batch, read_commit(offsets, answer), generation)

    def _apply(
        self, batch: tuple[_Submission, ...], read: CommitAnswer, generation: Generation
    ) -> bool:
        again = False
        for submission in batch:
            for claim, offset in tuple(submission.open.items()):
                outcome = read.outcomes.get(claim.tp)
                code = read.codes.get(claim.tp) if outcome is None else outcome.code
                if code is not None and (claim.tp in read.again or code == _STALE):
                    # 1. a commit is written; 2. our JoinGroup completes the round on its own
                    # connection; 3. the commit is refused: its generation is the last one. The
                    # claim may well go on in the next, and then the commit is asked again.
                    submission.refused[claim] = _refusal(offset, error_name(code), code)
                    again = True
                elif outcome is not None:
                    self._close(submission, claim, replace(outcome, offset=offset))
        if _NOT_THERE in read.codes.values():
            self._cluster.invalidate()
        if read.signal is not None:
            self._conductor.apply(CommitRejected(read.signal, generation, read.code))
        self._expire()
        return not again

    def _close_all(self, batch: tuple[_Submission, ...], status: CommitStatus, reason: str) -> None:
        for submission in batch:
            for claim, offset in tuple(submission.open.items()):
                self._close(submission, claim, PartitionOutcome(status, offset, None, reason))
        self._sweep()

    # -- ending ----------------------------------------------------------------------------

    def _expire(self) -> None:
        for submission in self._waiting:
            for claim, offset in tuple(submission.open.items()):
                self._refuse_ended(submission, claim)
                self._refuse_gone(submission, claim)
                if claim in submission.open and self._conductor.now >= submission.deadline:
                    reason = "the group was rebalancing, or had no coordinator, until the deadline"
                    self._refuse(submission, claim, _refusal(offset, reason))
        self._sweep()

    def _refuse_ended(self, submission: _Submission, claim: Claim) -> None:
        if not self._conductor.member.owns(claim):
            reason = "the partition is not owned any more; its claim is over"
            self._refuse(submission, claim, _refusal(submission.open[claim], reason))

    def _refuse_gone(self, submission: _Submission, claim: Claim) -> None:
        """Refuse what was deleted: its revocation must not wait until the deadline for a commit."""
        said = submission.refused.get(claim)
        if said is not None and said.code == _NOT_THERE and self._cluster.view.is_gone(claim.tp):
            self._close(submission, claim, said)

    def _refuse(self, submission: _Submission, claim: Claim, why: PartitionOutcome) -> None:
        """Close it as refused; what the coordinator has said about it says more."""
        self._close(submission, claim, submission.refused.get(claim, why))

    def _close(self, submission: _Submission, claim: Claim, outcome: PartitionOutcome) -> None:
        submission.close(claim, outcome)
        stage = {
            CommitStatus.COMMITTED: CommitStage.OK,
            CommitStatus.REFUSED: CommitStage.ERROR,
            CommitStatus.UNKNOWN: CommitStage.UNKNOWN,
        }[outcome.status]
        self._emit(stage, submission.serial, claim, outcome.offset.offset, outcome.code)

    def _sweep(self) -> None:
        """Wake callers in order of submission: nobody hears before one that asked earlier."""
        while self._waiting and not self._waiting[0].open:
            self._waiting.pop(0).done.set()

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


def _refusal(offset: OffsetAndMetadata, reason: str, code: int | None = None) -> PartitionOutcome:
    return PartitionOutcome(CommitStatus.REFUSED, offset, code, reason)
