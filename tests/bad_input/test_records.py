"""Record batches that no producer writes (N15 to N22), and varints in records (N8).

Each lies in the log of one partition, between sound records, while the other partition is sound.
"""

import struct
import sys
import tracemalloc
import zlib
from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest

from kgroup.errors import CorruptRecordError, DecodeError, UnsupportedCodecError
from kgroup.testing import InProcessBroker
from kgroup.wire.compression import Codec, compress
from kgroup.wire.messages import AbortedTransaction, FetchRequest, FetchResponse, PartitionData
from kgroup.wire.records import BatchHeader, NewRecord, encode_batch
from kgroup.wire.records.encode import encode_record, seal
from kgroup.wire.schema import replace
from tests.bad_input.stage import A, B, Play, check_pace, cluster, playing

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

AT: Final = 1
"""Offset of what is bad."""

_HEADER: Final = ">qiibIhiqqqhii"
_TRANSACTIONAL, _CONTROL = 1 << 4, 1 << 5


def batch(*values: bytes, at: int = AT, codec: Codec = Codec.NONE, **figures: int) -> bytes:
    """Return a batch with some figures of its header changed and a right checksum."""
    data = encode_batch([NewRecord(None, value) for value in values or (b"v",)], codec=codec)
    header = BatchHeader._make(struct.unpack_from(_HEADER, data))
    return seal(header._replace(base_offset=at, **figures), data[61:])


def with_length(length: int) -> bytes:
    data = bytearray(batch())
    struct.pack_into(">i", data, 8, length)
    return bytes(data)


def with_byte(at: int, value: int) -> bytes:
    data = bytearray(batch())
    data[at] = value
    return bytes(data)


def of_records(*offset_deltas: int) -> bytes:
    """Return a batch whose records say these offsets."""
    body = b"".join(
        encode_record(NewRecord(None, b"v"), offset_delta=delta, timestamp_delta=0)
        for delta in offset_deltas
    )
    count = len(offset_deltas)
    return seal(BatchHeader(base_offset=AT, last_offset_delta=count - 1, record_count=count), body)


def packed(codec: Codec, body: bytes) -> bytes:
    """Return a batch with a body that says to be compressed, and a right checksum."""
    return seal(BatchHeader(base_offset=AT, attributes=codec.value, record_count=1), body)


def laid(data: bytes, *, offsets: int = 1) -> InProcessBroker:
    """Return brokers with these bytes in A, behind one sound record and before another one."""
    broker = cluster(records=0)
    broker.partition(*A).append(b"good")
    broker.partition(*A).append_raw(data, offsets=offsets)
    broker.partition(*A).append(b"behind")
    broker.partition(*B).append(b"0")
    return broker


async def stops(data: bytes, *, words: str, offsets: int = 1, **options: Any) -> type[Exception]:
    """Check that a partition stops at what is bad, that nothing else does, and the way out."""
    broker = laid(data, offsets=offsets)
    async with playing(broker, **options) as play:
        await play.read_for(6.0)
        broker.partition(*B).append(b"1")
        await play.read_for(6.0)
        check_pace(play, 0.0)
        assert play.read == {A: [0], B: [0, 1]}
        assert len(play.errors) >= 2
        for error in play.errors:
            assert isinstance(error, DecodeError)
            for word in (f"{A}", words, "seek past it"):
                assert word in str(error)
        assert await play.consumer.position(A) == AT
        await play.consumer.commit()
        assert play.committed() == {A: AT, B: 2}
        play.consumer.seek(A, AT + offsets)
        await play.read_for(2.0)
        assert play.read[A] == [0, AT + offsets]
    return type(play.errors[-1])


async def passes(broker: InProcessBroker, *offsets: int, **options: Any) -> None:
    """Check that exactly these offsets of A are handed out, without a word, and committed."""
    async with playing(broker, **options) as play:
        await play.read_for(3.0)
        assert play.errors == []
        assert play.read[A] == list(offsets)
        await play.consumer.commit()
        assert play.committed()[A] == broker.partition(*A).end


def asked_at(play: Play, offset: int) -> int:
    """Count the questions for A at an offset."""
    return sum(
        (each.partition, each.fetch_offset) == (A.partition, offset)
        for request in play.broker.requests_of(FetchRequest)
        for topic in request.topics
        for each in topic.partitions
    )


