"""The pending commits of a member that is driven by hand: asked for, sent, answered, reported."""

from collections.abc import Mapping

from kgroup.journal import CommitStage
from kgroup.machine.commit_queue import (
    CommitFlight,
    CommitVerdict,
    PendingCommits,
    Submission,
)
from kgroup.membership.events import Unsubscribed
from kgroup.types import Claim, CommitStatus, OffsetAndMetadata, TopicPartition
from kgroup.wire.messages import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tests.membership.driver import Driven, partitions

TIMEOUT = 5.0


class PendingQueue:
    """The pending commits of a driven member; offsets are said as `t_0=5`."""

    def __init__(self, *owned: str) -> None:
        self.driven = Driven().join(*(owned or ("t-0", "t-1")))
        self.pending = PendingCommits(TIMEOUT)
        self.claims = {str(claim.tp): claim for claim in self.driven.member.holdings.claims}
        self.gone: frozenset[TopicPartition] = frozenset()

    def submit(self, **offsets: int) -> Submission:
        asked = {self.claims[name.replace("_", "-")]: at for name, at in offsets.items()}
        return self.submit_claims(asked)

    def submit_claims(self, asked: Mapping[Claim, int]) -> Submission:
        offsets = {claim: OffsetAndMetadata(at) for claim, at in asked.items()}
        return self.pending.submit(offsets, self.driven.member, self.driven.now)

    def next(self) -> CommitFlight | None:
        return self.pending.next_request(self.driven.member, self.driven.now, self._is_gone)

    def send(self) -> CommitFlight:
        flight = self.next()
        assert flight is not None
        return flight

    def answer(self, flight: CommitFlight, **codes: int) -> CommitVerdict:
        """Have it answered, 0 for whatever is not named, and outcomes reported."""
        response = answer(flight.request, codes)
        verdict = self.pending.answered(flight, response, self.driven.member)
        if verdict.rejected is not None:
            self.driven.on(verdict.rejected)
        self.expire()
        return verdict

    def fail(self, flight: CommitFlight) -> None:
        self.pending.failed(flight, "the connection broke", self.driven.member)

    def expire(self, *, after: float = 0.0) -> None:
        self.driven.now += after
        self.pending.expire(self.driven.member, self.driven.now, self._is_gone)

    def lose_everything(self) -> None:
        self.driven.on(Unsubscribed())
        self.driven.settle()

    def steps(self) -> list[tuple[int, CommitStage, int, int | None]]:
        """The journal's events that are due: commit, stage, offset, generation."""
        return [
            (step.commit_id, step.stage, step.offset, step.generation_id)
            for step in self.pending.take_steps()
        ]

    def reported(self) -> list[int]:
        """Serials of those that hear now."""
        return [each.serial for each in self.pending.take_done()]

    def _is_gone(self, tp: TopicPartition) -> bool:
        return tp in self.gone


def answer(request: OffsetCommitRequest, codes: Mapping[str, int]) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=tuple(
            OffsetCommitResponseTopic(
                name=topic.name,
                partitions=tuple(
                    OffsetCommitResponsePartition(
                        partition_index=row.partition_index,
                        error_code=codes.get(f"{topic.name}_{row.partition_index}", 0),
                    )
                    for row in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def offsets(flight: CommitFlight) -> dict[str, int]:
    """What a request says, partition -> offset."""
    return {
        f"{topic.name}-{row.partition_index}": row.committed_offset
        for topic in flight.request.topics
        for row in topic.partitions
    }


def status(submission: Submission, name: str = "t-0") -> CommitStatus:
    (tp,) = partitions(name)
    return submission.outcome.partitions[tp].status
