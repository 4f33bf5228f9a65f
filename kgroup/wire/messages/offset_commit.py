"""OffsetCommit: store offsets of a group (KIP-211, 320, 345, 848)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import (
    ZERO_UUID,
    Int16,
    Int32,
    Int64,
    String,
    Text,
    Uuid,
    nullable,
    rows,
)

__all__ = [
    "OffsetCommitRequest",
    "OffsetCommitRequestPartition",
    "OffsetCommitRequestTopic",
    "OffsetCommitResponse",
    "OffsetCommitResponsePartition",
    "OffsetCommitResponseTopic",
]

_VERSIONS: Final = range(2, 11)


@message()
class OffsetCommitResponsePartition(Message):
    """What became of one offset."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)


@message()
class OffsetCommitResponseTopic(Message):
    """One topic: name up to version 9, topic_id from 10 on."""

    name: str = wire(String, until=9, default="", ignorable=True)
    topic_id: bytes = wire(Uuid, since=10, default=ZERO_UUID, ignorable=True)
    partitions: tuple[OffsetCommitResponsePartition, ...] = wire(
        rows(OffsetCommitResponsePartition)
    )


@message(versions=_VERSIONS, flexible=8)
class OffsetCommitResponse(Message):
    """The outcome, partition by partition; there is no error for the whole.

    3 throttle_time_ms; 4 the client waits it out itself; 8 flexible; 9 errors of KIP-848; 10 topic
    ids.
    """

    throttle_time_ms: int = wire(Int32, since=3, default=0, ignorable=True)
    topics: tuple[OffsetCommitResponseTopic, ...] = wire(rows(OffsetCommitResponseTopic))


@message()
class OffsetCommitRequestPartition(Message):
    """One offset: that of the next record to read.

    committed_leader_epoch (6+, KIP-320) is the epoch of the last record read, -1 = unknown.
    """

    partition_index: int = wire(Int32)
    committed_offset: int = wire(Int64)
    committed_leader_epoch: int = wire(Int32, since=6, default=-1, ignorable=True)
    committed_metadata: str | None = wire(nullable(Text))


@message()
class OffsetCommitRequestTopic(Message):
    """One topic: name up to version 9, topic_id from 10 on."""

    name: str = wire(String, until=9, default="", ignorable=True)
    topic_id: bytes = wire(Uuid, since=10, default=ZERO_UUID, ignorable=True)
    partitions: tuple[OffsetCommitRequestPartition, ...] = wire(rows(OffsetCommitRequestPartition))


@message(versions=_VERSIONS, flexible=8, api=ApiKey.OFFSET_COMMIT)
class OffsetCommitRequest(Request[OffsetCommitResponse]):
    """Commit, in the name of a member of a generation.

    generation_id_or_member_epoch -1 with an empty member_id commits without membership.
    retention_time_ms only 2 to 4 (-1 = the broker's; dropped by KIP-211); 6 leader epochs
    (KIP-320); 7 group_instance_id (KIP-345); 8 flexible; 9 member epochs of the new protocol
    (KIP-848); 10 topics by id instead of name.
    """

    group_id: str = wire(String)
    generation_id_or_member_epoch: int = wire(Int32, since=1, default=-1, ignorable=True)
    member_id: str = wire(String, since=1, default="", ignorable=True)
    group_instance_id: str | None = wire(nullable(String), since=7, default=None)
    retention_time_ms: int = wire(Int64, since=2, until=4, default=-1, ignorable=True)
    topics: tuple[OffsetCommitRequestTopic, ...] = wire(rows(OffsetCommitRequestTopic))
