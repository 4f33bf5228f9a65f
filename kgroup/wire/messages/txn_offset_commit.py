"""TxnOffsetCommit: commit offsets as part of a transaction (KIP-98, 447, 890)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Int16, Int32, Int64, String, Text, nullable, rows

__all__ = [
    "TxnOffsetCommitRequest",
    "TxnOffsetCommitRequestPartition",
    "TxnOffsetCommitRequestTopic",
    "TxnOffsetCommitResponse",
    "TxnOffsetCommitResponsePartition",
    "TxnOffsetCommitResponseTopic",
]

_VERSIONS: Final = range(6)


@message()
class TxnOffsetCommitResponsePartition(Message):
    """What became of one offset."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)


@message()
class TxnOffsetCommitResponseTopic(Message):
    """Partitions of one topic."""

    name: str = wire(String)
    partitions: tuple[TxnOffsetCommitResponsePartition, ...] = wire(
        rows(TxnOffsetCommitResponsePartition)
    )


@message(versions=_VERSIONS, flexible=3)
class TxnOffsetCommitResponse(Message):
    """The outcome per partition; 1 the client waits throttle_time_ms out itself, 3 flexible."""

    throttle_time_ms: int = wire(Int32, default=0)
    topics: tuple[TxnOffsetCommitResponseTopic, ...] = wire(rows(TxnOffsetCommitResponseTopic))


@message()
class TxnOffsetCommitRequestPartition(Message):
    """One offset: that of the next record to read; committed_leader_epoch (2+) -1 = unknown."""

    partition_index: int = wire(Int32)
    committed_offset: int = wire(Int64)
    committed_leader_epoch: int = wire(Int32, since=2, default=-1, ignorable=True)
    committed_metadata: str | None = wire(nullable(Text))


@message()
class TxnOffsetCommitRequestTopic(Message):
    """Partitions of one topic."""

    name: str = wire(String)
    partitions: tuple[TxnOffsetCommitRequestPartition, ...] = wire(
        rows(TxnOffsetCommitRequestPartition)
    )


@message(versions=_VERSIONS, flexible=3, api=ApiKey.TXN_OFFSET_COMMIT)
class TxnOffsetCommitRequest(Request[TxnOffsetCommitResponse]):
    """Commit when the transaction commits; sent to the group's coordinator.

    2 leader epochs (KIP-320); 3 flexible, and the membership that fences (KIP-447): generation_id
    -1, member_id empty and no instance id = not checked; 5 joins the transaction by itself
    (KIP-890).
    """

    transactional_id: str = wire(String)
    group_id: str = wire(String)
    producer_id: int = wire(Int64)
    producer_epoch: int = wire(Int16)
    generation_id: int = wire(Int32, since=3, default=-1)
    member_id: str = wire(String, since=3, default="")
    group_instance_id: str | None = wire(nullable(String), since=3, default=None)
    topics: tuple[TxnOffsetCommitRequestTopic, ...] = wire(rows(TxnOffsetCommitRequestTopic))
