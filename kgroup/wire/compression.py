"""Compression of record batches: five codecs, every output bounded.

Decides: which bytes a codec id stands for, in both directions, and when an output is too large.
Never: allocates by a size the data declares, returns more than `max_output`, or lets an error of a
codec library through: a reader sees `CorruptRecordError` or `UnsupportedCodecError` only.

gzip is RFC 1952, several members; snappy is a xerial stream or, from some clients, one raw block;
lz4 is the frame format (Java reads independent blocks only, so 64 KiB ones are written, KIP-57);
zstd is RFC 8878, one or more frames (KIP-110).
"""

import importlib
import struct
import zlib
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, assert_never

from kgroup.errors import CorruptRecordError, UnsupportedCodecError

MAX_OUTPUT: Final = 64 * 1024 * 1024
"""Bytes a batch may decompress to when the caller names no bound: 64 MiB."""

_KIB: Final = 1024
_MAX_STREAMS: Final = 1_000  # gzip members or lz4 frames in a batch; each copies the rest
_GZIP_WINDOW: Final = 31  # zlib's way to say "gzip wrapper, largest window"
_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)  # version, lowest reader
_XERIAL_BLOCK: Final = 32 * _KIB
_SNAPPY_RATIO: Final = 22  # three bytes of snappy make at most 64
_ZSTD_MAGIC: Final = 0xFD2FB528
_ZSTD_BLOCK: Final = 128 * _KIB
_ZSTD_LEVEL: Final = 3
_LZ4_STEP: Final = 64 * _KIB


class Codec(Enum):
    """How the records of a batch are compressed; the value is the id in the batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def decompress(codec: Codec, data: bytes | memoryview, *, max_output: int = MAX_OUTPUT) -> bytes:
    """Undo `codec`; memory stays within a small multiple of the input and `max_output`.

    Args:
        codec: how `data` was compressed; NONE copies it.
        data: everything after the batch's header.
        max_output: most bytes to return, at least 0; not applied to NONE, which cannot grow.

    Raises:
        CorruptRecordError: damaged, cut off, followed by something else, or larger than allowed.
        UnsupportedCodecError: the codec's library is missing.
    """
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            return _gunzip(data, max_output)
        case Codec.SNAPPY:
            return _unsnappy(data, max_output)
        case Codec.LZ4:
            return _unlz4(data, max_output)
        case Codec.ZSTD:
            return _unzstd(data, max_output)
        case _:
            assert_never(codec)


def compress(codec: Codec, data: bytes) -> bytes:
    """Apply `codec` the way Java's consumer can read it.

    Raises:
        UnsupportedCodecError: the codec's library is missing.
    """
    match codec:
        case Codec.NONE:
            return data
        case Codec.GZIP:
            deflater = zlib.compressobj(wbits=_GZIP_WINDOW)
            return deflater.compress(data) + deflater.flush()
        case Codec.SNAPPY:
            return _snappy(data)
        case Codec.LZ4:
            frame = _library(codec, "lz4.frame")
            return bytes(
                frame.compress(
                    data,
                    block_size=frame.BLOCKSIZE_MAX64KB,
                    block_linked=False,
                    store_size=False,
                )
            )
        case Codec.ZSTD:
            return bytes(_library(codec, "cramjam").zstd.compress(data, _ZSTD_LEVEL))
        case _:
            assert_never(codec)


def _library(codec: Codec, module: str) -> Any:  # noqa: ANN401  # neither library has usable types
    """Import a codec's library on first use, so that a missing one costs only its own codec."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise UnsupportedCodecError(
            f"{codec.name.lower()} records",
            f"the package {package!r} cannot be imported ({error}); pip install {package}",
        ) from error


def _corrupt(codec: Codec, reason: str) -> CorruptRecordError:
    return CorruptRecordError(f"{codec.name.lower()} records", reason)


def _too_large(codec: Codec, max_output: int) -> CorruptRecordError:
    return _corrupt(
        codec, f"they inflate to more than {max_output} bytes; raise the bound if that is meant"
    )


