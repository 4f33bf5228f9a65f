"""Record batches that no producer writes (N15 to N20), and varints in records (N8).

Each lies in the log of one partition, between sound records, while the other partition is sound.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest

from kgroup.errors import CorruptRecordError, UnsupportedCodecError
from kgroup.testing import InProcessBroker
from kgroup.wire.compression import Codec
from kgroup.wire.messages import AbortedTransaction, FetchRequest, FetchResponse, PartitionData
from kgroup.wire.records import BatchHeader, NewRecord, encode_batch
from kgroup.wire.records.encode import seal
from kgroup.wire.schema import replace
from tests.bad_input.damaged import (
    AT,
    CONTROL,
    HEADER,
    TRANSACTIONAL,
    asked_at,
    batch,
    laid,
    of_records,
    passes,
    stops,
    with_byte,
    with_length,
)
from tests.bad_input.stage import A, B, check_pace, cluster, playing

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

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
    header = BatchHeader._make(struct.unpack_from(HEADER, data))
    attributes = CONTROL | TRANSACTIONAL
    marked = header._replace(base_offset=at, attributes=attributes, producer_id=producer_id)
    return seal(marked, data[61:])


def with_marks() -> InProcessBroker:
    """Return a log of a transaction that is aborted twice, and of marks that end nothing."""
    broker = cluster(records=0)
    part = broker.partition(*A)
    part.append_raw(batch(at=0, attributes=TRANSACTIONAL, producer_id=7))
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
async def test_n19_marks_that_end_nothing_are_skipped(
    listed: Sequence[tuple[int, int]],
) -> None:
    broker = with_marks()
    broker.answers.rewrite(FetchRequest, aborted(*listed), times=None)
    await passes(broker, 6, isolation_level="read_committed")


async def test_n19_marks_are_never_handed_out() -> None:
    await passes(with_marks(), 0, 6, isolation_level="read_uncommitted")


# -- N20: nothing left ---------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2**20])
async def test_n20_batches_that_compaction_has_emptied_are_skipped(limit: int) -> None:
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
