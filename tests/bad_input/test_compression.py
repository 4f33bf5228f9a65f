"""Compressed records that explode, that lie, or whose library is missing (N21, N22)."""

import sys
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Final

import pytest

from kgroup.errors import CorruptRecordError, UnsupportedCodecError
from kgroup.wire.compression import Codec, compress
from tests.bad_input.damaged import batch, packed, stops

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

# -- N21: bombs ----------------------------------------------------------------------------------

BOUND: Final = 2**20
LARGE: Final = bytes(2**23)


def xerial(blocks: int) -> bytes:
    """Return snappy as Java's library frames it: a head of 16 bytes, then blocks."""
    data = compress(Codec.SNAPPY, bytes(2**16))
    return data[:16] + data[16:] * blocks


BOMBS: Final[dict[str, tuple[Codec, Callable[[], bytes]]]] = {
    "gzip": (Codec.GZIP, lambda: compress(Codec.GZIP, LARGE)),
    "gzip, one behind the other": (Codec.GZIP, lambda: compress(Codec.GZIP, LARGE[: 2**19]) * 12),
    "snappy": (Codec.SNAPPY, lambda: compress(Codec.SNAPPY, LARGE)),
    "snappy of endless blocks": (Codec.SNAPPY, lambda: xerial(100)),
    "lz4": (Codec.LZ4, lambda: compress(Codec.LZ4, LARGE)),
    "lz4, one behind the other": (Codec.LZ4, lambda: compress(Codec.LZ4, LARGE[: 2**19]) * 12),
    "zstd": (Codec.ZSTD, lambda: compress(Codec.ZSTD, LARGE)),
    "zstd, one behind the other": (Codec.ZSTD, lambda: compress(Codec.ZSTD, LARGE[: 2**19]) * 12),
}


@pytest.mark.parametrize(("codec", "bomb"), BOMBS.values(), ids=BOMBS)
async def test_n21_a_bomb_stops_its_partition_before_it_goes_off(
    codec: Codec, bomb: Callable[[], bytes]
) -> None:
    data = packed(codec, bomb())
    tracemalloc.start()
    try:
        error = await stops(data, words=str(BOUND), max_decompressed_bytes=BOUND)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert error is CorruptRecordError
    # What is read, what is decompressed, and the copies of the answer on its way.
    assert peak < 4 * BOUND + 16 * len(data)


LIES: Final[dict[str, tuple[Codec, bytes]]] = {
    "snappy says 4 GiB": (Codec.SNAPPY, b"\xff\xff\xff\xff\x0f\x00"),
    "snappy says less": (Codec.SNAPPY, b"\x01" + compress(Codec.SNAPPY, bytes(500))[1:]),
    "snappy ends early": (Codec.SNAPPY, compress(Codec.SNAPPY, bytes(500))[:-4]),
    "gzip ends early": (Codec.GZIP, compress(Codec.GZIP, bytes(500))[:-4]),
    "gzip of the wrong size": (Codec.GZIP, compress(Codec.GZIP, bytes(500))[:-4] + b"\0\0\0\1"),
    "lz4 ends early": (Codec.LZ4, compress(Codec.LZ4, bytes(500))[:-6]),
    "zstd ends early": (Codec.ZSTD, compress(Codec.ZSTD, bytes(500))[:-4]),
    "no gzip at all": (Codec.GZIP, b"HTTP/1.1 400 Bad Request"),
    "no snappy at all": (Codec.SNAPPY, b"HTTP/1.1 400 Bad Request"),
    "no lz4 at all": (Codec.LZ4, b"HTTP/1.1 400 Bad Request"),
    "no zstd at all": (Codec.ZSTD, b"HTTP/1.1 400 Bad Request"),
    "zlib instead of gzip": (Codec.GZIP, zlib.compress(bytes(500))),
}


@pytest.mark.parametrize(("codec", "body"), LIES.values(), ids=LIES)
async def test_n21_compressed_bytes_that_lie_stop_their_partition(
    codec: Codec, body: bytes
) -> None:
    assert await stops(packed(codec, body), words="offset 1") is CorruptRecordError


# -- N22: no library -----------------------------------------------------------------------------

LIBRARIES: Final = {
    Codec.LZ4: ("lz4.frame", "lz4"),
    Codec.SNAPPY: ("cramjam", "cramjam"),
    Codec.ZSTD: ("cramjam", "cramjam"),
}


@pytest.mark.parametrize("codec", LIBRARIES, ids=str)
async def test_n22_a_codec_without_its_library_names_the_package_and_stops_one_partition(
    codec: Codec, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = batch(b"packed", codec=codec)
    module, package = LIBRARIES[codec]
    monkeypatch.setitem(sys.modules, module, None)
    words = f"pip install {package}"
    assert await stops(data, words=words) is UnsupportedCodecError
