"""T5: the decompressors, each behind its own byte.

Decides: the first byte of an input is the codec, the second how much may come out. What is refused
may be sound for all we know; so the rest of one input in four is also compressed, whatever it is,
and has to come back: within a bound of its own size, and not within one byte less.
"""

import gzip
import struct
from typing import Final

from kgroup.errors import CorruptRecordError
from kgroup.wire.compression import Codec, compress, decompress
from kgroup.wire.records import BatchView, iter_batches
from kgroup.wire.records.message_sets import with_right_checksum
from tests.search.fuzz.recorded import record_data
from tests.search.fuzz.target import MIB, Target, sure

_HEAD: Final = 2
_HEADER: Final = 61
_OUTPUTS: Final = (1 << 16, 1 << 20, 1000, 0)
_COMPARED: Final = 4
_TEXTS: Final = (b"", b"a", b"abc" * 99, bytes(range(256)) * 9, b"\0" * 70_000)


def _parts(data: bytes) -> tuple[Codec, int, bytes]:
    head = data[:_HEAD].ljust(_HEAD, b"\0")
    return Codec(head[0] % len(Codec)), _OUTPUTS[head[1] & 3], data[_HEAD:]


def check(data: bytes) -> bool:
    codec, most, rest = _parts(data)
    if codec is Codec.LZ4:
        sure(len(with_right_checksum(rest)) == len(rest), "a mended header is as long")
    if len(rest) % _COMPARED == 0:
        _comes_back(codec, rest)
    try:
        out = decompress(codec, rest, max_output=most)
    except CorruptRecordError:
        return False
    sure(codec is Codec.NONE or len(out) <= most, "no more comes out than is allowed", len(out))
    if len(rest) % _COMPARED == 0:
        sure(decompress(codec, memoryview(rest), max_output=most) == out, "a view is the same")
        again = decompress(codec, compress(codec, out), max_output=max(most, len(out)))
        sure(again == out, "what came out comes back", codec, out)
        sure(codec is not Codec.GZIP or gzip.decompress(rest) == out, "as Python's own reader")
    return True


def _comes_back(codec: Codec, data: bytes) -> None:
    packed = compress(codec, data)
    out = decompress(codec, packed, max_output=len(data))
    sure(out == data, "what is compressed comes back", codec, data)
    if codec is Codec.NONE or not data:
        return
    try:
        decompress(codec, packed, max_output=len(data) - 1)
    except CorruptRecordError:
        return
    sure(False, "one byte more than is allowed comes out", codec, data)


def read(data: bytes) -> object:
    codec, most, rest = _parts(data)
    return decompress(codec, rest, max_output=most)


def corpus() -> list[bytes]:
    """What Java compressed, and what we do."""
    java = [
        bytes((batch.codec.value, 1)) + bytes(batch.data[_HEADER:])
        for data in record_data()
        for batch in iter_batches(data)
        if isinstance(batch, BatchView) and batch.codec is not Codec.NONE
    ]
    ours = [
        bytes((codec.value, number % 3)) + compress(codec, text)
        for codec in Codec
        for number, text in enumerate(_TEXTS)
    ]
    twice = [each + each[_HEAD:] for each in (*java[::5], *ours)]
    return [*java, *ours, *twice]


COMPRESSED: Final = Target(
    name="T5",
    about="whatever is decompressed stays within its bound, or is refused",
    corpus=corpus,
    check=check,
    read=read,
    tokens=(
        *(b"\x82SNAPPY\0\0\0\0\1\0\0\0\1", b"\x1f\x8b\x08\0\0\0\0\0\0\xff", b"\x04\x22\x4d\x18"),
        *(struct.pack("<I", 0xFD2FB528), struct.pack("<I", 0x184D2A50), b"\xff\xff\xff\xff\x0f"),
    ),
    room=lambda data: 16 * len(data) + MIB + 4 * _parts(data)[1],
)
