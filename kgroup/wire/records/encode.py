"""Batches of magic 2, written for the internal idempotent producer (KIP-98).

Decides: the bytes of a batch: deltas from the first record, the checksum, the length.
Never: assigns offsets (the broker does), sequence numbers or timestamps (the caller does).
"""

import struct
from collections.abc import Sequence

from crc32c import crc32c

from kgroup.errors import LocalProtocolError
from kgroup.values import dataclass
from kgroup.wire.compression import Codec, compress
from kgroup.wire.records import header as layout
from kgroup.wire.records.columns import Headers
from kgroup.wire.records.header import BatchHeader, pack_header
from kgroup.wire.records.varints import pack_varint, wrapped


@dataclass(slots=True)
class NewRecord:
    """A record that has no offset yet.

    Args:
        key: None for null.
        value: None for null, which deletes the key from a compacted topic.
        headers: name and value (None for null) of each.
        timestamp: milliseconds since the epoch, -1 for none.
    """

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp: int = -1


def encode_batch(
    records: Sequence[NewRecord],
    *,
    codec: Codec = Codec.NONE,
    producer_id: int | None = None,
    producer_epoch: int | None = None,
    base_sequence: int | None = None,
    transactional: bool = False,
) -> bytes:
    """Write one batch as a Produce request carries it: base offset 0, no leader epoch.

    Args:
        records: at least one; their order is the order of their offsets.
        codec: how to compress them.
        producer_id: from InitProducerId, None for a plain producer; so with the next two.
        producer_epoch: i16.
        base_sequence: sequence number of the first record, i32.
        transactional: whether the batch belongs to the producer's open transaction.

    Raises:
        LocalProtocolError: no records, a timestamp below -1, a figure too large for its field.
        UnsupportedCodecError: the codec's library is missing.
    """
    if not records:
        raise LocalProtocolError("a batch to send needs at least one record")
    if min(record.timestamp for record in records) < -1:
        raise LocalProtocolError("a timestamp of a record to send is -1 (none) or not below 0")
    base_timestamp = records[0].timestamp
    body = b"".join(
        encode_record(record, offset_delta=delta, timestamp_delta=record.timestamp - base_timestamp)
        for delta, record in enumerate(records)
    )
    header = BatchHeader(
        attributes=codec.value | (layout.TRANSACTIONAL if transactional else 0),
        last_offset_delta=len(records) - 1,
        base_timestamp=base_timestamp,
        max_timestamp=max(record.timestamp for record in records),
        producer_id=-1 if producer_id is None else producer_id,
        producer_epoch=-1 if producer_epoch is None else producer_epoch,
        base_sequence=-1 if base_sequence is None else base_sequence,
        record_count=len(records),
    )
    return seal(header, compress(codec, body))


def seal(header: BatchHeader, body: bytes) -> bytes:
    """Put a header before a body that is already compressed; length and checksum are worked out.

    Raises:
        LocalProtocolError: a figure does not fit its field.
    """
    length = layout.HEADER_SIZE - layout.LENGTH_TO + len(body)
    try:
        draft = pack_header(header._replace(batch_length=length, crc=0))
    except struct.error as error:
        raise LocalProtocolError(f"a batch header does not fit its layout: {error}") from error
    crc = crc32c(body, crc32c(draft[layout.CRC_FROM :]))
    crc_at = layout.CRC_FROM - 4
    return b"".join((draft[:crc_at], crc.to_bytes(4, "big"), draft[layout.CRC_FROM :], body))


def encode_record(record: NewRecord, *, offset_delta: int, timestamp_delta: int) -> bytes:
    """Write one record with its length, as it stands in a batch before compression."""
    parts = [
        b"\x00",  # attributes, unused
        pack_varint(wrapped(timestamp_delta)),
        pack_varint(offset_delta),
        *_sized(record.key),
        *_sized(record.value),
        pack_headers(record.headers),
    ]
    body = b"".join(parts)
    return pack_varint(len(body)) + body


def pack_headers(headers: Headers) -> bytes:
    """Write the headers of a record with their count, as they stand at its end."""
    parts = [pack_varint(len(headers))]
    for name, value in headers:
        parts += *_sized(name.encode()), *_sized(value)
    return b"".join(parts)


def _sized(data: bytes | None) -> tuple[bytes, bytes]:
    return (pack_varint(-1), b"") if data is None else (pack_varint(len(data)), data)