# -- gzip ----------------------------------------------------------------------------------


def _gunzip(data: bytes | memoryview, max_output: int) -> bytes:
    parts: list[bytes] = []
    room = max_output
    rest: bytes | memoryview = data
    for _ in range(_MAX_STREAMS):
        member = zlib.decompressobj(_GZIP_WINDOW)
        try:
            # One byte more than allowed tells "full" from "too large"; 0 would mean no bound.
            part = member.decompress(rest, room + 1)
        except zlib.error as error:
            raise _corrupt(Codec.GZIP, str(error)) from error
        room -= len(part)
        if room < 0:
            raise _too_large(Codec.GZIP, max_output)
        if not member.eof:
            raise _corrupt(Codec.GZIP, "the stream ends in the middle of a member")
        parts.append(part)
        rest = member.unused_data
        if not rest:
            return b"".join(parts) if len(parts) > 1 else part
    raise _corrupt(Codec.GZIP, f"more than {_MAX_STREAMS} members")


# -- snappy --------------------------------------------------------------------------------


def _unsnappy(data: bytes | memoryview, max_output: int) -> bytes:
    """Read a xerial stream, or one raw block: only the magic tells them apart.

    xerial: magic (8 bytes), version i32, lowest reader i32, then blocks of i32 size and raw snappy.
    """
    snappy = _library(Codec.SNAPPY, "cramjam").snappy
    view = memoryview(data)
    if bytes(view[:8]) != _XERIAL_MAGIC:
        blocks = [(view, _snappy_size(snappy, view))]
    else:
        blocks = _xerial_blocks(snappy, view)
    total = sum(size for _, size in blocks)
    if total > max_output:
        raise _too_large(Codec.SNAPPY, max_output)
    out = bytearray(total)
    into = memoryview(out)
    at = 0
    for block, size in blocks:
        written = _guarded(Codec.SNAPPY, snappy.decompress_raw_into, block, into[at : at + size])
        if written != size:
            raise _corrupt(Codec.SNAPPY, f"a block declares {size} bytes and holds {written}")
        at += size
    return bytes(out)


def _xerial_blocks(snappy: Any, view: memoryview) -> list[tuple[memoryview, int]]:  # noqa: ANN401
    """Find the blocks and what they declare, without decompressing any."""
    blocks = []
    at, end = 0, len(view)
    while at < end:
        if bytes(view[at : at + 8]) == _XERIAL_MAGIC:  # streams may follow each other
            at += len(_XERIAL_HEADER)
            if at > end:
                raise _corrupt(Codec.SNAPPY, "the stream ends in the middle of a header")
            continue
        start = at + 4
        at = start + int.from_bytes(view[at:start], "big", signed=True)
        if not start < at <= end:
            raise _corrupt(Codec.SNAPPY, f"a block of {at - start} bytes, {end - start} are left")
        block = view[start:at]
        blocks.append((block, _snappy_size(snappy, block)))
    return blocks


def _snappy_size(snappy: Any, block: memoryview) -> int:  # noqa: ANN401
    """Return what a raw block declares, if its own length makes that possible at all."""
    size: int = _guarded(Codec.SNAPPY, snappy.decompress_raw_len, block)
    if size > len(block) * _SNAPPY_RATIO:
        raise _corrupt(Codec.SNAPPY, f"a block of {len(block)} bytes declares {size}")
    return size


def _snappy(data: bytes) -> bytes:
    snappy = _library(Codec.SNAPPY, "cramjam").snappy
    parts = [_XERIAL_HEADER]
    for at in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(snappy.compress_raw(data[at : at + _XERIAL_BLOCK]))
        parts += len(block).to_bytes(4, "big"), block
    return b"".join(parts)


# -- lz4 -----------------------------------------------------------------------------------


