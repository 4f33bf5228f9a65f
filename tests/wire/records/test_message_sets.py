"""Magic 0 and 1: what Java reads from them, and what is done about damage."""

import random
import struct
from typing import Any

import pytest
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as st

from kgroup.errors import CorruptRecordError, DecodeError
from kgroup.wire.records import (
    Codec,
    MessageSetView,
    NewRecord,
    TimestampType,
    encode_batch,
    iter_batches,
)
from tests.wire.records.golden import batch_rows, lines, record_data
from tests.wire.records.old_messages import (
    LOG_APPEND_TIME,
    message,
    message_set,
    offsets_of,
    only,
    reseal,
    rows_of,
    wrapper,
)

GOLDEN = lines("legacy")
SOUND = [line for line in GOLDEN if not line["name"].startswith("corrupt")]
DAMAGED = [line for line in GOLDEN if line["name"].startswith("corrupt")]
MAGICS = (0, 1)
CODECS = ("none", "gzip", "snappy", "lz4")
TYPES = {
    "NoTimestampType": TimestampType.NO_TIMESTAMP_TYPE,
    "CreateTime": TimestampType.CREATE_TIME,
    "LogAppendTime": TimestampType.LOG_APPEND_TIME,
}


# -- as in Java --------------------------------------------------------------------------------


@pytest.mark.parametrize("line", SOUND, ids=lambda line: line["name"])
def test_every_golden_record_reads_as_in_java(line: dict[str, Any]) -> None:
    expected = [row for batch in line["batches"] for row in batch_rows(batch)]
    batches = list(iter_batches(bytes.fromhex(line["hex"])))
    for batch in batches:
        batch.verify()
    assert [row for batch in batches for row in batch.columns(check_crc=False)] == expected
    assert batches[-1].next_offset == line["batches"][-1]["next_offset"]


@pytest.mark.parametrize("line", SOUND, ids=lambda line: line["name"])
def test_every_golden_batch_says_what_java_says(line: dict[str, Any]) -> None:
    at = 0
    data = bytes.fromhex(line["hex"])
    for golden in line["batches"]:
        batch = only(data[at : at + golden["size"]])
        at += batch.size
        assert batch.codec.name.lower() == golden["codec"]
        assert batch.timestamp_type is TYPES[golden["timestamp_type"]]
        assert (batch.last_offset, batch.next_offset) == (
            golden["last_offset"],
            golden["next_offset"],
        )
        assert batch.columns().offsets[0] == golden["base_offset"]
        assert max(batch.columns().timestamps) == golden["max_timestamp"]


@pytest.mark.parametrize("line", DAMAGED, ids=lambda line: line["name"])
def test_a_wrong_checksum_is_corrupt_and_names_the_offset(line: dict[str, Any]) -> None:
    """N15: magic 0 and 1 have CRC-32, not CRC-32C."""
    batch = only(bytes.fromhex(line["hex"]))
    for attempt in (batch.verify, batch.columns):
        with pytest.raises(CorruptRecordError, match=r"offset 0: its CRC-32 is") as caught:
            attempt()
        assert caught.value.base_offset == 0
    assert len(batch.columns(check_crc=False)) == 1


@pytest.mark.parametrize(
    ("magic", "codec"),
    # aiokafka refuses to write lz4 of magic 0.
    [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (1, 3)],
)
@pytest.mark.parametrize("seed", range(4))
def test_what_aiokafka_writes_is_read_here(magic: int, codec: int, seed: int) -> None:
    dice = random.Random(seed)

    def some_bytes() -> bytes | None:
        return dice.choice([None, b"", dice.randbytes(dice.randrange(300))])

    records = [
        (offset, 1_700_000_000_000 + dice.randrange(1000), some_bytes(), some_bytes())
        for offset in range(dice.choice([1, 3, 200]))
    ]
    builder = LegacyRecordBatchBuilder(magic, codec, 1 << 22)
    for offset, timestamp, key, value in records:
        assert builder.append(offset, timestamp, key, value)
    data = bytearray(builder.build())
    if codec:  # what a broker does: the message has the offset of its last record
        struct.pack_into(">q", data, 0, records[-1][0])
    assert rows_of(bytes(data)) == [
        (offset, timestamp if magic else -1, key, value, ())
        for offset, timestamp, key, value in records
    ]


