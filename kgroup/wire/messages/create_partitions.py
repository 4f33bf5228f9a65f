"""CreatePartitions: make a topic wider (KIP-195)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Boolean, Int16, Int32, String, Text, array, nullable, rows

__all__ = [
    "CreatePartitionsAssignment",
    "CreatePartitionsRequest",
    "CreatePartitionsResponse",
    "CreatePartitionsTopic",
    "CreatePartitionsTopicResult",
]

_VERSIONS: Final = range(4)


@message()
class CreatePartitionsTopicResult(Message):
    """What became of one topic."""

    name: str = wire(String)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(nullable(Text), default=None)


@message(versions=_VERSIONS, flexible=2)
class CreatePartitionsResponse(Message):
    """The outcome per topic; 1 the client waits throttle_time_ms out itself, 2 flexible."""

    throttle_time_ms: int = wire(Int32, default=0)
    results: tuple[CreatePartitionsTopicResult, ...] = wire(rows(CreatePartitionsTopicResult))


@message()
class CreatePartitionsAssignment(Message):
    """The brokers that shall hold one new partition."""

    broker_ids: tuple[int, ...] = wire(array(Int32))


@message()
class CreatePartitionsTopic(Message):
    """One topic and the count it shall have in all; assignments None = the broker chooses."""

    name: str = wire(String)
    count: int = wire(Int32)
    assignments: tuple[CreatePartitionsAssignment, ...] | None = wire(
        nullable(rows(CreatePartitionsAssignment))
    )


@message(versions=_VERSIONS, flexible=2, api=ApiKey.CREATE_PARTITIONS)
class CreatePartitionsRequest(Request[CreatePartitionsResponse]):
    """Grow topics; 2 flexible, 3 THROTTLING_QUOTA_EXCEEDED may come (KIP-599)."""

    topics: tuple[CreatePartitionsTopic, ...] = wire(rows(CreatePartitionsTopic))
    timeout_ms: int = wire(Int32)
    validate_only: bool = wire(Boolean)
