"""A second reader of message sets, plain and slow: magic 0 and 1, from before Kafka 0.11.

Decides: what the messages of one `MessageSetView` are. Only the decompressors are shared.
Sources: KIP-31 (offsets inside are relative in magic 1), KIP-32 (timestamps).
"""

import zlib

from kgroup.wire.compression import Codec, decompress
from kgroup.wire.records import Row
from kgroup.wire.records.message_sets import with_right_checksum
from tests.search.fuzz.reference import Refused

_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
_APPEND_TIME = 1 << 3
_SHORTEST = (14, 22)


class Message:
    """One message, read.

    Raises:
        Refused: it contradicts itself.
    """

    def __init__(self, data: bytes, *, check_crc: bool) -> None:
        self.offset = int.from_bytes(data[:8], "big", signed=True)
        self.size = 12 + int.from_bytes(data[8:12], "big", signed=True)
        self.magic = data[16] if len(data) > 17 else -1
        if self.magic not in (0, 1) or self.size < 12 + _SHORTEST[self.magic]:
            raise Refused("no message")
        if self.size > len(data):
            raise Refused("the bytes end too early")
        whole = data[: self.size]
        if check_crc and zlib.crc32(whole[16:]) != int.from_bytes(whole[12:16], "big"):
            raise Refused("checksum")
        self.attributes = whole[17]
        self.timestamp = int.from_bytes(whole[18:26], "big", signed=True) if self.magic else -1
        self.key, rest = _sized(whole[26 if self.magic else 18 :])
        self.value, _ = _sized(rest)


def _sized(data: bytes) -> tuple[bytes | None, bytes]:
    size = int.from_bytes(data[:4], "big", signed=True)
    if len(data) < 4 or size > len(data) - 4:
        raise Refused("a field goes past the end")
    return (None, data[4:]) if size < 0 else (data[4 : 4 + size], data[4 + size :])


def read_set(data: bytes, most: int, *, check_crc: bool) -> list[Row]:
    """Read plain neighbours, or one compressed message.

    Args:
        data: all of a `MessageSetView`.
        most: bytes that may come out of a compressed one.
        check_crc: whether checksums count.

    Raises:
        Refused: the messages contradict themselves.
        DecodeError: what is compressed cannot be inflated.
    """
    first = Message(data, check_crc=check_crc)
    codec = first.attributes & 7
    if codec >= len(_CODECS):
        raise Refused("codec")
    if not codec:
        plain = _messages(data, first.magic, check_crc=check_crc)
        return [_row(one, one.offset) for one in plain]
    if first.value is None:
        raise Refused("nothing is compressed")
    packed = first.value
    if _CODECS[codec] is Codec.LZ4 and not first.magic:
        packed = with_right_checksum(packed)
    inner = decompress(_CODECS[codec], packed, max_output=most)
    return _placed(first, _messages(inner, first.magic, check_crc=check_crc))


def _messages(data: bytes, magic: int, *, check_crc: bool) -> list[Message]:
    found = []
    while data:
        one = Message(data, check_crc=check_crc)
        if one.magic != magic or one.attributes & 7:
            raise Refused("another magic, or compressed twice")
        found.append(one)
        data = data[one.size :]
    return found


def _placed(wrapper: Message, inner: list[Message]) -> list[Row]:
    offsets = [one.offset for one in inner]
    if not offsets or offsets != sorted(set(offsets)):
        raise Refused("offsets do not rise")
    base = wrapper.offset - offsets[-1] if wrapper.magic else 0
    rows = [_row(one, base + one.offset) for one in inner]
    if rows[0][0] < 0 or rows[-1][0] > wrapper.offset:
        raise Refused("offsets outside of the message")
    if wrapper.magic and wrapper.attributes & _APPEND_TIME:
        rows = [(row[0], wrapper.timestamp, *row[2:]) for row in rows]
    return rows


def _row(one: Message, offset: int) -> Row:
    return offset, one.timestamp, one.key, one.value, ()
