"""AddPartitionsToTxn: take partitions into a transaction (KIP-98, 890)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Boolean, Int16, Int32, Int64, String, array, rows

__all__ = [
    "AddPartitionsToTxnPartitionResult",
    "AddPartitionsToTxnRequest",
    "AddPartitionsToTxnResponse",
    "AddPartitionsToTxnResult",
    "AddPartitionsToTxnTopic",
    "AddPartitionsToTxnTopicResult",
    "AddPartitionsToTxnTransaction",
]

_VERSIONS: Final = range(6)


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


@message(versions=_VERSIONS, flexible=3)
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


@message(versions=_VERSIONS, flexible=3, api=ApiKey.ADD_PARTITIONS_TO_TXN)
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
