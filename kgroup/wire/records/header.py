"""The 61 bytes before the records of a batch of magic 2 (KIP-98).

Decides: the layout, and what each attribute bit means.
Never: checks a figure against another; that is `batches`, after the checksum.

Layout: base_offset i64, batch_length i32 (bytes after this field), partition_leader_epoch i32,
magic i8, crc u32 (CRC-32C from attributes to the end), attributes i16, last_offset_delta i32,
base_timestamp i64, max_timestamp i64, producer_id i64, producer_epoch i16, base_sequence i32,
record_count i32. Attributes: bits 0-2 codec, 3 log append time, 4 transactional, 5 control, 6 the
base timestamp is the delete horizon (KIP-534); the rest is ignored.
"""

import struct
from enum import Enum
from typing import Final, NamedTuple

_LAYOUT: Final = struct.Struct(">qiibIhiqqqhii")

MAGIC: Final = 2
MAX_OFFSET: Final = (1 << 63) - 1
"""The highest offset there can be."""
HEADER_SIZE: Final = _LAYOUT.size
LENGTH_TO: Final = 12
"""Where `batch_length` ends: the batch has this many bytes more than its length."""
CRC_FROM: Final = 21
"""First byte the checksum covers; base offset and leader epoch are the broker's to change."""

CODEC_MASK: Final = 0b111
LOG_APPEND_TIME: Final = 1 << 3
TRANSACTIONAL: Final = 1 << 4
CONTROL: Final = 1 << 5
DELETE_HORIZON: Final = 1 << 6


class TimestampType(Enum):
    """The origin of a timestamp: the record's producer, or the broker for the whole batch (KIP-32).

    Records of magic 0, from before Kafka 0.10, have neither timestamp nor type.
    """

    NO_TIMESTAMP_TYPE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class BatchHeader(NamedTuple):
    """A header as on the wire: -1 means absent, times are milliseconds."""

    base_offset: int = 0
    batch_length: int = 0
    partition_leader_epoch: int = -1
    magic: int = MAGIC
    crc: int = 0
    attributes: int = 0
    last_offset_delta: int = 0
    base_timestamp: int = -1
    max_timestamp: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    record_count: int = 0


def unpack_header(data: memoryview, at: int) -> BatchHeader:
    """Read the header that begins at byte `at`; `HEADER_SIZE` bytes must be there."""
    return BatchHeader._make(_LAYOUT.unpack_from(data, at))


def pack_header(header: BatchHeader) -> bytes:
    """Write a header as it stands.

    Raises:
        struct.error: a figure does not fit its field.
    """
    return _LAYOUT.pack(*header)
