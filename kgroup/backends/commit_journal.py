"""Commits that are asked one by one, as the event log has them.

Decides: that each partition is written down when its commit is asked for, and once more with the
outcome, also when the caller was cancelled: a commit that was sent may be carried out.
Never: sends a commit, or judges one.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from itertools import count
from types import MappingProxyType
from typing import Final, Self

from kgroup.journal import CommitStage, CommitStep, Sink
from kgroup.machine.claims import Holdings, HoldingState
from kgroup.types import (
    Claim,
    CommitOutcome,
    CommitStatus,
    OffsetAndMetadata,
    PartitionOutcome,
    TopicPartition,
)

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

    async def journalled(
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
        with self.begun(offsets, asks=asks) as telling:
            outcome = await commit()
            telling.end(outcome.partitions)
        return outcome

    def begun(
        self, offsets: Mapping[Claim, OffsetAndMetadata], *, asks: Collection[Claim]
    ) -> "CommitTelling":
        """Tell that a commit is asked for; the returned context reports its end before it exits.

        Args:
            offsets: claim -> position.
            asks: claims for which anything is asked at all; the others are refused on the spot.
        """
        return CommitTelling(self._sink, next(self._serials), offsets, asks)


class CommitTelling:
    """Tells of one commit: when it is made, and once more with what became of it.

    Made by `CommitJournal.begun`. The step that learns the outcome writes it down, not the task
    that waits: 1. two tasks wait for commits of 93 and of 94; 2. one heartbeat answers both; 3. the
    task that happens to run first would write first, and the position would seem to go back.
    """

    def __init__(
        self,
        sink: Sink,
        serial: int,
        offsets: Mapping[Claim, OffsetAndMetadata],
        asks: Collection[Claim],
    ) -> None:
        self._sink = sink
        self._serial = serial
        self._offsets = offsets
        self._asks = asks
        self._over = False

    def __enter__(self) -> Self:
        for claim in self._offsets:
            if claim in self._asks:
                self._tell(CommitStage.REQUESTED, claim, None)
        return self

    def __exit__(self, *_: object) -> None:
        self.end({})

    def end(self, outcomes: Mapping[TopicPartition, PartitionOutcome]) -> None:
        """Tell what became of it, the first time; of partitions left out that nobody knows."""
        if self._over:
            return
        self._over = True
        for claim, offset in self._offsets.items():
            unknown = PartitionOutcome(CommitStatus.UNKNOWN, offset, None, "cancelled")
            found = outcomes.get(claim.tp, unknown)
            stage = _STAGE[found.status] if claim in self._asks else CommitStage.ERROR
            self._tell(stage, claim, found.code)

    def _tell(self, stage: CommitStage, claim: Claim, code: int | None) -> None:
        offset = self._offsets[claim].offset
        step = CommitStep(
            stage=stage, commit_id=self._serial, claim=claim, offset=offset, code=code
        )
        self._sink.emit(step)


# -- in hand ---------------------------------------------------------------------------------------
#
# What the application has in its hands of partitions that are to be handed back.
#
# Decides: when a machine hears that nobody has a record of them any more.
# Never: decides what is handed back, or how long a batch is waited for; the machine does.


class InHand:
    """Claims of which records are in the application's hands.

    Args:
        tell: tells the machine of claims that are drained; what that changes may come back here.
    """

    def __init__(self, tell: Callable[[tuple[Claim, ...]], None]) -> None:
        self._tell = tell
        self._claims: set[Claim] = set()
        self._telling = False

    def take(self, claim: Claim) -> None:
        """Note that records of a claim are handed out."""
        self._claims.add(claim)

    def put_down(self, claim: Claim) -> None:
        """Note that no record of a claim is in hand any more."""
        self._claims.discard(claim)

    def look(self, holdings: Holdings, *, whole: bool = False) -> None:
        """Tell the machine which draining claims nobody has a record of.

        Args:
            holdings: what the member owns.
            whole: whether all that drains is reported together, or nothing.
        """
        if self._telling:
            return  # we have caused this step: the caller that did so looks
        self._claims &= holdings.states.keys()
        draining = holdings.having(HoldingState.DRAINING)
        empty = tuple(claim for claim in draining if claim not in self._claims)
        if not empty or (whole and len(empty) < len(draining)):
            return
        self._telling = True
        try:
            self._tell(empty)
        finally:
            self._telling = False
