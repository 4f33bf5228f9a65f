"""What generated decoders and encoders call: varints, tagged fields, runs, and the errors.

Decides: bounds. A varint has at most 5 bytes (N8), tags rise and end within the bytes (N9), a
count never exceeds the bytes left (N7), a length is not below zero unless null is allowed (N6).
Never: knows a message.

KIP-482 (tagged fields).
"""

import struct
from collections.abc import Callable, Container, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from kgroup.errors import DecodeError, LocalProtocolError, UnsupportedVersionError

Buffer: TypeAlias = bytes | memoryview

SHORT: Final = 16
"""Arrays of scalars shorter than this are read with a prepared format."""

_UVARINT_BYTES: Final = 5


def read_uvarint(data: Buffer, at: int) -> tuple[int, int]:
    """Read an unsigned 32-bit varint; return its value and the position behind it.

    Raises:
        DecodeError: it is longer than 5 bytes or does not fit 32 bits.
        IndexError: the bytes end first.
    """
    value = 0
    for index in range(_UVARINT_BYTES):
        byte = data[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            if value >> 32:
                break
            return value, at + index + 1
    raise DecodeError("varint", "longer than 32 bits", position=at)


def pack_uvarint(value: int) -> bytes:
    """Return an unsigned varint; `UVARINTS` holds the short ones ready."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


UVARINTS: Final = tuple(bytes((value,)) for value in range(128))


def read_tags(
    data: Buffer, at: int, known: Container[int] = ()
) -> tuple[dict[int, tuple[int, int]], int]:
    """Read the heads of a section of tagged fields, and keep those of known tags.

    Returns:
        known tag -> (start, end) of its bytes, and the position behind the section. An unknown tag
        is checked and costs no memory.

    Raises:
        DecodeError: tags do not rise, or a size goes past the end.
    """
    end = len(data)
    count, at = read_uvarint(data, at)
    if count * 2 > end - at:
        raise too_many("tagged fields", count, at)
    spans: dict[int, tuple[int, int]] = {}
    last = -1
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, start = read_uvarint(data, at)
        if tag <= last:
            raise DecodeError("tagged fields", f"tag {tag} follows tag {last}", position=at)
        at = start + size
        if at > end:
            reason = f"tag {tag} has {size} bytes, but only {end - start} are left"
            raise DecodeError("tagged fields", reason, position=start)
        if tag in known:
            spans[tag] = (start, at)
        last = tag
    return spans, at


def pack_tags(tags: list[tuple[int, bytes]]) -> bytes:
    """Return a section of tagged fields; tags must rise."""
    parts = [pack_uvarint(len(tags))]
    for tag, value in tags:
        parts += (pack_uvarint(tag), pack_uvarint(len(value)), value)
    return b"".join(parts)


def unpackers(code: str) -> tuple[Callable[[Buffer, int], tuple[Any, ...]], ...]:
    """Return the readers of 0, 1, 2, ... scalars of one format character, up to `SHORT`."""
    return tuple(struct.Struct(f">{count}{code}").unpack_from for count in range(SHORT))


def uuid_bytes(value: Buffer) -> Buffer:
    """Check that a uuid has 16 bytes; `struct` would silently cut or fill it."""
    if len(value) != 16:
        raise LocalProtocolError(f"a uuid has 16 bytes, not {len(value)}")
    return value


# -- runs ----------------------------------------------------------------------------------


class RunPart(NamedTuple):
    """One field of a row whose rows may be read as a run.

    Args:
        code: `struct` format of the scalar, or of one item of an array; "s" for text and bytes.
        size: bytes of it.
        prefix: format of the length before it, "u" for an unsigned varint, "" for a scalar.
    """

    code: str
    size: int
    prefix: str


_PREFIX_SIZE: Final = {"h": 2, "i": 4}
_TWO_BYTES: Final = 1 << 14


def _prefix(part: RunPart, length: int) -> tuple[str, int, int] | None:
    """Return format, size and expected raw value of a length; None when it has no short form."""
    if part.prefix != "u":
        return part.prefix, _PREFIX_SIZE[part.prefix], length
    value = length + 1
    if value < 0x80:
        return "B", 1, value
    if value < _TWO_BYTES:
        return "H", 2, (value & 0x7F | 0x80) << 8 | value >> 7
    return None


def plan_run(
    parts: tuple[RunPart, ...], lengths: tuple[int, ...], *, tags: bool
) -> tuple[Any, ...] | None:
    """Plan how rows of equal lengths are read by one `struct` format.

    Args:
        parts: the fields of a row.
        lengths: of each field that has a length, -1 for null.
        tags: a row ends with a section of tagged fields; only an empty one fits a run.

    Returns:
        The iterator over a run, the bytes of a row, then for each length its place and expected
        value (and for the tags), then for each field the place of its value. None: no such plan.
    """
    layout, size, place = ">", 0, 0
    checks: list[int] = []
    picks: list[int | slice] = []
    left: Iterator[int] = iter(lengths)
    for part in parts:
        if not part.prefix:
            layout, size = layout + part.code, size + part.size
            picks.append(place)
            place += 1
            continue
        length = next(left)
        prefix = _prefix(part, length)
        if prefix is None:
            return None
        items = max(length, 0)
        width = 1 if part.code == "s" else items
        layout += f"{prefix[0]}{items}{part.code}"
        size += prefix[1] + items * part.size
        checks += (place, prefix[2])
        picks.append(place + 1 if part.code == "s" else slice(place + 1, place + 1 + width))
        place += 1 + width
    if tags:
        layout, size = layout + "B", size + 1
        checks += (place, 0)
    return (struct.Struct(layout).iter_unpack, size, *checks, *picks)


# -- errors --------------------------------------------------------------------------------


def bad_length(what: str, length: int, at: int) -> DecodeError:
    """Return the error of a length that is below zero where null has no place (N6)."""
    return DecodeError(what, f"its length is {length}", position=at)


def too_many(what: str, count: int, at: int) -> DecodeError:
    """Return the error of a count that the bytes left cannot hold (N7)."""
    return DecodeError(what, f"{count} announced, which the bytes left cannot hold", position=at)


def ended(what: str, at: int, end: int) -> DecodeError:
    """Return the error of a message that does not end where its bytes end (N4)."""
    if at > end:
        return DecodeError(what, "the bytes end too early", position=end)
    return DecodeError(what, f"{end - at} bytes are left over", position=at)


def unsendable(what: str, field: str, reason: str) -> UnsupportedVersionError:
    """Return the error of a value that a version cannot carry."""
    return UnsupportedVersionError(what, f"{field} {reason}")
