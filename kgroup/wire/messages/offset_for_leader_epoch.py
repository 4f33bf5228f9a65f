"""OffsetForLeaderEpoch: where an epoch ends in the log, to notice truncation (KIP-101, 320)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Int16, Int32, Int64, String, rows

__all__ = [
    "OffsetForLeaderEpochEndOffset",
    "OffsetForLeaderEpochRequest",
    "OffsetForLeaderEpochResponse",
    "OffsetForLeaderPartition",
    "OffsetForLeaderTopic",
    "OffsetForLeaderTopicResult",
]

_VERSIONS: Final = range(2, 5)


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


@message(versions=_VERSIONS, flexible=4)
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


@message(versions=_VERSIONS, flexible=4, api=ApiKey.OFFSET_FOR_LEADER_EPOCH)
class OffsetForLeaderEpochRequest(Request[OffsetForLeaderEpochResponse]):
    """Ask for the end of epochs.

    3 replica_id, -1 from a consumer (older versions need a permission on the cluster); 4 flexible.
    """

    replica_id: int = wire(Int32, since=3, default=-2, ignorable=True)
    topics: tuple[OffsetForLeaderTopic, ...] = wire(rows(OffsetForLeaderTopic))
