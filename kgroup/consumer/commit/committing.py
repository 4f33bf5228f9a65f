"""Which offsets a commit has, and under which claims; to outcomes per partition.

Decides: which claims and offsets go into a commit, and what is refused before anything is sent.
Never: commits a partition that is not owned, or under another claim than the one held when the
commit was asked for; a record or a batch under another claim than its own; returns less than every
partition's outcome.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final, TypeAlias

from kgroup.backends.coordinator_search import refusing
from kgroup.consumer.buffer.delivery import Delivery
from kgroup.consumer.buffer.gate import Gate
from kgroup.consumer.commit.commit_order import CommitCallback, CommitOrder, Job
from kgroup.consumer.reads.batch import Batch
from kgroup.consumer.reads.record import Record
from kgroup.consumer.user_code import UserCode
from kgroup.errors import (
    ArgumentError,
    CommitFailedError,
    IllegalStateError,
    NotOwnedError,
    UnsupportedError,
)
from kgroup.types import Claim, CommitOutcome, OffsetAndMetadata, TopicPartition

__all__ = ["CommitCallback", "Committable", "Committing", "Offsets"]

Offsets: TypeAlias = Mapping[TopicPartition, int | OffsetAndMetadata]
"""Partition -> the next offset to read, alone or with metadata."""

Committable: TypeAlias = Offsets | Record[Any, Any] | Batch[Any, Any] | None
"""What can be committed: offsets, a record and all before it, a batch and all before it, or None
for everything handed out."""

_MAX_METADATA: Final = 4096
"""Bytes a broker keeps by default (`offset.metadata.max.bytes`)."""
_MAX_OFFSET: Final = 2**63 - 1
_MAX_EPOCH: Final = 2**31 - 1


class Committing:
    """Commits of one consumer; `run` carries them out.

    Args:
        delivery: its ledger and its claims.
        gate: knows the backends, and takes reports of callbacks that failed.
        code: calls back.
        group_id: the group whose offsets are committed, None without a group.
        by_itself: whether records are committed before they are handed out, at most once; then
            the application may not commit.
    """

    def __init__(
        self,
        delivery: Delivery,
        gate: Gate,
        code: UserCode,
        group_id: str | None,
        *,
        by_itself: bool = False,
    ) -> None:
        self._delivery = delivery
        self._ledger = delivery.ledger
        self._group_id = group_id
        self._by_itself = by_itself
        self._gate = gate
        self._order = CommitOrder(gate, delivery.ledger, code)

    async def run(self) -> None:
        """Send commits, and report their outcomes, until cancelled."""
        await self._order.run()

    async def end(self, patience: float) -> None:
        """Wait for answers, at most `patience` seconds; then run every callback that is left."""
        await self._order.end(patience)

    async def landed(self, claims: Collection[Claim] | None = None) -> None:
        """Wait until what was submitted so far (about some claims) is answered.

        The caller bounds the time.
        """
        await self._order.landed(claims)

    async def commit(self, what: Committable) -> CommitOutcome:
        """Commit, and wait for the answer; a caller that is cancelled ends its own wait only.

        Raises:
            ArgumentError, NotOwnedError, IllegalStateError: nothing was sent.
            CommitFailedError: some partitions were refused, or their outcome is not known.
        """
        async with refusing():
            job = self._submit(self._bound(what), urgent=True)
        outcome = await job.answered()
        if not outcome.ok:
            raise CommitFailedError(outcome)
        return outcome

    def commit_soon(self, what: Committable, callback: CommitCallback | None) -> None:
        """Commit, without waiting for anything.

        Args:
            what: see `Committable`; it counts as done.
            callback: called with the outcome once, in the order of calls, also when it failed.

        Raises:
            ArgumentError, NotOwnedError, IllegalStateError: nothing will be sent or called.
        """
        if callback is not None and not callable(callback):
            raise ArgumentError("callback", callback, "a function of a CommitOutcome, or None")
        self._submit(self._bound(what), callback=callback)

    async def commit_done(self, claims: Collection[Claim] | None = None) -> CommitOutcome:
        """Commit what is done and not committed yet.

        Args:
            claims: of these only, None for all.
        """
        async with refusing():
            job = self._submit(self._done(claims), urgent=True)
        return await job.answered()

    async def commit_held(self) -> CommitOutcome:
        """Commit what is done; leave out claims that ended meanwhile without a commit.

        Their end is reported elsewhere, and no commit under them can succeed any more.
        """
        bound = self._done(None)
        outcome = await self._submit(bound, urgent=True).answered()
        failed = outcome.failed()
        over = {claim.tp for claim in bound if claim.tp in failed and self._is_over(claim)}
        kept = {tp: each for tp, each in outcome.partitions.items() if tp not in over}
        return CommitOutcome(kept)

    def _done(self, claims: Collection[Claim] | None) -> dict[Claim, OffsetAndMetadata]:
        self._delivery.sweep()
        uncommitted = tuple(self._ledger.uncommitted())
        if claims is None:
            return dict(uncommitted)
        wanted = frozenset(claims)
        return {claim: offset for claim, offset in uncommitted if claim in wanted}

    def _is_over(self, claim: Claim) -> bool:
        """Ask the backend: `owned` lags behind it until the loss is carried out."""
        return claim not in self._gate.backend_of(claim).membership.claims

    def _submit(
        self,
        bound: dict[Claim, OffsetAndMetadata],
        *,
        callback: CommitCallback | None = None,
        urgent: bool = False,
    ) -> Job:
        for claim in bound:
            self._delivery.journal_done(claim)
        asked = dict.fromkeys(bound, self._ledger.moment())
        return self._order.submit(Job(bound, asked, callback, urgent))

    # -- what to commit --------------------------------------------------------------------

    def _bound(self, what: object) -> dict[Claim, OffsetAndMetadata]:
        """Return the offsets to commit, under the claims held now; their records count as done."""
        if self._group_id is None:
            raise IllegalStateError("there is no group_id to commit offsets for")
        if self._by_itself:
            reason = "at most once, records are committed before they are handed out"
            raise UnsupportedError(f"{reason}: there is nothing to commit")
        self._delivery.sweep()
        match what:
            case None:
                return self._everything()
            case Record():
                claim, at = _claim_of(what), _sound_offset(what.tp, what.offset).offset
                bound = self._held(claim, OffsetAndMetadata(at + 1, "", what.leader_epoch))
            case Batch():
                end = OffsetAndMetadata(what.next_offset, "", _epoch_before(what))
                bound = self._held(what.claim, end)
            case Mapping():
                bound = self._given(what)
            case _:
                expected = "a mapping of partitions to offsets, a Record, a Batch, or None"
                raise ArgumentError("what", what, expected)
        for claim, offset in bound.items():
            self._delivery.finish_all(claim, offset.offset)
        return bound

    def _everything(self) -> dict[Claim, OffsetAndMetadata]:
        for owned in self._delivery.owned:
            self._delivery.finish_all(owned.claim)
        return dict(self._ledger.uncommitted())

    def _held(self, claim: Claim, offset: OffsetAndMetadata) -> dict[Claim, OffsetAndMetadata]:
        if self._delivery.owned.of(claim) is None:
            reason = "handed out in a period of ownership that is over; nothing was sent"
            raise NotOwnedError([claim.tp], reason)
        return {claim: offset}

    def _given(self, offsets: Mapping[Any, object]) -> dict[Claim, OffsetAndMetadata]:
        if not offsets:
            expected = "at least one partition; None commits everything handed out"
            raise ArgumentError("what", offsets, expected)
        sound = {_sound_partition(tp): _sound_offset(tp, each) for tp, each in offsets.items()}
        found = self._delivery.owned.require(sound)
        return {owned.claim: sound[owned.tp] for owned in found}


def _claim_of(record: Record[Any, Any]) -> Claim:
    if record.claim is None:
        raise ArgumentError("what", record, "a record as this consumer handed it out")
    return record.claim


def _epoch_before(batch: Batch[Any, Any]) -> int | None:
    """Return the leader epoch of the last record in front of a batch's end (KIP-320)."""
    end = batch.next_offset
    epochs = (each.leader_epoch for each in reversed(batch.columns()) if each.first < end)
    return next(epochs, None)


