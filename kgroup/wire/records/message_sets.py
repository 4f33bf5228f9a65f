"""Message sets of magic 0 and 1, as brokers before 0.11 wrote them.

Decides: how nested, compressed sets become columns with absolute offsets (KIP-31, KIP-32), and
how the lz4 frames of magic 0 are mended: their header checksum is wrong by design (KIP-57).
Never: writes one.
"""

import struct
import zlib
from itertools import pairwise
from typing import Final

from kgroup.errors import CorruptRecordError, UnsupportedCodecError
from kgroup.values import dataclass
from kgroup.wire.compression import MAX_OUTPUT, Codec, decompress
from kgroup.wire.records import header as layout
from kgroup.wire.records.columns import RecordColumns
from kgroup.wire.records.header import TimestampType

_DESCRIPTOR_AT: Final = 4
_HAS_CONTENT_SIZE: Final = 1 << 3
_HAS_DICTIONARY: Final = 1

_PRIMES: Final = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1)
_MASK: Final = (1 << 32) - 1


def with_right_checksum(data: bytes | memoryview) -> bytes:
    """Return a copy of `data`, which begins with a frame, with the checksum of its header mended.

    Data too short to have a header is returned as it is: the decoder will say what is missing.
    """
    mended = bytearray(data)
    flags = data[_DESCRIPTOR_AT] if len(data) > _DESCRIPTOR_AT else 0
    size = 2 + (8 if flags & _HAS_CONTENT_SIZE else 0) + (4 if flags & _HAS_DICTIONARY else 0)
    at = _DESCRIPTOR_AT + size
    if at < len(mended):
        mended[at] = _hash(mended[_DESCRIPTOR_AT:at]) >> 8 & 0xFF
    return bytes(mended)


def _hash(data: bytearray) -> int:
    """xxHash32 with seed 0 of fewer than 16 bytes, for which it has a short form."""
    one, two, three, four, five = _PRIMES
    state = five + len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        lane = int.from_bytes(data[at : at + 4], "little")
        state = _rotated(state + lane * three, 17) * four
    for byte in data[whole:]:
        state = _rotated(state + byte * five, 11) * one
    state &= _MASK
    state = (state ^ state >> 15) * two & _MASK
    state = (state ^ state >> 13) * three & _MASK
    return state ^ state >> 16


def _rotated(number: int, bits: int) -> int:
    number &= _MASK
    return number << bits | number >> (32 - bits)


_FRONT: Final = struct.Struct(">qiIBb")
_SIZE: Final = struct.Struct(">i")
_TIME: Final = struct.Struct(">q")

_CRC_FROM: Final = 16
_TIME_AT: Final = _FRONT.size
_KEY_AT: Final = (_FRONT.size, _FRONT.size + _TIME.size)
"""Position of the key's length, by magic."""
SHORTEST: Final = (14, 22)
"""Least `size` of a message, by magic: two null lengths."""

_MEANT: Final = (layout.CODEC_MASK, layout.CODEC_MASK | layout.LOG_APPEND_TIME)
"""Attribute bits that mean something, by magic."""
_MOST_TOGETHER: Final = 256 * 1024
_OF_BATCHES: Final = frozenset({Codec.ZSTD})
"""Codecs that came with magic 2 (KIP-110); Java refuses them here too."""


