"""Commits: from what is done, or what the application says, to outcomes per partition.

Decides: which claims and offsets go into a commit; what the ledger learns from its outcome.
Never: commits a partition that is not owned, or under another claim than the one held when the
commit was asked for; tells a caller less than every partition's outcome.
"""

from collections.abc import Collection, Mapping
from typing import Final

from kgroup.consumer.backend import GroupBackend
from kgroup.consumer.delivery import Delivery
from kgroup.consumer.gate import Gate
from kgroup.errors import ArgumentError, CommitFailedError
from kgroup.net.pulse import Pulse
from kgroup.types import (
    Claim,
    CommitOutcome,
    CommitStatus,
    OffsetAndMetadata,
    PartitionOutcome,
    TopicPartition,
)

__all__ = ["Committing", "Offsets"]

Offsets = Mapping[TopicPartition, int | OffsetAndMetadata]
"""Partition -> the next offset to read, alone or with metadata."""

_MAX_METADATA: Final = 4096
"""Bytes a broker keeps by default."""


class Committing:
    """Commits of one consumer.

    Args:
        delivery: its ledger and its claims.
        gate: knows the backend.
    """

    def __init__(self, delivery: Delivery, gate: Gate) -> None:
        self._delivery = delivery
        self._ledger = delivery.ledger
        self._gate = gate
        self._in_flight = 0
        self._landed = Pulse()

    async def commit(self, offsets: Offsets | None) -> CommitOutcome:
        """Commit everything handed out, or the offsets given.

        Raises:
            ArgumentError, NotOwnedError: nothing was sent.
            CommitFailedError: some partitions were refused, or their outcome is not known.
        """
        bound = self._everything() if offsets is None else self._bind(offsets)
        outcome = await self._send(bound)
        if not outcome.ok:
            raise CommitFailedError(outcome)
        return outcome

    async def commit_done(self, claims: Collection[Claim] | None = None) -> CommitOutcome:
        """Commit what is done and not committed yet.

        Args:
            claims: of these only, None for all.
        """
        self._delivery.sweep()
        bound = {
            claim: offset
            for claim, offset in tuple(self._ledger.uncommitted())
            if claims is None or claim in claims
        }
        return await self._send(bound)

    async def landed(self) -> None:
        """Wait until no commit is on its way; the caller bounds the time."""
        while self._in_flight:
            await self._landed.wait()

    # -- what to commit --------------------------------------------------------------------

    def _everything(self) -> dict[Claim, OffsetAndMetadata]:
        self._delivery.sweep()
        for owned in self._delivery.owned:
            self._delivery.finish_all(owned.claim)
        return dict(self._ledger.uncommitted())

    def _bind(self, offsets: Offsets) -> dict[Claim, OffsetAndMetadata]:
        sound = {_sound_partition(tp): _sound_offset(tp, each) for tp, each in offsets.items()}
        found = self._delivery.owned.require(sound)
        for owned in found:
            self._delivery.finish_all(owned.claim, sound[owned.tp].offset)
        return {owned.claim: sound[owned.tp] for owned in found}

    # -- sending ---------------------------------------------------------------------------

    async def _send(self, bound: Mapping[Claim, OffsetAndMetadata]) -> CommitOutcome:
        if not bound:
            return CommitOutcome()
        for claim in bound:
            self._delivery.tell_done(claim)
        by_keeper: dict[GroupBackend, dict[Claim, OffsetAndMetadata]] = {}
        for claim, offset in bound.items():
            by_keeper.setdefault(self._gate.keeper(claim), {})[claim] = offset
        outcomes: dict[TopicPartition, PartitionOutcome] = {}
        self._in_flight += 1
        try:
            for keeper, part in by_keeper.items():
                outcomes |= await self._commit_at(keeper, part)
        finally:
            self._in_flight -= 1
            self._landed.fire()
        return CommitOutcome(outcomes)

    async def _commit_at(
        self, keeper: GroupBackend, bound: Mapping[Claim, OffsetAndMetadata]
    ) -> Mapping[TopicPartition, PartitionOutcome]:
        outcome = await keeper.commit(bound)
        for claim, offset in bound.items():
            answer = outcome.partitions.get(claim.tp)
            if answer is not None and answer.status is CommitStatus.COMMITTED:
                self._ledger.acknowledged(claim, offset.offset)
        return outcome.partitions


def _sound_partition(tp: object) -> TopicPartition:
    match tp:
        case (str(topic), int(partition)):
            return TopicPartition(topic, partition)
        case _:
            raise ArgumentError("offsets", tp, "a TopicPartition as key")


def _sound_offset(tp: TopicPartition, given: object) -> OffsetAndMetadata:
    match given:
        case bool():
            pass
        case int(offset) if offset >= 0:
            return OffsetAndMetadata(offset)
        case (int(offset), str(metadata)) | (int(offset), str(metadata), _) if offset >= 0:
            epoch = given.leader_epoch if isinstance(given, OffsetAndMetadata) else None
            if len(metadata.encode()) > _MAX_METADATA:
                size = len(metadata.encode())
                expected = f"at most {_MAX_METADATA} bytes of metadata, as brokers do"
                raise ArgumentError(f"offsets[{tp}]", f"{size} bytes", expected)
            return OffsetAndMetadata(offset, metadata, epoch)
        case _:
            pass
    raise ArgumentError(f"offsets[{tp}]", given, "an offset of at least 0, or OffsetAndMetadata")
