"""Producer ids and transactions (KIP-98).

Decides: the fields and the versions of these messages.
"""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Boolean, Int16, Int32, Int64, String, Text, array, nullable, rows

__all__ = [
    "AddOffsetsToTxnRequest",
    "AddOffsetsToTxnResponse",
    "AddPartitionsToTxnPartitionResult",
    "AddPartitionsToTxnRequest",
    "AddPartitionsToTxnResponse",
    "AddPartitionsToTxnResult",
    "AddPartitionsToTxnTopic",
    "AddPartitionsToTxnTopicResult",
    "AddPartitionsToTxnTransaction",
    "EndTxnRequest",
    "EndTxnResponse",
    "InitProducerIdRequest",
    "InitProducerIdResponse",
    "TxnOffsetCommitRequest",
    "TxnOffsetCommitRequestPartition",
    "TxnOffsetCommitRequestTopic",
    "TxnOffsetCommitResponse",
    "TxnOffsetCommitResponsePartition",
    "TxnOffsetCommitResponseTopic",
]

_VERSIONS: Final = range(7)


@message(versions=_VERSIONS, flexible=2)
class InitProducerIdResponse(Message):
    """The id and epoch to stamp on batches.

    1 the client waits throttle_time_ms out itself; 2 flexible; 6 the transaction that was kept
    (KIP-939).
    """

    throttle_time_ms: int = wire(Int32, default=0, ignorable=True)
    error_code: int = wire(Int16, default=0)
    producer_id: int = wire(Int64, default=-1)
    producer_epoch: int = wire(Int16)
    ongoing_txn_producer_id: int = wire(Int64, since=6, default=-1, ignorable=True)
    ongoing_txn_producer_epoch: int = wire(Int16, since=6, default=-1, ignorable=True)


@message(versions=_VERSIONS, flexible=2, api=ApiKey.INIT_PRODUCER_ID)
class InitProducerIdRequest(Request[InitProducerIdResponse]):
    """Ask for an id; transactional_id None = idempotence only.

    2 flexible; 3 producer_id and producer_epoch to go on with, -1 = new (KIP-360); 6 two-phase
    commit, not released for use (KIP-939).
    """

    transactional_id: str | None = wire(nullable(String))
    transaction_timeout_ms: int = wire(Int32)
    producer_id: int = wire(Int64, since=3, default=-1)
    producer_epoch: int = wire(Int16, since=3, default=-1)
    enable2_pc: bool = wire(Boolean, since=6, default=False)
    keep_prepared_txn: bool = wire(Boolean, since=6, default=False)


_ADD_PARTITIONS_TO_TXN_VERSIONS: Final = range(6)


@message()
class AddPartitionsToTxnPartitionResult(Message):
    """What became of one partition."""

    partition_index: int = wire(Int32)
    partition_error_code: int = wire(Int16)


@message()
class AddPartitionsToTxnTopicResult(Message):
    """Partitions of one topic."""

    name: str = wire(String)
    results_by_partition: tuple[AddPartitionsToTxnPartitionResult, ...] = wire(
        rows(AddPartitionsToTxnPartitionResult)
    )


@message()
class AddPartitionsToTxnResult(Message):
    """The outcome for one transaction of the batch (4+)."""

    transactional_id: str = wire(String, since=4)
    topic_results: tuple[AddPartitionsToTxnTopicResult, ...] = wire(
        rows(AddPartitionsToTxnTopicResult), since=4
    )


