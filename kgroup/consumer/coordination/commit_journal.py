"""Commits that are asked one by one, as the event log has them.

Decides: that each partition is told of when it is asked for, and once more with what became of it,
also when whoever asked was cancelled: what was written then may be carried out.
Never: sends a commit, or judges one.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from itertools import count
from types import MappingProxyType
from typing import Final

from kgroup.journal import CommitStage, CommitStep, Sink
from kgroup.types import (
    Claim,
    CommitOutcome,
    CommitStatus,
    OffsetAndMetadata,
    PartitionOutcome,
    TopicPartition,
)

__all__ = ["CommitJournal"]

_STAGE: Final[Mapping[CommitStatus, CommitStage]] = MappingProxyType(
    {
        CommitStatus.COMMITTED: CommitStage.OK,
        CommitStatus.REFUSED: CommitStage.ERROR,
        CommitStatus.UNKNOWN: CommitStage.UNKNOWN,
    }
)


class CommitJournal:
    """Numbers commits, and tells the journal of them.

    Args:
        sink: takes the journal's events.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._serials = count(1)

    async def told(
        self,
        offsets: Mapping[Claim, OffsetAndMetadata],
        commit: Callable[[], Awaitable[CommitOutcome]],
        *,
        asks: Collection[Claim],
    ) -> CommitOutcome:
        """Return what a commit comes to, and tell of it.

        Args:
            offsets: claim -> position.
            commit: carries it out.
            asks: claims for which anything is asked at all; the others are refused on the spot.
        """
        serial = next(self._serials)
        for claim, offset in offsets.items():
            if claim in asks:
                self._tell(CommitStage.REQUESTED, serial, claim, offset)
        outcomes: Mapping[TopicPartition, PartitionOutcome] = {}
        try:
            outcome = await commit()
            outcomes = outcome.partitions
        finally:
            for claim, offset in offsets.items():
                unknown = PartitionOutcome(CommitStatus.UNKNOWN, offset, None, "cancelled")
                found = outcomes.get(claim.tp, unknown)
                stage = _STAGE[found.status] if claim in asks else CommitStage.ERROR
                self._tell(stage, serial, claim, offset, found.code)
        return outcome

    def _tell(
        self,
        stage: CommitStage,
        serial: int,
        claim: Claim,
        offset: OffsetAndMetadata,
        code: int | None = None,
    ) -> None:
        step = CommitStep(
            stage=stage, commit_id=serial, claim=claim, offset=offset.offset, code=code
        )
        self._sink.emit(step)
