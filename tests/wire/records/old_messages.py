"""Messages of magic 0 and 1 as some test wants them, right or wrong."""

import gzip
import struct
import zlib
from typing import Any

import pytest

from kgroup.errors import CorruptRecordError
from kgroup.wire.records import LogBatch, Row, iter_batches

LOG_APPEND_TIME = 1 << 3


def message(
    magic: int,
    offset: int,
    key: bytes | None = None,
    value: bytes | None = b"v",
    *,
    timestamp: int = 1_000,
    attributes: int = 0,
) -> bytes:
    """One message with a right checksum."""
    body = struct.pack(">bb", magic, attributes)
    if magic:
        body += struct.pack(">q", timestamp)
    for field in (key, value):
        body += struct.pack(">i", -1) if field is None else struct.pack(">i", len(field)) + field
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def message_set(magic: int, *offsets: int) -> bytes:
    """Plain messages whose values are their offsets as they stand."""
    return b"".join(message(magic, each, value=b"%d" % each) for each in offsets)


def wrapper(
    magic: int, offset: int, inside: bytes, *, attributes: int = 1, timestamp: int = 1_000
) -> bytes:
    """A message of messages compressed with gzip, unless the attributes say something else."""
    packed = gzip.compress(inside, mtime=0)
    return message(magic, offset, None, packed, attributes=attributes, timestamp=timestamp)


def reseal(damaged: bytes) -> bytes:
    """One message with its checksum and its size made right again."""
    body = damaged[16:]
    return struct.pack(">8siI", damaged[:8], len(body) + 4, zlib.crc32(body)) + body


def rows_of(data: bytes, **options: Any) -> list[Row]:
    """Every record of some record data."""
    return [row for batch in iter_batches(data) for row in batch.columns(**options)]


def offsets_of(data: bytes) -> list[int]:
    """The offset of every record of some record data."""
    return [offset for offset, *_ in rows_of(data)]


def only(data: bytes) -> LogBatch:
    """Record data that is one batch."""
    (batch,) = iter_batches(data)
    return batch


def refusal(data: bytes, **options: Any) -> CorruptRecordError:
    """The error of reading data that is one batch."""
    with pytest.raises(CorruptRecordError) as caught:
        only(data).columns(**options)
    return caught.value
