"""Where batches begin and end, what their headers say, and what is done about damage."""

from typing import Any

import pytest

from kgroup.errors import CorruptRecordError, UnsupportedCodecError
from kgroup.wire.records import (
    BatchHeader,
    BatchView,
    Codec,
    NewRecord,
    TimestampType,
    encode_batch,
    iter_batches,
)
from kgroup.wire.records.encode import seal
from tests.wire.records.golden import batch_rows, batches_of, lines, record_data

GOLDEN = lines("v2", "control")
LENGTH_AT, MAGIC_AT, CRC_AT, ATTRIBUTES_AT = 8, 16, 17, 21


def sealed(body: bytes = b"", **figures: int) -> BatchView:
    """A batch with a right checksum and whatever figures a test wants."""
    (batch,) = batches_of(seal(BatchHeader(**figures), body))
    return batch


def figures(batch: BatchView) -> dict[str, Any]:
    """The header in the words of the golden files."""
    created = batch.timestamp_type is TimestampType.CREATE_TIME
    return {
        "magic": 2,
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "next_offset": batch.next_offset,
        "size": batch.size,
        "codec": batch.codec.name.lower(),
        "timestamp_type": "CreateTime" if created else "LogAppendTime",
        "max_timestamp": batch.max_timestamp,
        "crc": batch.header.crc,
        "count": batch.count,
        "partition_leader_epoch": batch.leader_epoch,
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "transactional": batch.is_transactional,
        "control": batch.is_control,
        "delete_horizon_ms": batch.delete_horizon,
    }


def absent(golden: dict[str, Any]) -> dict[str, Any]:
    """Golden figures of a header, with None where Java says -1."""
    kept = {name: golden[name] for name in golden if name not in {"records", "last_sequence"}}
    return {name: None if figure == -1 else figure for name, figure in kept.items()}


@pytest.mark.parametrize("line", GOLDEN, ids=lambda line: line["name"])
def test_every_golden_batch_reads_as_in_java(line: dict[str, Any]) -> None:
    batches = batches_of(bytes.fromhex(line["hex"]))
    assert len(batches) == len(line["batches"])
    for batch, golden in zip(batches, line["batches"], strict=True):
        if "error" in golden:
            continue
        assert figures(batch) == absent(golden)
        assert list(batch.columns()) == batch_rows(golden)


@pytest.mark.parametrize(
    "line", [line for line in GOLDEN if "corrupt" in line["name"]], ids=lambda line: line["name"]
)
def test_a_damaged_batch_is_refused_and_those_after_it_are_read(line: dict[str, Any]) -> None:
    for batch, golden in zip(
        iter_batches(bytes.fromhex(line["hex"])), line["batches"], strict=True
    ):
        if "error" not in golden:
            assert list(batch.columns()) == batch_rows(golden)
            continue
        for attempt in (batch.verify, batch.columns):
            with pytest.raises(CorruptRecordError, match="CRC-32C") as caught:
                attempt()
            assert caught.value.base_offset == golden["base_offset"]


def test_an_unknown_magic_is_refused_by_number() -> None:
    data = bytearray(record_data("one_none"))
    data[MAGIC_AT] = 3
    with pytest.raises(UnsupportedCodecError, match=r"offset 0.* magic 3 "):
        list(iter_batches(bytes(data)))


@pytest.mark.parametrize("codec_id", [5, 6, 7])
def test_an_unknown_codec_is_refused_by_id_but_the_batch_can_be_skipped(codec_id: int) -> None:
    batch = sealed(b"?", attributes=codec_id, record_count=1)
    batch.verify()
    assert batch.next_offset == 1
    with pytest.raises(UnsupportedCodecError, match=f"codec {codec_id} "):
        batch.columns()


def test_every_truncation_of_a_batch_is_a_cut_off_tail() -> None:
    whole = record_data("mixed_none")
    for end in range(len(whole)):
        assert list(iter_batches(whole[:end])) == []
        assert len(list(iter_batches(whole + whole[:end]))) == 1