# -- N8: varints in records ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "varint", [b"\xff" * 5 + b"\x01", b"\xff" * 10 + b"\x01", b"\xff" * 30], ids=[6, 11, 30]
)
async def test_n08_records_whose_lengths_are_endless_stop_their_partition(varint: bytes) -> None:
    header = BatchHeader(base_offset=AT, record_count=1)
    assert await stops(seal(header, varint), words="offset 1") is CorruptRecordError


# -- N15: checksums ------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", Codec)
async def test_n15_a_bad_checksum_is_asked_for_again_and_then_stops_its_partition(
    codec: Codec,
) -> None:
    data = batch(b"hurt" * 9, codec=codec)
    damaged = data[:-1] + bytes((data[-1] ^ 1,))
    assert await stops(damaged, words="the batch at offset 1") is CorruptRecordError


def spoiled(change: Callable[[PartitionData], PartitionData]) -> Callable[[Any, Any], Any]:
    """Change what an answer says of A when it has records of it."""

    def rewrite(_: FetchRequest, answer: FetchResponse) -> FetchResponse:
        topics = tuple(
            replace(topic, partitions=tuple(_changed(each, change) for each in topic.partitions))
            for topic in answer.responses
        )
        return replace(answer, responses=topics)

    return rewrite


def _changed(
    data: PartitionData, change: Callable[[PartitionData], PartitionData]
) -> PartitionData:
    return change(data) if data.partition_index == A.partition and data.records else data


def flipped(data: PartitionData) -> PartitionData:
    records = bytes(data.records or b"")
    return replace(data, records=records[:-1] + bytes((records[-1] ^ 1,)))


async def test_n15_what_is_hurt_on_the_way_is_read_without_a_word_when_it_comes_whole() -> None:
    broker = laid(batch())
    broker.answers.rewrite(FetchRequest, spoiled(flipped), times=3)
    await passes(broker, 0, 1, 2)


async def test_n15_damage_is_asked_for_a_bounded_number_of_times() -> None:
    broker = laid(batch())
    broker.answers.rewrite(FetchRequest, spoiled(flipped), times=None)
    async with playing(broker, max_partition_fetch_bytes=1) as play:
        await play.read_for(60.0)
        assert asked_at(play, 0) == 4
        assert play.read == {B: [0]}
        assert any(isinstance(error, CorruptRecordError) for error in play.errors)
        broker.answers.clear()
        play.consumer.seek(A, 0)
        await play.read_for(2.0)
        assert play.read[A] == [0, 1, 2]


# -- N16: lengths of batches ---------------------------------------------------------------------


@pytest.mark.parametrize("length", [-1, -(2**31), 0, 1, 48])
async def test_n16_a_batch_shorter_than_its_header_stops_its_partition(length: int) -> None:
    assert await stops(with_length(length), words="offset 1") is CorruptRecordError


@pytest.mark.parametrize("beyond", [1, 1000, 2**31 - 1])
async def test_n16_a_batch_longer_than_what_there_is_stops_its_partition(beyond: int) -> None:
    length = min(len(batch()) - 12 + 10_000 + beyond, 2**31 - 1)
    assert await stops(with_length(length), words="offset 1") is CorruptRecordError


async def test_n16_a_batch_that_is_cut_off_behind_another_is_normal() -> None:
    broker = laid(batch())

    def cut(data: PartitionData) -> PartitionData:
        records = bytes(data.records or b"")
        first = 12 + int.from_bytes(records[8:12], "big")
        return replace(data, records=records[: max(first, len(records) - 5)])

    broker.answers.rewrite(FetchRequest, spoiled(cut), times=None)
    await passes(broker, 0, 1, 2)


# -- N17: figures --------------------------------------------------------------------------------

FIGURES: Final = {
    "count -1": batch(record_count=-1),
    "count -2^31": batch(record_count=-(2**31)),
    "count 2^31": batch(record_count=2**31 - 1, last_offset_delta=2**31 - 1),
    "more than there are": batch(record_count=2, last_offset_delta=1),
    "fewer than there are": batch(b"v", b"w", record_count=1, last_offset_delta=0),
    "none of those there are": batch(record_count=0),
    "last delta -1": batch(last_offset_delta=-1),
    "last delta too small": batch(b"v", b"w", last_offset_delta=0),
    "one offset twice": of_records(0, 0),
    "offsets that fall": of_records(1, 0),
    "an offset before the batch": of_records(-1, 0),
    "an offset behind the last": of_records(0, 5),
}


