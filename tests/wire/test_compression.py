"""Five codecs in both directions, damage, and outputs that want to be too large."""

import gzip
import random
import sys
import tracemalloc

import cramjam
import lz4.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.errors import CorruptRecordError, UnsupportedCodecError
from kgroup.wire.compression import MAX_OUTPUT, Codec, compress, decompress

KIB, MIB = 1 << 10, 1 << 20
COMPRESSED = [codec for codec in Codec if codec is not Codec.NONE]
TEXT = b"".join(b'{"id": %d, "name": "member %d"}\n' % (n, n * n) for n in range(6_000))
XERIAL = b"\x82SNAPPY\x00" + b"\x00\x00\x00\x01" * 2
ZSTD = b"\x28\xb5\x2f\xfd"


def frame_of_zstd_blocks(blocks: int, header: bytes = b"\x00\x58") -> bytes:
    """A zstd frame of RLE blocks, four bytes each for 128 KiB; no content size unless given."""
    block = (128 * KIB << 3 | 1 << 1).to_bytes(3, "little") + b"x"
    return ZSTD + header + block * blocks + (1).to_bytes(3, "little")


def refused_within(
    memory: int, codec: Codec, data: bytes, why: str, max_output: int = MAX_OUTPUT
) -> None:
    """Check that data is corrupt, and that finding it out allocates less than so many bytes."""
    tracemalloc.start()
    try:
        with pytest.raises(CorruptRecordError, match=why):
            decompress(codec, data, max_output=max_output)
        assert tracemalloc.get_traced_memory()[1] < memory
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("size", [0, 1, 63 * KIB, 64 * KIB, 64 * KIB + 1, len(TEXT)])
def test_what_was_compressed_comes_back(codec: Codec, size: int) -> None:
    data = TEXT[:size]
    packed = compress(codec, data)
    for given_as in (packed, memoryview(packed), memoryview(bytearray(b"!" + packed))[1:]):
        restored = decompress(codec, given_as)
        assert type(restored) is bytes
        assert restored == data


@given(st.sampled_from(Codec), st.binary(max_size=2_000), st.integers(1, 50))
def test_any_bytes_come_back(codec: Codec, data: bytes, times: int) -> None:
    assert decompress(codec, compress(codec, data * times)) == data * times


@pytest.mark.parametrize("codec", COMPRESSED)
def test_the_bound_is_exact(codec: Codec) -> None:
    packed = compress(codec, TEXT)
    assert decompress(codec, packed, max_output=len(TEXT)) == TEXT
    for bound in (0, 1, len(TEXT) - 1):
        with pytest.raises(CorruptRecordError, match=f"{bound} bytes"):
            decompress(codec, packed, max_output=bound)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_every_truncation_is_corrupt(codec: Codec) -> None:
    packed = compress(codec, TEXT[:300])
    for end in range(len(packed)):
        with pytest.raises(CorruptRecordError):
            decompress(codec, packed[:end])


def test_a_truncated_xerial_stream_is_corrupt_or_ends_between_two_blocks() -> None:
    packed = compress(Codec.SNAPPY, TEXT[: 70 * KIB])
    whole = []
    for end in range(len(packed)):
        try:
            whole.append(len(decompress(Codec.SNAPPY, packed[:end])))
        except CorruptRecordError:
            continue
    assert whole == [0, 32 * KIB, 64 * KIB]  # the batch's checksum and count have to tell


@pytest.mark.parametrize("codec", COMPRESSED)
def test_mutated_bytes_decompress_or_are_corrupt(codec: Codec) -> None:
    chance = random.Random(codec.name)
    packed = compress(codec, TEXT[:3_000])
    for _ in range(400):
        mutated = bytearray(packed)
        for _ in range(chance.choice([1, 1, 3])):
            mutated[chance.randrange(min(len(packed), chance.choice([20, 10_000])))] = (
                chance.randrange(256)
            )
        try:
            restored = decompress(codec, bytes(mutated), max_output=MIB)
        except CorruptRecordError:
            continue
        assert len(restored) <= MIB


@given(
    st.sampled_from(COMPRESSED),
    st.sampled_from([b"", b"\x1f\x8b\x08", XERIAL, b"\x04\x22\x4d\x18", ZSTD]),
    st.binary(max_size=100),
)
def test_random_bytes_decompress_or_are_corrupt(codec: Codec, magic: bytes, data: bytes) -> None:
    try:
        restored = decompress(codec, magic + data, max_output=MIB)
    except CorruptRecordError:
        return
    assert len(restored) <= MIB


# -- what other writers make -----------------------------------------------------------------


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_several_streams_are_read_as_one(codec: Codec) -> None:
    parts = [TEXT[:100], b"", TEXT[100:200_000], TEXT[200_000:]]
    assert decompress(codec, b"".join(compress(codec, part) for part in parts)) == TEXT


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_what_follows_the_last_stream_must_be_a_stream(codec: Codec) -> None:
    with pytest.raises(CorruptRecordError):
        decompress(codec, compress(codec, TEXT) + b"garbage!")


def test_one_raw_block_of_snappy_differs_from_a_stream_by_its_first_bytes() -> None:
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT))) == TEXT


def test_xerial_streams_may_follow_each_other() -> None:
    packed = compress(Codec.SNAPPY, TEXT[:50_000]) + compress(Codec.SNAPPY, TEXT[50_000:])
    assert decompress(Codec.SNAPPY, packed) == TEXT


def test_snappy_is_written_as_the_stream_java_reads() -> None:
    packed = compress(Codec.SNAPPY, TEXT)
    assert packed.startswith(XERIAL)
    size = int.from_bytes(packed[16:20], "big")
    block = bytes(cramjam.snappy.decompress_raw(packed[20 : 20 + size]))
    assert block == TEXT[: 32 * KIB]


