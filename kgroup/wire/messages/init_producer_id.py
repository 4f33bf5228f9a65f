"""InitProducerId: a producer id and epoch, for idempotence or transactions (KIP-98, 360, 939)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Boolean, Int16, Int32, Int64, String, nullable

__all__ = ["InitProducerIdRequest", "InitProducerIdResponse"]

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
