"""Record batches: magic 0 to 2 read to columns, magic 2 written for the internal producer.

Decides: what the rest of kgroup may use of this package.
Never: reads messages or frames; a batch begins where a Fetch answer's `records` begin.

| question | file |
|---|---|
| where does each batch begin, and is it whole | `batches` |
| what do its first 61 bytes say | `header` |
| how are its records read | `scan`, `varints`; compiled or in Python: `loops`, `python_loops` |
| how are they handed out | `columns` |
| which batches were aborted | `control` |
| how are magic 0 and 1 read | `message_sets` |
| how is a batch written | `encode` |

KIP-98 (magic 2, transactions), KIP-101 (leader epochs), KIP-31 and KIP-32 (magic 1).

- `batches`: The record data of one partition of a Fetch answer, batch by batch
- `columns`: The records of one batch as columns over one buffer
- `control`: Transactions within a log (KIP-98): the broker's marks, and which batches were
  aborted
- `encode`: Batches of magic 2, written for the internal idempotent producer (KIP-98)
- `header`: The 61 bytes before the records of a batch of magic 2 (KIP-98)
- `loops`: Which form of the loops over records runs: the compiled one, or the one in Python
- `message_sets`: Message sets of magic 0 and 1, as brokers before 0.11 wrote them
- `python_loops`: The loops over records in Python: the reference, and what runs without the
  compiled module
- `scan`: One pass over the records of a batch: offsets, timestamps, and where keys and values
  stand
- `varints`: Signed varints of records: seven bits a byte, lowest first, zigzag
"""

from kgroup.wire.compression import MAX_OUTPUT, Codec
from kgroup.wire.records.batches import BatchView, LogBatch, iter_batches
from kgroup.wire.records.columns import KEYS, VALUES, Headers, RawRow, RecordColumns, Row
from kgroup.wire.records.control import (
    AbortedTransactions,
    ControlRecord,
    ControlType,
    control_type,
)
from kgroup.wire.records.encode import NewRecord, encode_batch, pack_headers
from kgroup.wire.records.header import BatchHeader, TimestampType
from kgroup.wire.records.loops import COMPILED, RecordFields
from kgroup.wire.records.message_sets import MessageSetView
from kgroup.wire.records.python_loops import Shape
from kgroup.wire.records.scan import STRIDE

__all__ = [
    "COMPILED",
    "KEYS",
    "MAX_OUTPUT",
    "STRIDE",
    "VALUES",
    "AbortedTransactions",
    "BatchHeader",
    "BatchView",
    "Codec",
    "ControlRecord",
    "ControlType",
    "Headers",
    "LogBatch",
    "MessageSetView",
    "NewRecord",
    "RawRow",
    "RecordColumns",
    "RecordFields",
    "Row",
    "Shape",
    "TimestampType",
    "control_type",
    "encode_batch",
    "iter_batches",
    "pack_headers",
]