@message(versions=_ADD_PARTITIONS_TO_TXN_VERSIONS, flexible=3)
class AddPartitionsToTxnResponse(Message):
    """The outcome per partition, of one transaction up to version 3, of several from 4 on.

    1 the client waits throttle_time_ms out itself; 3 flexible; 4 error_code.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, since=4, default=0, ignorable=True)
    results_by_transaction: tuple[AddPartitionsToTxnResult, ...] = wire(
        rows(AddPartitionsToTxnResult), since=4, default=()
    )
    results_by_topic_v3_and_below: tuple[AddPartitionsToTxnTopicResult, ...] = wire(
        rows(AddPartitionsToTxnTopicResult), until=3, default=()
    )


@message()
class AddPartitionsToTxnTopic(Message):
    """Partitions of one topic."""

    name: str = wire(String)
    partitions: tuple[int, ...] = wire(array(Int32))


@message()
class AddPartitionsToTxnTransaction(Message):
    """One transaction of the batch (4+); verify_only asks whether it is open."""

    transactional_id: str = wire(String, since=4)
    producer_id: int = wire(Int64, since=4)
    producer_epoch: int = wire(Int16, since=4)
    verify_only: bool = wire(Boolean, since=4, default=False)
    topics: tuple[AddPartitionsToTxnTopic, ...] = wire(rows(AddPartitionsToTxnTopic), since=4)


@message(versions=_ADD_PARTITIONS_TO_TXN_VERSIONS, flexible=3, api=ApiKey.ADD_PARTITIONS_TO_TXN)
class AddPartitionsToTxnRequest(Request[AddPartitionsToTxnResponse]):
    """One transaction up to version 3; 3 flexible; a batch from 4 on, for brokers (KIP-890)."""

    transactions: tuple[AddPartitionsToTxnTransaction, ...] = wire(
        rows(AddPartitionsToTxnTransaction), since=4, default=()
    )
    v3_and_below_transactional_id: str = wire(String, until=3, default="")
    v3_and_below_producer_id: int = wire(Int64, until=3, default=0)
    v3_and_below_producer_epoch: int = wire(Int16, until=3, default=0)
    v3_and_below_topics: tuple[AddPartitionsToTxnTopic, ...] = wire(
        rows(AddPartitionsToTxnTopic), until=3, default=()
    )


_ADD_OFFSETS_TO_TXN_VERSIONS: Final = range(5)


@message(versions=_ADD_OFFSETS_TO_TXN_VERSIONS, flexible=3)
class AddOffsetsToTxnResponse(Message):
    """The outcome; 1 the client waits throttle_time_ms out itself, 3 flexible."""

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)


@message(versions=_ADD_OFFSETS_TO_TXN_VERSIONS, flexible=3, api=ApiKey.ADD_OFFSETS_TO_TXN)
class AddOffsetsToTxnRequest(Request[AddOffsetsToTxnResponse]):
    """Announce that offsets of a group will be committed in the transaction; 3 flexible."""

    transactional_id: str = wire(String)
    producer_id: int = wire(Int64)
    producer_epoch: int = wire(Int16)
    group_id: str = wire(String)


_TXN_OFFSET_COMMIT_VERSIONS: Final = range(6)


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


@message(versions=_TXN_OFFSET_COMMIT_VERSIONS, flexible=3)
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


@message(versions=_TXN_OFFSET_COMMIT_VERSIONS, flexible=3, api=ApiKey.TXN_OFFSET_COMMIT)
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


_END_TXN_VERSIONS: Final = range(6)


@message(versions=_END_TXN_VERSIONS, flexible=3)
class EndTxnResponse(Message):
    """The outcome; 1 the client waits throttle_time_ms out itself, 3 flexible.

    5 the producer id and epoch to go on with (KIP-890), -1 = unchanged.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    producer_id: int = wire(Int64, since=5, default=-1, ignorable=True)
    producer_epoch: int = wire(Int16, since=5, default=-1, ignorable=True)


@message(versions=_END_TXN_VERSIONS, flexible=3, api=ApiKey.END_TXN)
class EndTxnRequest(Request[EndTxnResponse]):
    """End the transaction: committed or aborted.

    3 flexible; 5 the epoch is raised each time (KIP-890).
    """

    transactional_id: str = wire(String)
    producer_id: int = wire(Int64)
    producer_epoch: int = wire(Int16)
    committed: bool = wire(Boolean)
