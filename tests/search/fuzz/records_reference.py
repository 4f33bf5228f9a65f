"""Second readers of record data, and of the subscriptions, assignments and claims within messages.

Decides: what each of them means, and in which named ways it may be written again differently.
Never: imports kgroup's decoders.
"""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from kgroup.types import TopicPartition
from kgroup.wire.classic_bytes import utf16_order
from kgroup.wire.consumer_protocol import NEWEST_VERSION
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


# -- embedded reference ----------------------------------------------------------------------------


class Liberty(Enum):
    """Why bytes are not written as they were read, though they mean the same."""

    NEWER = "another version is written as the newest of ours, without what it appended"
    MORE_BYTES = "bytes that follow are ignored, as in Java"
    ORDER = "topics and owned partitions are sorted"
    ROWS = "rows of one topic are joined, rows without partitions left out"
    REPLACED = "a name that is not UTF-8 was mended, as in Java"
    OTHER_NULL = "a length below -1 is null too, as in Java"
    NO_OWNED = "a version 1 without owned partitions is read as version 0"
    ABSENT = "a generation below zero is none, an empty rack is none"
    NOTHING = "no bytes at all mean no partitions"


class Subscription(NamedTuple):
    """A subscription; see `MemberSubscription`."""

    version: int
    topics: list[str]
    user_data: bytes | None
    owned: list[TopicPartition]
    generation_id: int | None
    rack: str | None


class PlainReader:
    """Reads from bytes; `liberties` says what was not as we write it."""

    def __init__(self, data: bytes) -> None:
        self.liberties: set[Liberty] = set()
        self._data = data
        self._at = 0

    def left(self) -> int:
        return len(self._data) - self._at

    def number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big", signed=True)

    def text(self) -> str | None:
        raw = self._sized(2)
        if raw is None:
            return None
        text = raw.decode(errors="replace")
        if text.encode() != raw:
            self.liberties.add(Liberty.REPLACED)
        return text

    def blob(self) -> bytes | None:
        return self._sized(4)

    def name(self) -> str:
        text = self.text()
        if text is None:
            raise Refused("a name is null")
        return text

    def many(self, read: Callable[[], object]) -> None:
        count = self.number(4)
        if count < 0 or count > self.left():
            raise Refused(f"{count} items")
        for _ in range(count):
            read()

    def partitions(self) -> list[TopicPartition]:
        found: list[TopicPartition] = []
        seen: set[str] = set()

        def row() -> None:
            topic, before = self.name(), len(found)
            self.many(lambda: found.append(TopicPartition(topic, self.number(4))))
            if topic in seen or len(found) == before:
                self.liberties.add(Liberty.ROWS)
            seen.add(topic)

        self.many(row)
        return found

    def end(self) -> None:
        if self.left():
            self.liberties.add(Liberty.MORE_BYTES)

    def _sized(self, width: int) -> bytes | None:
        length = self.number(width)
        if length < -1:
            self.liberties.add(Liberty.OTHER_NULL)
        return None if length < 0 else self._take(length)

    def _take(self, size: int) -> bytes:
        if size > self.left():
            raise Refused("the bytes end too early")
        self._at += size
        return self._data[self._at - size : self._at]


def read_subscription(data: bytes) -> tuple[Subscription, set[Liberty]]:
    """Read a subscription.

    Raises:
        Refused: the bytes are not one.
    """
    reader = PlainReader(data)
    version = _version(reader)
    topics: list[str] = []
    reader.many(lambda: topics.append(reader.name()))
    user_data = reader.blob()
    if version == 1 and not reader.left():
        reader.liberties.add(Liberty.NO_OWNED)
        version = 0
    owned = reader.partitions() if version >= 1 else []
    generation_id = reader.number(4) if version >= 2 else -1
    rack = reader.text() if version >= 3 else None
    reader.end()
    if generation_id < -1 or rack == "":
        reader.liberties.add(Liberty.ABSENT)
    if version > NEWEST_VERSION:
        reader.liberties.add(Liberty.NEWER)
    by_name = [(utf16_order(tp.topic), tp.partition) for tp in owned]
    if topics != sorted(topics, key=utf16_order) or by_name != sorted(by_name):
        reader.liberties.add(Liberty.ORDER)
    generation = generation_id if generation_id >= 0 else None
    read = Subscription(version, topics, user_data, owned, generation, rack or None)
    return read, reader.liberties


def read_assignment(
    data: bytes,
) -> tuple[tuple[list[TopicPartition], bytes | None], set[Liberty]]:
    """Read an assignment.

    Raises:
        Refused: the bytes are not one.
    """
    if not data:
        return ([], None), {Liberty.NOTHING}
    reader = PlainReader(data)
    if _version(reader) != NEWEST_VERSION:
        reader.liberties.add(Liberty.NEWER)
    partitions = reader.partitions()
    user_data = reader.blob()
    reader.end()
    return (partitions, user_data), reader.liberties


def read_sticky(data: bytes) -> tuple[tuple[list[TopicPartition], int | None], set[Liberty]]:
    """Read the user data of the eager sticky assignor.

    Raises:
        Refused: the bytes are neither of its forms.
    """
    reader = PlainReader(data)
    partitions = reader.partitions()
    generation_id = reader.number(4) if reader.left() >= 4 else None
    reader.end()
    if generation_id is not None and generation_id < 0:
        reader.liberties.add(Liberty.ABSENT)
        generation_id = None
    return (partitions, generation_id), reader.liberties


def _version(reader: PlainReader) -> int:
    version = reader.number(2)
    if version < 0:
        raise Refused(f"version {version}")
    return version