def test_these_formats_have_no_epochs_producers_or_transactions() -> None:
    for magic in MAGICS:
        batch = only(message(magic, 7))
        assert batch.leader_epoch is batch.producer_id is None
        assert not batch.is_control
        assert not batch.is_transactional


# -- which messages stand together -------------------------------------------------------------


def test_plain_neighbours_are_read_together() -> None:
    assert len(list(iter_batches(record_data("magic1_none_many", "legacy")))) == 1


def test_magic_codec_and_timestamp_type_end_a_run() -> None:
    parts = [
        message_set(0, 0, 1),
        message_set(1, 2, 5),
        message(1, 6, timestamp=9, attributes=LOG_APPEND_TIME),
        wrapper(1, 8, message_set(1, 0, 1)),
        message_set(1, 9),
        struct.pack(">q", 10) + encode_batch([NewRecord(b"k", b"v")])[8:],
        message_set(0, 11),
    ]
    batches = list(iter_batches(b"".join(parts)))
    assert [bytes(batch.data) for batch in batches] == parts
    assert [list(batch.columns().offsets) for batch in batches] == [
        [0, 1],
        [2, 5],
        [6],
        [7, 8],
        [9],
        [10],
        [11],
    ]


def test_a_long_run_is_cut_so_that_columns_stay_small() -> None:
    data = b"".join(message(1, offset, value=bytes(1000)) for offset in range(1000))
    batches = list(iter_batches(data))
    assert 2 <= len(batches) <= 8
    assert offsets_of(data) == list(range(1000))


@pytest.mark.parametrize("magic", MAGICS)
def test_a_damaged_message_hides_neither_those_in_front_nor_those_behind(magic: int) -> None:
    """N15."""
    parts = [message(magic, offset, value=b"value") for offset in range(5)]
    parts[2] = parts[2][:-1] + b"?"
    before, damaged, after = iter_batches(b"".join(parts))
    assert list(before.columns().offsets) == [0, 1]
    assert list(after.columns().offsets) == [3, 4]
    with pytest.raises(CorruptRecordError) as caught:
        damaged.verify()
    assert caught.value.base_offset == 2


def test_checksums_are_judged_only_when_asked_for() -> None:
    damaged = bytearray(message_set(1, 0, 1, 2))
    damaged[-1] ^= 1
    assert [row[0] for row in rows_of(bytes(damaged), check_crc=False)] == [0, 1, 2]


def test_an_offset_that_does_not_rise_begins_another_batch() -> None:
    """N17: a reader of the batches sees that the offset goes backwards."""
    assert [batch.last_offset for batch in iter_batches(message_set(0, 5, 6, 6, 3))] == [6, 6, 3]


def test_reserved_attribute_bits_are_ignored() -> None:
    """N18."""
    data = b"".join(message(1, n, attributes=bits) for n, bits in enumerate([0x70, 0x10, 0]))
    assert len(list(iter_batches(data))) == 1
    assert offsets_of(data) == [0, 1, 2]
    batch = only(message(0, 1, attributes=LOG_APPEND_TIME))
    assert batch.timestamp_type is TimestampType.NO_TIMESTAMP_TYPE


# -- cut off -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["magic0_none", "magic1_gzip", "mixed_magic"])
def test_every_truncation_is_a_cut_off_tail(name: str) -> None:
    """N16."""
    whole = record_data(name, "legacy")
    expected = rows_of(whole)
    for end in range(len(whole)):
        found = rows_of(whole[:end])
        assert found == expected[: len(found)]
        assert len(found) < len(expected)