@dataclass(slots=True, eq=False)
class MessageSetView:
    """Plain neighbours, or one compressed message, inside an answer; the older `BatchView`.

    Args:
        data: the messages, a view into the answer.
        magic: 0 or 1.
        attributes: of all of them; bits without a meaning are off.
        base_offset: offset of the first. Of a compressed message that of the last it holds: the
            others are known only once it is unpacked.
        last_offset: offset of the last.
        damage: what is wrong with the checksum, None when it is right.
    """

    data: memoryview
    magic: int
    attributes: int
    base_offset: int
    last_offset: int
    damage: str | None = None
    _verified: bool = False

    @property
    def next_offset(self) -> int:
        """Where to go on after these messages."""
        return self.last_offset + 1

    @property
    def leader_epoch(self) -> None:
        """Not known: these formats have no leader epochs (KIP-101)."""

    @property
    def producer_id(self) -> None:
        """None: these formats have no idempotent producers (KIP-98)."""

    @property
    def is_transactional(self) -> bool:
        """False: these formats have no transactions (KIP-98)."""
        return False

    @property
    def is_control(self) -> bool:
        """False, likewise."""
        return False

    @property
    def codec(self) -> Codec:
        """How the messages are compressed.

        Raises:
            UnsupportedCodecError: ids 4 to 7 stand for nothing in these formats.
        """
        codec_id = self.attributes & layout.CODEC_MASK
        known = [codec for codec in Codec if codec not in _OF_BATCHES]
        for codec in known:
            if codec.value == codec_id:
                return codec
        raise UnsupportedCodecError(
            self._what,
            f"compression codec {codec_id} is unknown; known to magic {self.magic} are 0 to "
            f"{len(known) - 1}",
        )

    @property
    def timestamp_type(self) -> TimestampType:
        """The origin of the timestamps (KIP-32); magic 0 has none."""
        if not self.magic:
            return TimestampType.NO_TIMESTAMP_TYPE
        appended = self.attributes & layout.LOG_APPEND_TIME
        return TimestampType.LOG_APPEND_TIME if appended else TimestampType.CREATE_TIME

    @property
    def size(self) -> int:
        """Bytes of all messages as they came."""
        return len(self.data)

    def verify(self) -> None:
        """Check the checksum, and the offsets; `columns` will check the messages inside too.

        Raises:
            CorruptRecordError: nothing of this may be used.
        """
        if self.damage is not None:
            raise self._corrupt(self.damage)
        self.check_figures()
        self._verified = True

    def check_figures(self) -> None:
        """Check the offsets, as far as that is possible without unpacking.

        Raises:
            CorruptRecordError: nothing of this may be used.
        """
        if not 0 <= self.base_offset <= self.last_offset < layout.MAX_OFFSET:
            raise self._corrupt("offsets begin at 0")

    def columns(self, *, check_crc: bool = True, max_output: int = MAX_OUTPUT) -> RecordColumns:
        """Decompress and find all records.

        Args:
            check_crc: False when `verify` has passed, or checksums are not wanted.
            max_output: most bytes the records may inflate to.

        Raises:
            CorruptRecordError: nothing of this may be used.
            UnsupportedCodecError: its codec is unknown, or its library is missing.
        """
        if check_crc:
            self.verify()
        else:
            self.check_figures()
        codec = self.codec
        try:
            body = self.data if codec is Codec.NONE else self._unpacked(codec, max_output)
            # Records without headers: one 0, the count of headers, serves them all.
            buffer = b"".join((body, b"\0"))
            offsets, timestamps, bounds = _scan(buffer, self.magic, check_crc=self._verified)
            if codec is not Codec.NONE:
                offsets = self._placed(offsets)
        except ValueError as error:
            raise self._corrupt(str(error)) from error
        except CorruptRecordError as error:
            raise self._corrupt(f"{error.what}: {error.reason}") from error
        if codec is not Codec.NONE and self.timestamp_type is TimestampType.LOG_APPEND_TIME:
            timestamps = list(_TIME.unpack_from(self.data, _TIME_AT)) * len(offsets)
        return RecordColumns(buffer, offsets, timestamps, bounds)

    def _unpacked(self, codec: Codec, max_output: int) -> bytes:
        _, _, start, end = _fields(self.data, _KEY_AT[self.magic], len(self.data))
        if end < 0:
            raise ValueError("a compressed message without a value")
        packed = self.data[start:end]
        if codec is Codec.LZ4 and not self.magic:
            return decompress(codec, with_right_checksum(packed), max_output=max_output)
        return decompress(codec, packed, max_output=max_output)

    def _placed(self, offsets: list[int]) -> list[int]:
        """Return the offsets in the log of messages that were unpacked."""
        if not offsets:
            raise ValueError("a compressed message holds no messages")
        if any(later <= earlier for earlier, later in pairwise(offsets)):
            raise ValueError("offsets do not rise")
        if self.magic:
            base = self.last_offset - offsets[-1]
            offsets = [base + offset for offset in offsets]
        if offsets[0] < 0 or offsets[-1] > self.last_offset:
            raise ValueError(
                f"offsets {offsets[0]} to {offsets[-1]} in a message at offset {self.last_offset}"
            )
        return offsets

    @property
    def _what(self) -> str:
        return f"the message at offset {self.base_offset}"

    def _corrupt(self, reason: str) -> CorruptRecordError:
        return CorruptRecordError(self._what, reason, base_offset=self.base_offset)


