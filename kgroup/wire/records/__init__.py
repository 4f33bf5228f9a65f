"""Record batches of magic 2: read to columns, write for the internal producer.

Decides: what the rest of kgroup may use of this package.
Never: reads messages or frames; a batch begins where a Fetch answer's `records` begin.

KIP-98 (batch format, transactions), KIP-101 (leader epochs).
"""

from kgroup.wire.compression import MAX_OUTPUT, Codec
from kgroup.wire.records.aborted import AbortedTransactions
from kgroup.wire.records.batches import BatchView, iter_batches
from kgroup.wire.records.columns import Headers, RecordColumns, Row
from kgroup.wire.records.control import ControlRecord, ControlType, control_type
from kgroup.wire.records.encode import NewRecord, encode_batch
from kgroup.wire.records.header import BatchHeader, TimestampType

__all__ = [
    "MAX_OUTPUT",
    "AbortedTransactions",
    "BatchHeader",
    "BatchView",
    "Codec",
    "ControlRecord",
    "ControlType",
    "Headers",
    "NewRecord",
    "RecordColumns",
    "Row",
    "TimestampType",
    "control_type",
    "encode_batch",
    "iter_batches",
]
