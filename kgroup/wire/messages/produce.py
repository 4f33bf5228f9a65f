"""Produce: append record batches to partitions (KIP-98, 467, 516, 951)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import (
    ZERO_UUID,
    Int16,
    Int32,
    Int64,
    Records,
    String,
    Text,
    Uuid,
    nullable,
    row,
    rows,
)

__all__ = [
    "BatchIndexAndErrorMessage",
    "PartitionProduceData",
    "PartitionProduceResponse",
    "ProduceLeaderIdAndEpoch",
    "ProduceNodeEndpoint",
    "ProduceRequest",
    "ProduceResponse",
    "TopicProduceData",
    "TopicProduceResponse",
]

_VERSIONS: Final = range(3, 14)


@message()
class BatchIndexAndErrorMessage(Message):
    """A record that made its batch fail (8+, KIP-467)."""

    batch_index: int = wire(Int32, since=8)
    batch_index_error_message: str | None = wire(nullable(Text), since=8, default=None)


@message()
class ProduceLeaderIdAndEpoch(Message):
    """The leader to turn to (10+, KIP-951); -1, -1 = not said."""

    leader_id: int = wire(Int32, since=10, default=-1)
    leader_epoch: int = wire(Int32, since=10, default=-1)


@message()
class PartitionProduceResponse(Message):
    """The offset of the first record, or the error.

    base_offset is -1 on an error; log_append_time_ms is -1 unless the topic stamps on append.
    """

    index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)
    base_offset: int = wire(Int64)
    log_append_time_ms: int = wire(Int64, since=2, default=-1, ignorable=True)
    log_start_offset: int = wire(Int64, since=5, default=-1, ignorable=True)
    record_errors: tuple[BatchIndexAndErrorMessage, ...] = wire(
        rows(BatchIndexAndErrorMessage), since=8, default=(), ignorable=True
    )
    error_message: str | None = wire(nullable(Text), since=8, default=None, ignorable=True)
    current_leader: ProduceLeaderIdAndEpoch = wire(
        row(ProduceLeaderIdAndEpoch), since=10, default=ProduceLeaderIdAndEpoch(), tag=0
    )


@message()
class TopicProduceResponse(Message):
    """Partitions of one topic: name up to version 12, topic_id from 13 on."""

    name: str = wire(String, until=12, default="", ignorable=True)
    topic_id: bytes = wire(Uuid, since=13, default=ZERO_UUID, ignorable=True)
    partition_responses: tuple[PartitionProduceResponse, ...] = wire(rows(PartitionProduceResponse))


@message()
class ProduceNodeEndpoint(Message):
    """The address of a leader named in the answer (10+, KIP-951)."""

    node_id: int = wire(Int32, since=10)
    host: str = wire(String, since=10)
    port: int = wire(Int32, since=10)
    rack: str | None = wire(nullable(String), since=10, default=None)


@message(versions=_VERSIONS, flexible=9)
class ProduceResponse(Message):
    """Where the batches went, partition by partition.

    2 log_append_time_ms; 5 log_start_offset; 6 the client waits throttle_time_ms out itself; 8
    record_errors and error_message (KIP-467); 9 flexible; 10 current_leader, node_endpoints
    (KIP-951); 13 topics by id.
    """

    responses: tuple[TopicProduceResponse, ...] = wire(rows(TopicProduceResponse))
    throttle_time_ms: int = wire(Int32, since=1, default=0, ignorable=True)
    node_endpoints: tuple[ProduceNodeEndpoint, ...] = wire(
        rows(ProduceNodeEndpoint), since=10, default=(), tag=0
    )


@message()
class PartitionProduceData(Message):
    """The record data for one partition: one batch, since version 3."""

    index: int = wire(Int32)
    records: memoryview | bytes | None = wire(nullable(Records))


@message()
class TopicProduceData(Message):
    """Partitions of one topic: name up to version 12, topic_id from 13 on."""

    name: str = wire(String, until=12, default="", ignorable=True)
    topic_id: bytes = wire(Uuid, since=13, default=ZERO_UUID, ignorable=True)
    partition_data: tuple[PartitionProduceData, ...] = wire(rows(PartitionProduceData))


@message(versions=_VERSIONS, flexible=9, api=ApiKey.PRODUCE)
class ProduceRequest(Request[ProduceResponse]):
    """Append; acks is 0 (no answer at all), 1 (leader) or -1 (all in sync).

    3 transactional_id; 7 zstd is allowed; 9 flexible; 12 joins partitions to a transaction by
    itself (KIP-890); 13 topics by id (KIP-516).
    """

    transactional_id: str | None = wire(nullable(String), since=3, default=None)
    acks: int = wire(Int16)
    timeout_ms: int = wire(Int32)
    topic_data: tuple[TopicProduceData, ...] = wire(rows(TopicProduceData))