def read_messages(data: memoryview, start: int, end: int) -> MessageSetView:
    """Return the message that begins at `start`, with its plain neighbours if it is plain.

    Args:
        data: record data of a partition.
        start: where the message begins; its size has been compared with `SHORTEST`.
        end: where it ends, not beyond the data.
    """
    offset, _, crc, magic, attributes = _FRONT.unpack_from(data, start)
    attributes &= _MEANT[magic]
    actual = zlib.crc32(data[start + _CRC_FROM : end])
    if actual != crc:
        damage = f"its CRC-32 is {actual:#010x}, it says {crc:#010x}"
        return MessageSetView(data[start:end], magic, attributes, offset, offset, damage)
    last = offset
    if not attributes & layout.CODEC_MASK and _is_sound(data, start, end, magic):
        last, end = _with_neighbours(data, start, end)
    return MessageSetView(data[start:end], magic, attributes, offset, last)


def _with_neighbours(data: memoryview, start: int, end: int) -> tuple[int, int]:
    """Return the offset and the end of the last message that can be read with the first."""
    last, _, _, magic, attributes = _FRONT.unpack_from(data, start)
    meant = _MEANT[magic]
    kind = attributes & meant
    furthest = min(len(data), start + _MOST_TOGETHER)
    while end + _FRONT.size < furthest:
        offset, size, crc, found, attributes = _FRONT.unpack_from(data, end)
        after = end + layout.LENGTH_TO + size
        if (
            found != magic
            or attributes & meant != kind
            or offset <= last
            or size < SHORTEST[magic]
            or after > furthest
            or zlib.crc32(data[end + _CRC_FROM : after]) != crc
            or not _is_sound(data, end, after, magic)
        ):
            break
        last, end = offset, after
    return last, end


def _is_sound(data: memoryview, start: int, end: int, magic: int) -> bool:
    """Tell whether the key and the value of a message are within it."""
    try:
        _fields(data, start + _KEY_AT[magic], end)
    except ValueError:
        return False
    return True


def _scan(data: bytes, magic: int, *, check_crc: bool) -> tuple[list[int], list[int], list[int]]:
    """Find every message of a set; one byte more, a 0, stands behind them.

    Returns:
        Offsets as they stand; timestamps, -1 for none; bounds as those of `RecordColumns`.

    Raises:
        ValueError: the messages contradict themselves; the text says how.
    """
    offsets: list[int] = []
    timestamps: list[int] = []
    bounds: list[int] = []
    at, end = 0, len(data) - 1
    key_at, shortest = _KEY_AT[magic], SHORTEST[magic]
    while at < end:
        if end - at < layout.LENGTH_TO + shortest:
            raise ValueError(f"{end - at} bytes at byte {at} are too few for a message")
        offset, size, crc, found, attributes = _FRONT.unpack_from(data, at)
        after = at + layout.LENGTH_TO + size
        if not shortest <= size or after > end:
            raise ValueError(f"a message of {size} bytes at byte {at} of {end}")
        if found != magic or attributes & layout.CODEC_MASK:
            raise ValueError(_misplaced(found, magic, at))
        if check_crc and (actual := zlib.crc32(data[at + _CRC_FROM : after])) != crc:
            raise ValueError(
                f"the CRC-32 of the message at byte {at} is {actual:#010x}, it says {crc:#010x}"
            )
        offsets.append(offset)
        timestamps.append(_TIME.unpack_from(data, at + _TIME_AT)[0] if magic else -1)
        bounds += _fields(data, at + key_at, after)
        bounds.append(end)
        at = after
    return offsets, timestamps, bounds


def _misplaced(found: int, magic: int, at: int) -> str:
    if found != magic:
        return f"a message of magic {found} at byte {at} inside one of magic {magic}"
    return f"a compressed message at byte {at} inside a compressed one"


def _fields(data: bytes | memoryview, at: int, end: int) -> tuple[int, int, int, int]:
    """Return where key and value of a message begin and end; an end of -1 means null.

    Args:
        data: where it stands.
        at: where the key's length stands.
        end: where the message ends, at least 8 bytes later.

    Raises:
        ValueError: one of them goes on after the end.
    """
    (size,) = _SIZE.unpack_from(data, at)
    key_from = at + _SIZE.size
    at = key_from + max(size, 0)
    if at + _SIZE.size > end:
        raise ValueError(f"a key of {size} bytes at byte {key_from} of a message up to {end}")
    key_to = -1 if size < 0 else at
    (size,) = _SIZE.unpack_from(data, at)
    value_from = at + _SIZE.size
    if size > end - value_from:
        raise ValueError(f"a value of {size} bytes at byte {value_from} of a message up to {end}")
    return key_from, key_to, value_from, -1 if size < 0 else value_from + size
