"""OffsetDelete: remove committed offsets of topics nobody in the group reads (KIP-496)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Int16, Int32, String, rows

__all__ = [
    "OffsetDeleteRequest",
    "OffsetDeleteRequestPartition",
    "OffsetDeleteRequestTopic",
    "OffsetDeleteResponse",
    "OffsetDeleteResponsePartition",
    "OffsetDeleteResponseTopic",
]

_VERSIONS: Final = range(1)


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


@message(versions=_VERSIONS)
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


@message(versions=_VERSIONS, api=ApiKey.OFFSET_DELETE)
class OffsetDeleteRequest(Request[OffsetDeleteResponse]):
    """Delete offsets; partitions still subscribed answer GROUP_SUBSCRIBED_TO_TOPIC."""

    group_id: str = wire(String)
    topics: tuple[OffsetDeleteRequestTopic, ...] = wire(rows(OffsetDeleteRequestTopic))
