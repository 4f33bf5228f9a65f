"""Signed varints of records: seven bits a byte, lowest first, zigzag.

Decides: bounds; a field of 32 bits has at most 5 bytes, one of 64 bits at most 10.
Never: hides that the data ended: reading beyond it is an `IndexError`, and the caller knows where.
"""

from typing import Final

_ONE_BYTE: Final = tuple(bytes([number]) for number in range(128))


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Read 32 bits at `at`; return the value and the position after it.

    Raises:
        IndexError: the data ends within the number.
        ValueError: the number has more than 32 bits.
    """
    raw = data[at]
    if raw < 128:
        return (raw >> 1) ^ -(raw & 1), at + 1
    return _read(data, at, 32)


def read_varlong(data: bytes, at: int) -> tuple[int, int]:
    """Read 64 bits at `at`; return the value and the position after it.

    Raises:
        IndexError: the data ends within the number.
        ValueError: the number has more than 64 bits.
    """
    raw = data[at]
    if raw < 128:
        return (raw >> 1) ^ -(raw & 1), at + 1
    return _read(data, at, 64)


def _read(data: bytes, at: int, bits: int) -> tuple[int, int]:
    """Read a number of two bytes or more."""
    raw = data[at] & 127
    shift = 7
    while (byte := data[at := at + 1]) > 127:
        raw |= (byte & 127) << shift
        shift += 7
        if shift >= bits:
            raise ValueError(f"a varint of more than {bits} bits at byte {at}")
    raw |= byte << shift
    if raw >> bits:
        raise ValueError(f"a varint of more than {bits} bits at byte {at}")
    return (raw >> 1) ^ -(raw & 1), at + 1


def pack_varint(value: int) -> bytes:
    """Write a signed number of at most 64 bits."""
    raw = (value << 1) ^ (value >> 63)
    if raw < 128:
        return _ONE_BYTE[raw]
    packed = bytearray()
    while raw > 127:
        packed.append(raw & 127 | 128)
        raw >>= 7
    packed.append(raw)
    return bytes(packed)


def wrapped(value: int) -> int:
    """Bring a sum or difference of two numbers of 64 bits back to 64 bits, as Java's do."""
    return ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)
