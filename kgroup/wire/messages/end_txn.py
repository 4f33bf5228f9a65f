"""EndTxn: commit or abort a transaction (KIP-98, 890)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Boolean, Int16, Int32, Int64, String

__all__ = ["EndTxnRequest", "EndTxnResponse"]

_VERSIONS: Final = range(6)


@message(versions=_VERSIONS, flexible=3)
class EndTxnResponse(Message):
    """The outcome; 1 the client waits throttle_time_ms out itself, 3 flexible.

    5 the producer id and epoch to go on with (KIP-890), -1 = unchanged.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    producer_id: int = wire(Int64, since=5, default=-1, ignorable=True)
    producer_epoch: int = wire(Int16, since=5, default=-1, ignorable=True)


@message(versions=_VERSIONS, flexible=3, api=ApiKey.END_TXN)
class EndTxnRequest(Request[EndTxnResponse]):
    """End the transaction: committed or aborted.

    3 flexible; 5 the epoch is raised each time (KIP-890).
    """

    transactional_id: str = wire(String)
    producer_id: int = wire(Int64)
    producer_epoch: int = wire(Int16)
    committed: bool = wire(Boolean)
