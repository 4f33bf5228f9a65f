"""A second reader of records, plain and slow: from the bytes of an inflated batch to rows.

Decides: what the records of a batch are by KIP-98, and how they would be written again.
Never: looks at a batch's header; whoever calls has read it.
"""

from enum import Enum
from typing import NamedTuple

from kgroup.wire.records import Headers, NewRecord, Row
from kgroup.wire.records.encode import encode_record
from tests.search.fuzz.reference import Refused

_INT32, _INT64 = 32, 64


class Freedom(Enum):
    """Why records are not written as they were read."""

    ATTRIBUTES = "the attributes of a record mean nothing and are written as 0"
    LONG_VARINT = "a varint is longer than it need be"
    OTHER_NULL = "a length below -1 is null too, as in Java"
    MORE_BYTES = "what follows the headers within a record is from a newer writer"
    REPLACED_NAME = "the name of a header is not UTF-8 and was replaced, as in Java"
    LENGTH = "a record's length has another size, because of one of the others"


class Read(NamedTuple):
    """Rows, the bytes they would be written as, and why those may differ from what was read."""

    rows: list[Row]
    written: bytes
    freedoms: set[Freedom]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.freedoms: set[Freedom] = set()

    def byte(self) -> int:
        if self.at >= len(self.data):
            raise Refused("the data ends within a record")
        self.at += 1
        return self.data[self.at - 1]

    def varint(self, bits: int) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            if shift >= (70 if bits == _INT64 else 35):
                raise Refused("a varint is too long")
        if shift > 7 and not byte:
            self.freedoms.add(Freedom.LONG_VARINT)
        if value >> bits:
            raise Refused(f"a varint of more than {bits} bits")
        return (value >> 1) ^ -(value & 1)

    def sized(self) -> bytes | None:
        size = self.varint(_INT32)
        if size < 0:
            if size != -1:
                self.freedoms.add(Freedom.OTHER_NULL)
            return None
        self.at += size
        if self.at > len(self.data):
            raise Refused("a field goes past the end")
        return self.data[self.at - size : self.at]


def read_records(data: bytes, count: int, base_offset: int, base_timestamp: int) -> Read:
    """Read `count` records.

    Raises:
        Refused: they contradict themselves.
    """
    reader = _Reader(data)
    rows: list[Row] = []
    written = []
    last = -1
    for _ in range(count):
        delta, row, out = _record(reader, base_timestamp)
        if delta <= last:
            raise Refused("offsets do not rise")
        last = delta
        rows.append((base_offset + delta, *row[1:]))
        written.append(out)
    if reader.at != len(data):
        raise Refused("bytes are left over")
    return Read(rows, b"".join(written), reader.freedoms)


def _record(reader: _Reader, base_timestamp: int) -> tuple[int, Row, bytes]:
    length = reader.varint(_INT32)
    end = reader.at + length
    if reader.byte():
        reader.freedoms.add(Freedom.ATTRIBUTES)
    time_delta = reader.varint(_INT64)
    delta = reader.varint(_INT32)
    if length < 0 or delta < 0:
        raise Refused("a length or an offset delta is below zero")
    key, value = reader.sized(), reader.sized()
    headers = _headers(reader)
    if reader.at > end:
        raise Refused("a record goes on after its length")
    if reader.at < end:
        reader.freedoms.add(Freedom.MORE_BYTES)
    reader.at = end
    timestamp = _wrapped(base_timestamp + time_delta)
    out = encode_record(
        NewRecord(key, value, headers), offset_delta=delta, timestamp_delta=time_delta
    )
    return delta, (delta, timestamp, key, value, headers), out


def _headers(reader: _Reader) -> Headers:
    count = reader.varint(_INT32)
    if count < 0:
        raise Refused("a count of headers below zero")
    headers = []
    for _ in range(count):
        name = reader.sized()
        if name is None:
            raise Refused("a header without a name")
        text = name.decode(errors="replace")
        if text.encode() != name:
            reader.freedoms.add(Freedom.REPLACED_NAME)
        headers.append((text, reader.sized()))
    return tuple(headers)


def _wrapped(number: int) -> int:
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
