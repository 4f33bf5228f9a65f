"""OffsetCommit, OffsetFetch and OffsetDelete: the committed offsets of a group.

Decides: the fields and the versions of these messages.
"""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import (
    ZERO_UUID,
    Boolean,
    Int16,
    Int32,
    Int64,
    String,
    Text,
    Uuid,
    array,
    nullable,
    nullable_from,
    rows,
)

__all__ = [
    "OffsetCommitRequest",
    "OffsetCommitRequestPartition",
    "OffsetCommitRequestTopic",
    "OffsetCommitResponse",
    "OffsetCommitResponsePartition",
    "OffsetCommitResponseTopic",
    "OffsetDeleteRequest",
    "OffsetDeleteRequestPartition",
    "OffsetDeleteRequestTopic",
    "OffsetDeleteResponse",
    "OffsetDeleteResponsePartition",
    "OffsetDeleteResponseTopic",
    "OffsetFetchRequest",
    "OffsetFetchRequestGroup",
    "OffsetFetchRequestTopic",
    "OffsetFetchRequestTopics",
    "OffsetFetchResponse",
    "OffsetFetchResponseGroup",
    "OffsetFetchResponsePartition",
    "OffsetFetchResponsePartitions",
    "OffsetFetchResponseTopic",
    "OffsetFetchResponseTopics",
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


_OFFSET_FETCH_VERSIONS: Final = range(1, 11)


@message()
class OffsetFetchResponsePartition(Message):
    """One offset (up to 7); committed_offset -1 = nothing was committed."""

    partition_index: int = wire(Int32, until=7)
    committed_offset: int = wire(Int64, until=7)
    committed_leader_epoch: int = wire(Int32, since=5, until=7, default=-1, ignorable=True)
    metadata: str | None = wire(nullable(Text), until=7)
    error_code: int = wire(Int16, until=7, default=0)


@message()
class OffsetFetchResponseTopic(Message):
    """Partitions of one topic (up to 7)."""

    name: str = wire(String, until=7)
    partitions: tuple[OffsetFetchResponsePartition, ...] = wire(
        rows(OffsetFetchResponsePartition), until=7
    )


@message()
class OffsetFetchResponsePartitions(Message):
    """One offset (8+); committed_offset -1 = nothing was committed."""

    partition_index: int = wire(Int32, since=8)
    committed_offset: int = wire(Int64, since=8)
    committed_leader_epoch: int = wire(Int32, since=8, default=-1, ignorable=True)
    metadata: str | None = wire(nullable(Text), since=8)
    error_code: int = wire(Int16, since=8, default=0)


@message()
class OffsetFetchResponseTopics(Message):
    """Partitions of one topic of one group: name 8 and 9, topic_id from 10 on."""

    name: str = wire(String, since=8, until=9, default="", ignorable=True)
    topic_id: bytes = wire(Uuid, since=10, default=ZERO_UUID, ignorable=True)
    partitions: tuple[OffsetFetchResponsePartitions, ...] = wire(
        rows(OffsetFetchResponsePartitions), since=8
    )


@message()
class OffsetFetchResponseGroup(Message):
    """The offsets of one group (8+), or its error."""

    group_id: str = wire(String, since=8)
    topics: tuple[OffsetFetchResponseTopics, ...] = wire(rows(OffsetFetchResponseTopics), since=8)
    error_code: int = wire(Int16, since=8, default=0)


@message(versions=_OFFSET_FETCH_VERSIONS, flexible=6)
class OffsetFetchResponse(Message):
    """The offsets: at the top up to version 7, per group from 8 on (KIP-709).

    2 error_code of the group; 3 throttle_time_ms; 4 the client waits it out itself; 5 leader
    epochs (KIP-320); 6 flexible; 10 topic ids.
    """

    throttle_time_ms: int = wire(Int32, since=3, default=0, ignorable=True)
    topics: tuple[OffsetFetchResponseTopic, ...] = wire(
        rows(OffsetFetchResponseTopic), until=7, default=()
    )
    error_code: int = wire(Int16, since=2, until=7, default=0, ignorable=True)
    groups: tuple[OffsetFetchResponseGroup, ...] = wire(
        rows(OffsetFetchResponseGroup), since=8, default=()
    )


@message()
class OffsetFetchRequestTopic(Message):
    """Partitions of one topic (up to 7)."""

    name: str = wire(String, until=7)
    partition_indexes: tuple[int, ...] = wire(array(Int32), until=7)


@message()
class OffsetFetchRequestTopics(Message):
    """Partitions of one topic of one group: name 8 and 9, topic_id from 10 on."""

    name: str = wire(String, since=8, until=9, default="", ignorable=True)
    topic_id: bytes = wire(Uuid, since=10, default=ZERO_UUID, ignorable=True)
    partition_indexes: tuple[int, ...] = wire(array(Int32), since=8)


@message()
class OffsetFetchRequestGroup(Message):
    """One group (8+); topics None = every partition with an offset.

    member_id and member_epoch (9+) are None and -1 for a reader that is no member of the new
    protocol.
    """

    group_id: str = wire(String, since=8)
    member_id: str | None = wire(nullable(String), since=9, default=None, ignorable=True)
    member_epoch: int = wire(Int32, since=9, default=-1, ignorable=True)
    topics: tuple[OffsetFetchRequestTopics, ...] | None = wire(
        nullable(rows(OffsetFetchRequestTopics)), since=8
    )


@message(versions=_OFFSET_FETCH_VERSIONS, flexible=6, api=ApiKey.OFFSET_FETCH)
class OffsetFetchRequest(Request[OffsetFetchResponse]):
    """Ask for offsets: of one group up to version 7, of several from 8 on (KIP-709).

    topics None = every partition with an offset (2+). 6 flexible; 7 require_stable: answer
    UNSTABLE_OFFSET_COMMIT while a transaction is open (KIP-447); 9 member epochs (KIP-848); 10
    topic ids.
    """

    group_id: str = wire(String, until=7, default="")
    topics: tuple[OffsetFetchRequestTopic, ...] | None = wire(
        nullable_from(2, rows(OffsetFetchRequestTopic)), until=7, default=()
    )
    groups: tuple[OffsetFetchRequestGroup, ...] = wire(
        rows(OffsetFetchRequestGroup), since=8, default=()
    )
    # Kafka's definition does not call it ignorable, but Java's consumer drops it for an older
    # broker unless asked not to (KIP-447); so does this one.
    require_stable: bool = wire(Boolean, since=7, default=False, ignorable=True)


_OFFSET_DELETE_VERSIONS: Final = range(1)


@message()
class OffsetDeleteResponsePartition(Message):
    """What became of one offset."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)


@message()
class OffsetDeleteResponseTopic(Message):
    """Partitions of one topic."""

    name: str = wire(String)
    partitions: tuple[OffsetDeleteResponsePartition, ...] = wire(
        rows(OffsetDeleteResponsePartition)
    )


@message(versions=_OFFSET_DELETE_VERSIONS)
class OffsetDeleteResponse(Message):
    """The outcome: of the group, and per partition."""

    error_code: int = wire(Int16, default=0)
    throttle_time_ms: int = wire(Int32, default=0, ignorable=True)
    topics: tuple[OffsetDeleteResponseTopic, ...] = wire(rows(OffsetDeleteResponseTopic))


@message()
class OffsetDeleteRequestPartition(Message):
    """One partition."""

    partition_index: int = wire(Int32)


@message()
class OffsetDeleteRequestTopic(Message):
    """Partitions of one topic."""

    name: str = wire(String)
    partitions: tuple[OffsetDeleteRequestPartition, ...] = wire(rows(OffsetDeleteRequestPartition))


@message(versions=_OFFSET_DELETE_VERSIONS, api=ApiKey.OFFSET_DELETE)
class OffsetDeleteRequest(Request[OffsetDeleteResponse]):
    """Delete offsets; partitions still subscribed answer GROUP_SUBSCRIBED_TO_TOPIC."""

    group_id: str = wire(String)
    topics: tuple[OffsetDeleteRequestTopic, ...] = wire(rows(OffsetDeleteRequestTopic))