@pytest.mark.parametrize("data", FIGURES.values(), ids=FIGURES)
async def test_n17_figures_that_contradict_the_records_stop_their_partition(data: bytes) -> None:
    assert await stops(data, words="offset 1") is CorruptRecordError


async def test_n17_a_batch_that_goes_backwards_stops_its_partition() -> None:
    """It would hand out an offset twice."""
    broker = cluster(records=0)
    for offset in (0, 1, 0):
        broker.partition(*A).append_raw(batch(at=offset), offsets=1)
    async with playing(broker) as play:
        await play.read_for(5.0)
        assert play.read == {A: [0, 1]}
        assert isinstance(play.errors[-1], CorruptRecordError)
        assert await play.consumer.position(A) == 2
        check_pace(play, 0.0)


# -- N18: formats --------------------------------------------------------------------------------


@pytest.mark.parametrize("magic", [3, 9, 255])
async def test_n18_a_magic_nobody_knows_is_named_and_stops_its_partition(magic: int) -> None:
    assert await stops(with_byte(16, magic), words="magic") is UnsupportedCodecError


@pytest.mark.parametrize("codec", [5, 6, 7])
async def test_n18_a_codec_nobody_knows_is_named_and_stops_its_partition(codec: int) -> None:
    data = batch(attributes=codec)
    assert await stops(data, words=f"codec {codec}") is UnsupportedCodecError


async def test_n18_attributes_nobody_knows_are_ignored() -> None:
    await passes(laid(batch(attributes=-(2**15) + 0b111_1111_1000_0000)), 0, 1, 2)


# -- N19: marks ----------------------------------------------------------------------------------


def mark(producer_id: int, kind: int, at: int) -> bytes:
    data = encode_batch([NewRecord(struct.pack(">hh", 0, kind), b"\0\0\0\0\0\0")])
    header = BatchHeader._make(struct.unpack_from(_HEADER, data))
    attributes = _CONTROL | _TRANSACTIONAL
    marked = header._replace(base_offset=at, attributes=attributes, producer_id=producer_id)
    return seal(marked, data[61:])


def with_marks() -> InProcessBroker:
    """Return a log of a transaction that is aborted twice, and of marks that end nothing."""
    broker = cluster(records=0)
    part = broker.partition(*A)
    part.append_raw(batch(at=0, attributes=_TRANSACTIONAL, producer_id=7))
    for at, (producer_id, kind) in enumerate(((7, 0), (7, 0), (7, 77), (9, 1), (9, 0)), start=1):
        part.append_raw(mark(producer_id, kind, at))
    part.append(b"good")
    return broker


def aborted(*listed: tuple[int, int]) -> Callable[[Any, Any], Any]:
    rows = tuple(AbortedTransaction(producer_id=p, first_offset=at) for p, at in listed)
    return spoiled(lambda data: replace(data, aborted_transactions=rows))


LISTS: Final[dict[str, Sequence[tuple[int, int]]]] = {
    "once": [(7, 0)],
    "twice": [(7, 0), (7, 0)],
    "unsorted, and others": [(9, 40), (7, 0), (-1, -1), (8, 2**63 - 1)],
}


@pytest.mark.parametrize("listed", LISTS.values(), ids=LISTS)
async def test_n19_marks_that_end_nothing_are_passed_over(
    listed: Sequence[tuple[int, int]],
) -> None:
    broker = with_marks()
    broker.answers.rewrite(FetchRequest, aborted(*listed), times=None)
    await passes(broker, 6, isolation_level="read_committed")


async def test_n19_marks_are_never_handed_out() -> None:
    await passes(with_marks(), 0, 6, isolation_level="read_uncommitted")


# -- N20: nothing left ---------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2**20])
async def test_n20_batches_that_compaction_has_emptied_are_passed_over(limit: int) -> None:
    broker = cluster(records=0)
    part = broker.partition(*A)
    for first in range(0, 50, 10):
        emptied = seal(BatchHeader(base_offset=first, last_offset_delta=9), b"")
        part.append_raw(emptied, offsets=10)
    async with playing(broker, max_partition_fetch_bytes=limit) as play:
        await play.read_for(3.0)
        assert await play.consumer.position(A) == 50
        await play.consumer.commit()
        assert play.committed()[A] == 50
        part.append(b"at last")
        await play.read_for(1.0)
        assert (play.read[A], play.errors) == ([50], [])


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
        told = await stops(data, words=str(BOUND), max_decompressed_bytes=BOUND)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert told is CorruptRecordError
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