def _unlz4(data: bytes | memoryview, max_output: int) -> bytes:
    """Read frames in steps of a few times the input, so that a bomb is met early."""
    frames = _library(Codec.LZ4, "lz4.frame")
    step = max(_LZ4_STEP, 4 * len(data))
    parts: list[bytes] = []
    room = max_output
    rest: bytes | memoryview = data
    for _ in range(_MAX_STREAMS):
        decoder = frames.LZ4FrameDecompressor()
        while not decoder.eof:
            try:
                part = decoder.decompress(rest, max_length=min(room + 1, step))
            except RuntimeError as error:
                raise _corrupt(Codec.LZ4, str(error)) from error
            room -= len(part)
            if room < 0:
                raise _too_large(Codec.LZ4, max_output)
            if not decoder.eof and (decoder.needs_input or not part):
                raise _corrupt(Codec.LZ4, "the stream ends in the middle of a frame")
            parts.append(part)
            rest = b""
        rest = decoder.unused_data or b""
        if not rest:
            return b"".join(parts) if len(parts) > 1 else parts[0]
    raise _corrupt(Codec.LZ4, f"more than {_MAX_STREAMS} frames")


# -- zstd ----------------------------------------------------------------------------------


def _unzstd(data: bytes | memoryview, max_output: int) -> bytes:
    """Decompress in one go into a buffer that the block headers say is large enough.

    Most writers leave the content size out, and a declared one may lie. Each block however names
    what it makes (raw, RLE) or makes at most 128 KiB (compressed).
    """
    zstd = _library(Codec.ZSTD, "cramjam").zstd
    try:
        bound = _zstd_bound(memoryview(data), max_output)
    except IndexError as error:
        raise _corrupt(Codec.ZSTD, "the stream ends in the middle of a frame") from error
    out = bytearray(min(bound, max_output))
    try:
        size = _guarded(Codec.ZSTD, zstd.decompress_into, data, out)
    except CorruptRecordError as error:
        if bound <= max_output:
            raise
        raise _corrupt(
            Codec.ZSTD, f"damaged, or more than the {max_output} bytes allowed ({error.reason})"
        ) from error
    return bytes(memoryview(out)[:size])


def _zstd_bound(view: memoryview, limit: int) -> int:
    """Add up what all blocks can make; stop as soon as that is more than `limit`.

    Raises:
        IndexError: the data ends too early.
    """
    total = at = 0
    while at < len(view) and total <= limit:
        magic = int.from_bytes(view[at : at + 4], "little")
        if magic & ~0xF == 0x184D2A50:  # a skippable frame: magic, size, anything
            at += 8 + int.from_bytes(view[at + 4 : at + 8], "little")
            continue
        if magic != _ZSTD_MAGIC:
            raise _corrupt(Codec.ZSTD, f"a frame begins with {magic:#010x}")
        descriptor = view[at + 4]
        at += 4 + _zstd_header_size(descriptor)
        last = 0
        while not last and total <= limit:
            head = view[at] | view[at + 1] << 8 | view[at + 2] << 16
            last, kind, size = head & 1, head >> 1 & 3, head >> 3
            at += 3 + (1 if kind == 1 else size)
            total += size if kind < 2 else _ZSTD_BLOCK
        at += 4 * (descriptor >> 2 & 1)  # content checksum
    return total


def _zstd_header_size(descriptor: int) -> int:
    """Size of a frame's header after the magic: descriptor, window, dictionary id, content size."""
    single_segment = descriptor >> 5 & 1
    window = 0 if single_segment else 1
    dictionary = (0, 1, 2, 4)[descriptor & 3]
    content_size = (single_segment, 2, 4, 8)[descriptor >> 6]
    return 1 + window + dictionary + content_size


def _guarded(codec: Codec, call: Callable[..., int], *args: object) -> int:
    """Run one call of cramjam, whose errors share no type with anybody else's."""
    try:
        return call(*args)
    except _library(codec, "cramjam").DecompressionError as error:
        raise _corrupt(codec, str(error)) from error