@pytest.mark.parametrize(("magic", "least"), [(0, 14), (1, 22)])
def test_a_size_too_small_for_a_message_is_corrupt(magic: int, least: int) -> None:
    """N16."""
    for size in (-(1 << 31), -1, 0, least - 1):
        good, bad = message(magic, 3), bytearray(message(magic, 4))
        struct.pack_into(">i", bad, 8, size)
        batches = iter_batches(good + bytes(bad))
        assert list(next(batches).columns().offsets) == [3]
        with pytest.raises(CorruptRecordError, match=f"length of {size} bytes") as caught:
            next(batches)
        assert (caught.value.base_offset, caught.value.position) == (4, len(good))


# -- contradictions ----------------------------------------------------------------------------


@pytest.mark.parametrize("magic", MAGICS)
@pytest.mark.parametrize(("field", "length"), [(0, 3), (0, 1 << 30), (1, 2), (1, (1 << 31) - 1)])
def test_a_key_or_value_that_ends_after_its_message_is_corrupt(
    magic: int, field: int, length: int
) -> None:
    """N17: plain, among sound neighbours, and compressed."""
    wrong = bytearray(message(magic, 1, b"", b"v"))
    struct.pack_into(">i", wrong, (26 if magic else 18) + 4 * field, length)
    sealed = reseal(bytes(wrong))
    before, damaged, after = iter_batches(message(magic, 0) + sealed + message(magic, 2))
    assert [list(each.columns().offsets) for each in (before, after)] == [[0], [2]]
    for batch in (damaged, only(wrapper(magic, 1, sealed))):
        batch.verify()
        with pytest.raises(CorruptRecordError, match=r"a (key|value) of \d+ bytes") as caught:
            batch.columns()
        assert caught.value.base_offset == 1


@pytest.mark.parametrize("magic", MAGICS)
def test_bytes_behind_the_value_are_ignored_as_in_java(magic: int) -> None:
    data = reseal(message(magic, 0, b"k", b"v") + b"more") + message(magic, 1)
    assert [row[2:4] for row in rows_of(data)] == [(b"k", b"v"), (None, b"v")]


@pytest.mark.parametrize("offset", [-1, -(1 << 63), (1 << 63) - 1])
def test_an_impossible_offset_is_corrupt(offset: int) -> None:
    """N17: it would be a position."""
    batch = only(message(1, offset))
    for attempt in (batch.verify, batch.check_figures, batch.columns):
        with pytest.raises(CorruptRecordError, match="offsets begin at 0"):
            attempt()


# -- any bytes ---------------------------------------------------------------------------------


def read_all(data: bytes) -> None:
    for batch in iter_batches(data):
        found = batch.columns(check_crc=False, max_output=1 << 20)
        for offset, *_ in found:
            assert 0 <= offset <= batch.last_offset


@pytest.mark.parametrize("magic", MAGICS)
@pytest.mark.parametrize("codec", CODECS)
def test_a_mutated_set_reads_or_raises_our_own_error(magic: int, codec: str) -> None:
    data = record_data(f"magic{magic}_{codec}", "legacy")
    dice = random.Random(f"{magic}{codec}")
    for _ in range(200):
        mutated = bytearray(data)
        for _ in range(dice.choice([1, 1, 2, 5])):
            mutated[dice.randrange(len(data))] = dice.randrange(256)
        try:
            read_all(bytes(mutated))
        except DecodeError:
            continue


@given(st.sampled_from(MAGICS), st.sampled_from(Codec), st.binary(max_size=200), st.booleans())
def test_any_value_of_a_compressed_message_reads_or_raises_our_own_error(
    magic: int, codec: Codec, value: bytes, packed: bool
) -> None:
    data = message(magic, 3, None, value, attributes=codec.value)
    try:
        read_all(wrapper(magic, 3, value) if packed else data)
    except DecodeError:
        return


def test_a_view_into_an_answer_reads_like_bytes_and_its_columns_outlive_it() -> None:
    for name in ("magic0_none", "magic1_lz4"):
        data = record_data(name, "legacy")
        answer = bytearray(b"before" + data + b"after")
        batch = only(bytes(data))
        (view,) = iter_batches(memoryview(answer)[6:-5])
        assert isinstance(view, MessageSetView)
        columns = view.columns()
        answer[:] = bytes(len(answer))
        assert list(columns) == list(batch.columns())
        assert columns.headers(0) == ()