@pytest.mark.parametrize("length", [-(1 << 31), -1, 0, 1, 13, 48])
def test_an_impossible_length_is_corrupt(length: int) -> None:
    data = bytearray(record_data("several_batches"))
    second = int.from_bytes(data[LENGTH_AT : LENGTH_AT + 4], "big") + 12
    at = second + LENGTH_AT
    data[at : at + 4] = length.to_bytes(4, "big", signed=True)
    batches = iter_batches(bytes(data))
    next(batches)
    with pytest.raises(CorruptRecordError, match=f"length of {length} bytes") as caught:
        next(batches)
    assert caught.value.base_offset == 13
    assert caught.value.position == second


def test_a_view_into_an_answer_reads_like_bytes() -> None:
    data = record_data("several_batches")
    answer = memoryview(bytearray(b"before" + data + b"after"))[6:-5]
    assert [list(batch.columns()) for batch in iter_batches(answer)] == [
        list(batch.columns()) for batch in iter_batches(data)
    ]


def test_columns_outlive_the_answer_they_came_in() -> None:
    answer = bytearray(record_data("mixed_none"))
    (batch,) = batches_of(memoryview(answer))
    columns = batch.columns()
    before = list(columns)
    answer[:] = bytes(len(answer))
    assert list(columns) == before


def test_an_emptied_batch_moves_the_position_whatever_its_codec() -> None:
    for codec in Codec:
        batch = sealed(base_offset=100, last_offset_delta=9, attributes=codec.value)
        assert (len(batch.columns()), batch.next_offset) == (0, 110)


def test_a_checksum_that_was_verified_is_not_asked_for_again() -> None:
    data = bytearray(record_data("one_none"))
    data[CRC_AT] ^= 1
    (batch,) = batches_of(bytes(data))
    assert len(batch.columns(check_crc=False)) == 1
    with pytest.raises(CorruptRecordError):
        batch.columns()


def test_reserved_attribute_bits_are_ignored() -> None:
    (plain,) = iter_batches(encode_batch([NewRecord(b"k", b"v")]))
    batch = sealed(bytes(plain.data[61:]), attributes=0x7F80, record_count=1)
    assert batch.columns().values() == [b"v"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"record_count": -1},
        {"record_count": 2},
        {"record_count": (1 << 31) - 1},
        {"last_offset_delta": -1, "record_count": 0},
        {"last_offset_delta": -(1 << 31)},
        {"base_offset": -1},
        {"base_offset": (1 << 63) - 1},
        {"record_count": 0},
        {"record_count": 2, "last_offset_delta": 1},
        {"record_count": (1 << 31) - 1, "last_offset_delta": (1 << 31) - 1},
    ],
    ids=str,
)
def test_figures_that_contradict_each_other_or_the_records_are_corrupt(
    wrong: dict[str, int],
) -> None:
    (plain,) = iter_batches(encode_batch([NewRecord(b"k", b"v")]))
    batch = sealed(bytes(plain.data[61:]), **({"record_count": 1} | wrong))
    with pytest.raises(CorruptRecordError) as caught:
        batch.columns()
    assert caught.value.base_offset == batch.base_offset


def test_an_offset_beyond_the_last_one_is_corrupt() -> None:
    (plain,) = iter_batches(encode_batch([NewRecord(b"", None)] * 3))
    batch = sealed(bytes(plain.data[61:]), last_offset_delta=2, record_count=3)
    assert list(batch.columns().offsets) == [0, 1, 2]
    skewed = bytearray(plain.data[61:])
    skewed[-4] = 2 * 3  # the offset delta of the last record
    with pytest.raises(CorruptRecordError, match="offset 3 is beyond its last, 2"):
        sealed(bytes(skewed), last_offset_delta=2, record_count=3).columns()


def test_a_batch_that_inflates_too_far_is_corrupt_and_says_so() -> None:
    (batch,) = batches_of(encode_batch([NewRecord(None, bytes(100_000))], codec=Codec.ZSTD))
    with pytest.raises(CorruptRecordError, match=r"zstd.* 1000 bytes") as caught:
        batch.columns(max_output=1000)
    assert caught.value.base_offset == 0
    assert len(batch.columns(max_output=200_000)) == 1


def test_absent_figures_are_none() -> None:
    (batch,) = batches_of(encode_batch([NewRecord(None, None)]))
    assert batch.producer_id is batch.producer_epoch is batch.base_sequence is None
    assert batch.leader_epoch is batch.max_timestamp is batch.delete_horizon is None
