"""AddOffsetsToTxn: take a group's offsets into a transaction (KIP-98)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Int16, Int32, Int64, String

__all__ = ["AddOffsetsToTxnRequest", "AddOffsetsToTxnResponse"]

_VERSIONS: Final = range(5)


@message(versions=_VERSIONS, flexible=3)
class AddOffsetsToTxnResponse(Message):
    """The outcome; 1 the client waits throttle_time_ms out itself, 3 flexible."""

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)


@message(versions=_VERSIONS, flexible=3, api=ApiKey.ADD_OFFSETS_TO_TXN)
class AddOffsetsToTxnRequest(Request[AddOffsetsToTxnResponse]):
    """Announce that offsets of a group will be committed in the transaction; 3 flexible."""

    transactional_id: str = wire(String)
    producer_id: int = wire(Int64)
    producer_epoch: int = wire(Int16)
    group_id: str = wire(String)