def _sound_partition(tp: object) -> TopicPartition:
    match tp:
        case (str(topic), int(partition)) if topic and not isinstance(partition, bool):
            return TopicPartition(topic, partition)
        case _:
            raise ArgumentError("what", tp, "a TopicPartition as key")


def _sound_offset(tp: TopicPartition, given: object) -> OffsetAndMetadata:
    offset, metadata, epoch = given, "", None
    match given:
        case OffsetAndMetadata():
            offset, metadata, epoch = given
        case (first, str(text)) | (first, str(text), _):
            offset, metadata = first, text
        case _:
            pass
    if not _whole(offset, _MAX_OFFSET) or not (epoch is None or _whole(epoch, _MAX_EPOCH)):
        expected = f"an offset from 0 to {_MAX_OFFSET}, or OffsetAndMetadata"
        raise ArgumentError(f"what[{tp}]", given, expected)
    assert isinstance(offset, int)
    return OffsetAndMetadata(offset, _sound_metadata(tp, metadata), epoch)


def _sound_metadata(tp: TopicPartition, metadata: object) -> str:
    try:
        size = len(metadata.encode()) if isinstance(metadata, str) else None
    except UnicodeEncodeError:  # half of a surrogate pair
        size = None
    if size is None or size > _MAX_METADATA:
        given = type(metadata).__name__ if size is None else f"{size} bytes"
        expected = f"text of at most {_MAX_METADATA} bytes as metadata, which is what brokers keep"
        raise ArgumentError(f"what[{tp}]", given, expected)
    assert isinstance(metadata, str)
    return metadata


def _whole(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most
