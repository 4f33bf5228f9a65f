"""The header of an lz4 frame, whose checksum every writer of magic 0 got wrong.

Decides: what stands in the checksum byte of a frame header.
Never: looks at anything behind the header; a wrong checksum there is found by the decoder.

KIP-57 (KAFKA-3160): the checksum is one byte of the xxHash32 of the descriptor; clients before it
hashed the frame's magic number too. Magic 1 and 2 have it right, so for them a wrong one is damage.
Frame: magic (4 bytes), flags, block size, content size (8 bytes, if flag 3), dictionary id (4
bytes, if flag 0), checksum.
"""

from typing import Final

__all__ = ["with_right_checksum"]

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
