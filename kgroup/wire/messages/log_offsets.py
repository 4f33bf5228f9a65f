"""ListOffsets and OffsetForLeaderEpoch: places in a log.

Decides: the fields and the versions of these messages.
"""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Int8, Int16, Int32, Int64, String, rows

__all__ = [
    "ListOffsetsPartition",
    "ListOffsetsPartitionResponse",
    "ListOffsetsRequest",
    "ListOffsetsResponse",
    "ListOffsetsTopic",
    "ListOffsetsTopicResponse",
    "OffsetForLeaderEpochEndOffset",
    "OffsetForLeaderEpochRequest",
    "OffsetForLeaderEpochResponse",
    "OffsetForLeaderPartition",
    "OffsetForLeaderTopic",
    "OffsetForLeaderTopicResult",
]

_VERSIONS: Final = range(1, 12)


@message()
class ListOffsetsPartitionResponse(Message):
    """One answer: offset -1 = no such record; leader_epoch (4+) -1 = unknown."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)
    timestamp: int = wire(Int64, since=1, default=-1)
    offset: int = wire(Int64, since=1, default=-1)
    leader_epoch: int = wire(Int32, since=4, default=-1)


@message()
class ListOffsetsTopicResponse(Message):
    """Partitions of one topic."""

    name: str = wire(String)
    partitions: tuple[ListOffsetsPartitionResponse, ...] = wire(rows(ListOffsetsPartitionResponse))


@message(versions=_VERSIONS, flexible=6)
class ListOffsetsResponse(Message):
    """The offsets.

    2 throttle_time_ms; 3 the client waits it out itself; 4 leader_epoch (KIP-320); 6 flexible.
    """

    throttle_time_ms: int = wire(Int32, since=2, default=0, ignorable=True)
    topics: tuple[ListOffsetsTopicResponse, ...] = wire(rows(ListOffsetsTopicResponse))


@message()
class ListOffsetsPartition(Message):
    """One question: timestamp in ms, or one of the special ones.

    -1 end, -2 start, -3 record of maximum timestamp (7+), -4 local start (8+), -5 last tiered
    (9+), -6 earliest pending upload (11).

    current_leader_epoch (4+) -1 = do not check.
    """

    partition_index: int = wire(Int32)
    current_leader_epoch: int = wire(Int32, since=4, default=-1, ignorable=True)
    timestamp: int = wire(Int64)


@message()
class ListOffsetsTopic(Message):
    """Partitions of one topic."""

    name: str = wire(String)
    partitions: tuple[ListOffsetsPartition, ...] = wire(rows(ListOffsetsPartition))


@message(versions=_VERSIONS, flexible=6, api=ApiKey.LIST_OFFSETS)
class ListOffsetsRequest(Request[ListOffsetsResponse]):
    """Ask for offsets by timestamp; the leader of each partition answers.

    replica_id is -1 from a consumer. 2 isolation_level: with 1 the end is the last stable offset
    (KIP-98); 4 current_leader_epoch (KIP-320); 6 flexible; 7 maximum timestamp (KIP-734); 8 local
    log start (KIP-405); 9 last tiered offset (KIP-1005); 10 timeout_ms (KIP-1075); 11 earliest
    offset that waits for upload (KIP-1023).
    """

    replica_id: int = wire(Int32)
    isolation_level: int = wire(Int8, since=2, default=0)
    topics: tuple[ListOffsetsTopic, ...] = wire(rows(ListOffsetsTopic))
    timeout_ms: int = wire(Int32, since=10, default=0, ignorable=True)


_OFFSET_FOR_LEADER_EPOCH_VERSIONS: Final = range(2, 5)


@message()
class OffsetForLeaderEpochEndOffset(Message):
    """The largest epoch not above the one asked about and where it ends; -1, -1 = undefined."""

    error_code: int = wire(Int16, default=0)
    partition: int = wire(Int32)
    leader_epoch: int = wire(Int32, since=1, default=-1, ignorable=True)
    end_offset: int = wire(Int64, default=-1)


@message()
class OffsetForLeaderTopicResult(Message):
    """Partitions of one topic."""

    topic: str = wire(String)
    partitions: tuple[OffsetForLeaderEpochEndOffset, ...] = wire(
        rows(OffsetForLeaderEpochEndOffset)
    )


@message(versions=_OFFSET_FOR_LEADER_EPOCH_VERSIONS, flexible=4)
class OffsetForLeaderEpochResponse(Message):
    """The ends; 2 throttle_time_ms, 4 flexible."""

    throttle_time_ms: int = wire(Int32, since=2, default=0, ignorable=True)
    topics: tuple[OffsetForLeaderTopicResult, ...] = wire(rows(OffsetForLeaderTopicResult))


@message()
class OffsetForLeaderPartition(Message):
    """leader_epoch is the one asked about.

    current_leader_epoch (2+, KIP-320) lets the broker refuse a client with old metadata, -1 = do
    not.
    """

    partition: int = wire(Int32)
    current_leader_epoch: int = wire(Int32, since=2, default=-1, ignorable=True)
    leader_epoch: int = wire(Int32)


@message()
class OffsetForLeaderTopic(Message):
    """Partitions of one topic."""

    topic: str = wire(String)
    partitions: tuple[OffsetForLeaderPartition, ...] = wire(rows(OffsetForLeaderPartition))


@message(versions=_OFFSET_FOR_LEADER_EPOCH_VERSIONS, flexible=4, api=ApiKey.OFFSET_FOR_LEADER_EPOCH)
class OffsetForLeaderEpochRequest(Request[OffsetForLeaderEpochResponse]):
    """Ask for the end of epochs.

    3 replica_id, -1 from a consumer (older versions need a permission on the cluster); 4 flexible.
    """

    replica_id: int = wire(Int32, since=3, default=-2, ignorable=True)
    topics: tuple[OffsetForLeaderTopic, ...] = wire(rows(OffsetForLeaderTopic))
