"""DeleteRecords: move the start of logs forward (KIP-107)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Int16, Int32, Int64, String, rows

__all__ = [
    "DeleteRecordsPartition",
    "DeleteRecordsPartitionResult",
    "DeleteRecordsRequest",
    "DeleteRecordsResponse",
    "DeleteRecordsTopic",
    "DeleteRecordsTopicResult",
]

_VERSIONS: Final = range(3)


@message()
class DeleteRecordsPartitionResult(Message):
    """The lowest offset that is left, -1 on an error."""

    partition_index: int = wire(Int32)
    low_watermark: int = wire(Int64)
    error_code: int = wire(Int16, default=0)


@message()
class DeleteRecordsTopicResult(Message):
    """Partitions of one topic."""

    name: str = wire(String)
    partitions: tuple[DeleteRecordsPartitionResult, ...] = wire(rows(DeleteRecordsPartitionResult))


@message(versions=_VERSIONS, flexible=2)
class DeleteRecordsResponse(Message):
    """The new starts; 1 the client waits throttle_time_ms out itself, 2 flexible."""

    throttle_time_ms: int = wire(Int32, default=0)
    topics: tuple[DeleteRecordsTopicResult, ...] = wire(rows(DeleteRecordsTopicResult))


@message()
class DeleteRecordsPartition(Message):
    """One partition; offset -1 = up to the high watermark."""

    partition_index: int = wire(Int32)
    offset: int = wire(Int64)


@message()
class DeleteRecordsTopic(Message):
    """Partitions of one topic."""

    name: str = wire(String)
    partitions: tuple[DeleteRecordsPartition, ...] = wire(rows(DeleteRecordsPartition))


@message(versions=_VERSIONS, flexible=2, api=ApiKey.DELETE_RECORDS)
class DeleteRecordsRequest(Request[DeleteRecordsResponse]):
    """Delete records below an offset; 2 flexible."""

    topics: tuple[DeleteRecordsTopic, ...] = wire(rows(DeleteRecordsTopic))
    timeout_ms: int = wire(Int32)