def test_lz4_is_written_in_independent_blocks_without_content_size() -> None:
    facts = lz4.frame.get_frame_info(compress(Codec.LZ4, TEXT))
    assert facts["block_linked"] is False
    assert facts["block_size"] == 64 * KIB
    assert facts["content_size"] == 0
    assert facts["content_checksum"] is False


def test_lz4_frames_of_any_block_size_with_linked_blocks_are_read() -> None:
    for block_size in range(4, 8):
        packed = lz4.frame.compress(TEXT * 30, block_size=block_size, block_linked=True)
        assert decompress(Codec.LZ4, packed) == TEXT * 30


def test_zstd_skippable_frames_are_skipped() -> None:
    skippable = b"\x5a\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"other"
    packed = compress(Codec.ZSTD, TEXT)
    assert decompress(Codec.ZSTD, skippable + packed + skippable) == TEXT


def test_gzip_members_with_names_and_comments_are_read() -> None:
    named = b"\x1f\x8b\x08\x18" + bytes(6) + b"name\0comment\0" + gzip.compress(TEXT)[10:]
    assert decompress(Codec.GZIP, named) == TEXT


# -- bombs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_bomb_is_stopped_at_the_bound(codec: Codec) -> None:
    bomb = compress(codec, bytes(24 * MIB))
    assert len(bomb) < 2 * MIB
    refused_within(MIB + 2 * len(bomb), codec, bomb, f"{256 * KIB} bytes", 256 * KIB)


def test_a_kilobyte_of_zstd_that_declares_gigabytes_allocates_only_what_its_blocks_can_make() -> (
    None
):
    content_size = (1 << 40).to_bytes(8, "little")
    for descriptor, window in ((b"\xe0", b""), (b"\xc0", b"\x58")):
        liar = frame_of_zstd_blocks(1, descriptor + window + content_size) + bytes(KIB)
        refused_within(4 * 128 * KIB, Codec.ZSTD, liar, ".")


def test_zstd_blocks_that_repeat_one_byte_count_with_what_they_make() -> None:
    assert decompress(Codec.ZSTD, frame_of_zstd_blocks(3)) == b"x" * 3 * 128 * KIB
    bomb = frame_of_zstd_blocks(16 * KIB)  # 64 kB that make 2 GiB
    refused_within(2 * MIB, Codec.ZSTD, bomb, f"{MIB} bytes", MIB)


def test_snappy_that_declares_more_than_it_can_hold_allocates_nothing() -> None:
    gigabyte = b"\x80\x80\x80\x80\x04"
    block = gigabyte + bytes(KIB)
    for bomb in (block, XERIAL + len(block).to_bytes(4, "big") + block):
        refused_within(64 * KIB, Codec.SNAPPY, bomb, "declares 1073741824")


def test_endless_xerial_blocks_are_stopped_before_the_first_is_decompressed() -> None:
    block = bytes(cramjam.snappy.compress_raw(bytes(32 * KIB)))
    bomb = XERIAL + (len(block).to_bytes(4, "big") + block) * 400
    refused_within(MIB, Codec.SNAPPY, bomb, f"{MIB} bytes", MIB)


@pytest.mark.parametrize("size", [-(1 << 31), -1, 0, 6, (1 << 31) - 1])
def test_a_xerial_block_has_a_possible_length(size: int) -> None:
    with pytest.raises(CorruptRecordError, match="a block of"):
        decompress(Codec.SNAPPY, XERIAL + size.to_bytes(4, "big", signed=True) + b"12345")


def test_an_lz4_frame_that_lies_about_its_content_size_is_corrupt_and_cheap() -> None:
    context = lz4.frame.create_compression_context()
    liar: bytes = lz4.frame.compress_begin(context, source_size=1 << 40)
    liar += lz4.frame.compress_chunk(context, TEXT[:500])
    liar += bytes(4)
    refused_within(512 * KIB, Codec.LZ4, liar, ".")


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_streams_in_a_row_share_one_bound(codec: Codec) -> None:
    packed = compress(codec, bytes(600 * KIB)) * 2
    assert len(decompress(codec, packed, max_output=1_200 * KIB)) == 1_200 * KIB
    with pytest.raises(CorruptRecordError, match=f"{MIB} bytes"):
        decompress(codec, packed, max_output=MIB)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4])
def test_a_stream_of_empty_streams_comes_to_an_end(codec: Codec) -> None:
    with pytest.raises(CorruptRecordError, match="more than 1000"):
        decompress(codec, compress(codec, b"") * 20_000)


def test_the_bound_is_64_mib_unless_given() -> None:
    assert MAX_OUTPUT == 64 * MIB


# -- missing libraries -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("codec", "module", "package"),
    [
        (Codec.LZ4, "lz4.frame", "lz4"),
        (Codec.SNAPPY, "cramjam", "cramjam"),
        (Codec.ZSTD, "cramjam", "cramjam"),
    ],
)
def test_a_missing_library_is_named_and_the_other_codecs_work(
    monkeypatch: pytest.MonkeyPatch, codec: Codec, module: str, package: str
) -> None:
    packed = compress(codec, TEXT)
    monkeypatch.setitem(sys.modules, module, None)
    for call in (lambda: decompress(codec, packed), lambda: compress(codec, TEXT)):
        with pytest.raises(UnsupportedCodecError, match=f"pip install {package}$"):
            call()
    assert decompress(Codec.GZIP, compress(Codec.GZIP, TEXT)) == TEXT
