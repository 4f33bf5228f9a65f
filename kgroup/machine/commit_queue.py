"""The commits of one member that wait: what the next request says, and what became of each.

Decides: what goes into the next OffsetCommit and under which generation, what is sent again, when
waiting is over, and the journal's events about it.
Never: commits under a claim that is over; has two requests in flight; sends again what has an
unknown outcome; lets an older offset of a partition overtake a newer one; sends, waits, or pauses.
KIPs: 211, 345.

1. Offsets are submitted under claims. 2. The next request takes everything submitted so far, the
latest offset per partition, with the generation of that moment. 3. What the coordinator did not
apply (a round is on, it moved, it cannot be connected) waits for the next request, while its claim
holds; what it does not know waits until metadata says whether it was deleted. 4. Without an answer
the outcome is unknown, and stays so.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field
from typing import Final

from kgroup.codes import ErrorCode, error_name
from kgroup.frozen import replace
from kgroup.journal import CommitStage, CommitStep
from kgroup.machine.commits import commit_request, read_commit
from kgroup.machine.committer import Committer
from kgroup.machine.wishes import CommitRejected
from kgroup.types import (
    Claim,
    CommitOutcome,
    CommitStatus,
    Generation,
    OffsetAndMetadata,
    PartitionOutcome,
    TopicPartition,
)
from kgroup.values import dataclass
from kgroup.wire.messages import OffsetCommitRequest, OffsetCommitResponse

_STALE: Final = ErrorCode.ILLEGAL_GENERATION
_NOT_THERE: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
_NOBODY: Final = ErrorCode.COORDINATOR_NOT_AVAILABLE

_STAGE: Final = {
    CommitStatus.COMMITTED: CommitStage.OK,
    CommitStatus.REFUSED: CommitStage.ERROR,
    CommitStatus.UNKNOWN: CommitStage.UNKNOWN,
}

_ENDED: Final = "the partition is not owned any more; its claim is over"
_TOO_LATE: Final = "the group was rebalancing, or had no coordinator, until the deadline"
_UNAWAITED: Final = "the partition was given up before the answer came"
_UNHEARD: Final = "the member ended before the answer came"


@dataclass(slots=True, eq=False)
class Submission:
    """What one caller submitted, and what became of it so far.

    Args:
        serial: number of the submission, rising from 1; the `commit_id` of the journal.
        open: claim -> position, of what has no outcome yet.
        deadline: instant from which what cannot be sent is given up.
        said: claim -> what the coordinator said the last time, of what may be sent again.
        closed: partition -> outcome, final.
    """

    serial: int
    open: dict[Claim, OffsetAndMetadata]
    deadline: float
    said: dict[Claim, PartitionOutcome] = field(default_factory=dict)
    closed: dict[TopicPartition, PartitionOutcome] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """Whether every partition has its outcome."""
        return not self.open

    @property
    def outcome(self) -> CommitOutcome:
        """What is known by now; whole once it is done."""
        return CommitOutcome(dict(self.closed))


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFlight:
    """One OffsetCommit that is on its way.

    Args:
        serial: number of the request, rising from 1.
        node_id: the coordinator it goes to.
        generation: the one it is stamped with.
        request: as it is sent.
        offsets: partition -> position, as the request has them.
        through: serial of the last submission it speaks for.
    """

    serial: int
    node_id: int
    generation: Generation
    request: OffsetCommitRequest
    offsets: Mapping[TopicPartition, OffsetAndMetadata]
    through: int


@dataclass(frozen=True, slots=True)
class CommitVerdict:
    """What an answer asks for, besides the outcomes.

    Args:
        rejected: what the membership must hear, None without anything.
        again: something was not applied: pause before the next request.
        not_there: the coordinator does not know a partition: metadata must be asked for.
    """

    rejected: CommitRejected | None = None
    again: bool = False
    not_there: bool = False


class PendingCommits:
    """The commits of one member, in order of submission.

    Its driver asks for the next request, sends it, and reports how it ended (`answered`,
    `failed` or `not_sent`). After each call it passes on what is due: `take_steps`, `take_done`.

    Args:
        timeout: seconds until a commit that could not be sent is given up.
    """

    __slots__ = ("_done", "_flight", "_flights", "_over", "_serial", "_steps", "_timeout", "_wait")

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._wait: list[Submission] = []
        self._done: list[Submission] = []
        self._steps: list[CommitStep] = []
        self._flight: CommitFlight | None = None
        self._serial = 0
        self._flights = 0
        self._over: str | None = None

    @property
    def waiting(self) -> tuple[Submission, ...]:
        """Submissions without a reported outcome, in order; the first of them is not done."""
        return tuple(self._wait)

    @property
    def in_flight(self) -> CommitFlight | None:
        """The request that is on its way, None without one."""
        return self._flight

    def submit(
        self, offsets: Mapping[Claim, OffsetAndMetadata], member: Committer, now: float
    ) -> Submission:
        """Queue offsets; what is under a claim that is over is refused at once.

        Args:
            offsets: claim -> position.
            member: the present value.
            now: instant, seconds.
        """
        self._serial += 1
        submission = Submission(self._serial, dict(offsets), now + self._timeout)
        for claim in tuple(submission.open):
            self._refuse_ended(submission, claim, member)
        for claim, offset in submission.open.items():
            self._tell(CommitStage.REQUESTED, submission, claim, offset.offset, member)
        self._wait.append(submission)
        if self._over is not None:
            self.give_up(self._over, member)
        self._sweep()
        return submission

    def next_request(
        self, member: Committer, now: float, is_gone: Callable[[TopicPartition], bool]
    ) -> CommitFlight | None:
        """Return the next request, after what has expired is closed; None: nothing can be sent.

        Nothing can while nothing waits, a request is in flight, or `member.may_commit()` is false.

        Args:
            member: the present value.
            now: instant, seconds.
            is_gone: tells whether metadata says that there is no such partition.
        """
        self.expire(member, now, is_gone)
        generation, node_id = member.identity.generation, member.coordinator.node_id
        if not self._wait or self._flight is not None or not member.may_commit():
            return None
        assert generation is not None
        assert node_id is not None
        latest: dict[Claim, OffsetAndMetadata] = {}
        for submission in self._wait:
            latest.update(submission.open)
        offsets = {claim.tp: offset for claim, offset in latest.items()}
        self._flights += 1
        self._flight = CommitFlight(
            serial=self._flights,
            node_id=node_id,
            generation=generation,
            request=commit_request(generation, offsets),
            offsets=offsets,
            through=self._serial,
        )
        return self._flight

    # -- how a request ends ------------------------------------------------------------------

    def answered(
        self, flight: CommitFlight, response: OffsetCommitResponse, member: Committer
    ) -> CommitVerdict:
        """Close what the answer decides. The membership hears `rejected` next, then `expire`.

        The answer to a request that has ended otherwise changes nothing.
        """
        if not self._awaits(flight):
            return CommitVerdict()
        read = read_commit(flight.offsets, response)
        again = False
        for submission, claim, offset in self._land():
            outcome = read.outcomes.get(claim.tp)
            code = read.codes.get(claim.tp) if outcome is None else outcome.code
            if code == ErrorCode.REBALANCE_IN_PROGRESS and member.eager:
                # It gives everything back before it joins that round: no later try can succeed.
                self._close(submission, claim, _refusal(offset, error_name(code), code), member)
            elif code is not None and (claim.tp in read.again or code == _STALE):
                # 1. a commit is written; 2. our JoinGroup completes the round on its own
                # connection; 3. the commit is refused: its generation is the last one. The
                # claim may well go on in the next, and then the commit is asked again.
                submission.said[claim] = _refusal(offset, error_name(code), code)
                again = True
            elif outcome is not None:
                self._close(submission, claim, replace(outcome, offset=offset), member)
        self._sweep()
        rejected = None
        if read.signal is not None:
            rejected = CommitRejected(read.signal, flight.generation, read.code)
        return CommitVerdict(rejected, again, _NOT_THERE in read.codes.values())

    def failed(self, flight: CommitFlight, reason: str, member: Committer) -> None:
        """No answer came and none will: the outcome is unknown, and nothing is sent again."""
        self._end(flight, CommitStatus.UNKNOWN, reason, member)

    def not_connected(self, flight: CommitFlight) -> None:
        """Have it wait for the next request: there was no connection, and nothing was sent."""
        if self._awaits(flight):
            self._land()

    def not_sent(self, flight: CommitFlight, reason: str, member: Committer) -> None:
        """The request could not be written: it is refused here, with that reason."""
        self._end(flight, CommitStatus.REFUSED, reason, member)

    def _end(
        self, flight: CommitFlight, status: CommitStatus, reason: str, member: Committer
    ) -> None:
        if not self._awaits(flight):
            return
        for submission, claim, offset in self._land():
            self._close(submission, claim, PartitionOutcome(status, offset, None, reason), member)
        self._sweep()

    def _awaits(self, flight: CommitFlight) -> bool:
        return self._flight is not None and self._flight.serial == flight.serial

    def _land(self) -> tuple[tuple[Submission, Claim, OffsetAndMetadata], ...]:
        """Have nothing in flight any more; return what was, as far as it is open."""
        flight, self._flight = self._flight, None
        assert flight is not None
        return tuple(
            (submission, claim, offset)
            for submission, claim, offset in self._open()
            if submission.serial <= flight.through
        )

    # -- what ends without a request ----------------------------------------------------------

    def expire(
        self, member: Committer, now: float, is_gone: Callable[[TopicPartition], bool]
    ) -> None:
        """Refuse what cannot be committed any more: claims that are over, what was deleted, what
        has waited too long. What is in flight is left to its answer.

        Args:
            member: the present value.
            now: instant, seconds.
            is_gone: tells whether metadata says that there is no such partition.
        """
        aloft = 0 if self._flight is None else self._flight.through
        for submission, claim, offset in tuple(self._open()):
            if submission.serial <= aloft:
                continue
            self._refuse_ended(submission, claim, member)
            said = submission.said.get(claim)
            if said is not None and said.code == _NOT_THERE and is_gone(claim.tp):
                self._close(submission, claim, said, member)  # deleted: nothing waits for it
            if claim in submission.open and now >= submission.deadline:
                self._refuse(submission, claim, _refusal(offset, _TOO_LATE, _NOBODY), member)
        self._sweep()

    def end(self, claims: Collection[Claim], member: Committer) -> None:
        """Close what is open under claims that are given up now, before a JoinGroup without them.

        What is in flight may be applied.
        """
        aloft = 0 if self._flight is None else self._flight.through
        for submission, claim, offset in tuple(self._open()):
            if claim in claims and submission.serial <= aloft:
                why = PartitionOutcome(CommitStatus.UNKNOWN, offset, None, _UNAWAITED)
                self._close(submission, claim, why, member)
            elif claim in claims:
                self._refuse(submission, claim, _refusal(offset, _ENDED), member)
        self._sweep()

    def give_up(self, reason: str, member: Committer) -> None:
        """End every wait, also of what is submitted from now on: nothing more is sent.

        What is in flight may be applied: its outcome is unknown.
        """
        self._over = reason
        if self._flight is not None:
            self.failed(self._flight, _UNHEARD, member)
        for submission, claim, offset in tuple(self._open()):
            self._close(submission, claim, _refusal(offset, reason), member)
        self._sweep()

    def _refuse_ended(self, submission: Submission, claim: Claim, member: Committer) -> None:
        if not member.owns(claim):
            why = _refusal(submission.open[claim], _ENDED)
            self._refuse(submission, claim, why, member)

    # -- what is reported -------------------------------------------------------------------------

    def take_steps(self) -> tuple[CommitStep, ...]:
        """Return the journal's events since the last call, in order."""
        steps, self._steps = tuple(self._steps), []
        return steps

    def take_done(self) -> tuple[Submission, ...]:
        """Return submissions done since the last call, in order of submission.

        What is done waits for those that asked earlier.
        """
        done, self._done = tuple(self._done), []
        return done

    def _open(self) -> Iterator[tuple[Submission, Claim, OffsetAndMetadata]]:
        for submission in self._wait:
            for claim, offset in submission.open.items():
                yield submission, claim, offset

    def _refuse(
        self, submission: Submission, claim: Claim, why: PartitionOutcome, member: Committer
    ) -> None:
        """Close it as refused; what the coordinator has said about it says more."""
        self._close(submission, claim, submission.said.get(claim, why), member)

    def _close(
        self, submission: Submission, claim: Claim, outcome: PartitionOutcome, member: Committer
    ) -> None:
        submission.open.pop(claim)
        submission.said.pop(claim, None)
        submission.closed[claim.tp] = outcome
        self._tell(
            _STAGE[outcome.status], submission, claim, outcome.offset.offset, member, outcome.code
        )

    def _tell(
        self,
        stage: CommitStage,
        submission: Submission,
        claim: Claim,
        offset: int,
        member: Committer,
        code: int | None = None,
    ) -> None:
        generation = member.identity.generation
        self._steps.append(
            CommitStep(
                stage=stage,
                commit_id=submission.serial,
                claim=claim,
                offset=offset,
                member_id=None if generation is None else generation.member_id,
                generation_id=None if generation is None else generation.generation_id,
                code=code,
            )
        )

    def _sweep(self) -> None:
        """Let callers hear in order of submission."""
        while self._wait and self._wait[0].done:
            self._done.append(self._wait.pop(0))


def _refusal(offset: OffsetAndMetadata, reason: str, code: int | None = None) -> PartitionOutcome:
    return PartitionOutcome(CommitStatus.REFUSED, offset, code, reason)
