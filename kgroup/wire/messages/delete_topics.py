"""DeleteTopics: remove topics (KIP-4, 516, 599)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import (
    ZERO_UUID,
    Int16,
    Int32,
    String,
    Text,
    Uuid,
    array,
    nullable,
    nullable_from,
    rows,
)

__all__ = [
    "DeletableTopicResult",
    "DeleteTopicState",
    "DeleteTopicsRequest",
    "DeleteTopicsResponse",
]

_VERSIONS: Final = range(1, 7)


@message()
class DeletableTopicResult(Message):
    """What became of one topic; name is None when an unknown id was given (6+)."""

    name: str | None = wire(nullable_from(6, String))
    topic_id: bytes = wire(Uuid, since=6, default=ZERO_UUID, ignorable=True)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(nullable(Text), since=5, default=None, ignorable=True)


@message(versions=_VERSIONS, flexible=4)
class DeleteTopicsResponse(Message):
    """The outcome per topic.

    2 the client waits throttle_time_ms out itself; 4 flexible; 5 error_message (KIP-599); 6
    topic_id.
    """

    throttle_time_ms: int = wire(Int32, since=1, default=0, ignorable=True)
    responses: tuple[DeletableTopicResult, ...] = wire(rows(DeletableTopicResult))


@message()
class DeleteTopicState(Message):
    """One topic (6+): name, or topic_id with name None."""

    name: str | None = wire(nullable(String), since=6, default=None)
    topic_id: bytes = wire(Uuid, since=6)


@message(versions=_VERSIONS, flexible=4, api=ApiKey.DELETE_TOPICS)
class DeleteTopicsRequest(Request[DeleteTopicsResponse]):
    """Delete by topic_names up to version 5, by name or id (topics) in 6 (KIP-516); 4 flexible."""

    topics: tuple[DeleteTopicState, ...] = wire(rows(DeleteTopicState), since=6, default=())
    topic_names: tuple[str, ...] = wire(array(String), until=5, default=(), ignorable=True)
    timeout_ms: int = wire(Int32)
