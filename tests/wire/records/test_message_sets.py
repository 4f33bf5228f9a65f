"""Magic 0 and 1: what Java reads from them, and what is done about damage."""

import random
import struct
import sys
from typing import Any

import lz4.frame
import pytest
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as st

from kgroup.errors import CorruptRecordError, DecodeError, UnsupportedCodecError
from kgroup.wire.records import (
    Codec,
    LogBatch,
    MessageSetView,
    NewRecord,
    Row,
    TimestampType,
    encode_batch,
    iter_batches,
)
from kgroup.wire.records.lz4_header import with_right_checksum
from tests.wire.records.golden import batch_rows, lines, record_data
from tests.wire.records.old_messages import (
    LOG_APPEND_TIME,
    message,
    message_set,
    reseal,
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


def rows_of(data: bytes, **options: Any) -> list[Row]:
    """Every record of some record data."""
    return [row for batch in iter_batches(data) for row in batch.columns(**options)]


def offsets_of(data: bytes) -> list[int]:
    return [offset for offset, *_ in rows_of(data)]


def only(data: bytes) -> LogBatch:
    (batch,) = iter_batches(data)
    return batch


def refusal(data: bytes, **options: Any) -> CorruptRecordError:
    """The error of reading data that is one batch."""
    with pytest.raises(CorruptRecordError) as caught:
        only(data).columns(**options)
    return caught.value


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
    assert [batch.columns().offsets for batch in batches] == [
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
    assert before.columns().offsets == [0, 1]
    assert after.columns().offsets == [3, 4]
    with pytest.raises(CorruptRecordError) as caught:
        damaged.verify()
    assert caught.value.base_offset == 2


def test_checksums_that_nobody_asks_for_are_not_judged() -> None:
    damaged = bytearray(message_set(1, 0, 1, 2))
    damaged[-1] ^= 1
    assert [row[0] for row in rows_of(bytes(damaged), check_crc=False)] == [0, 1, 2]


def test_an_offset_that_does_not_rise_begins_another_batch() -> None:
    """N17: whoever goes through the batches in order sees that it goes backwards."""
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
        assert next(batches).columns().offsets == [3]
        with pytest.raises(CorruptRecordError, match=f"length of {size} bytes") as caught:
            next(batches)
        assert (caught.value.base_offset, caught.value.position) == (4, len(good))


# -- inside a compressed message ---------------------------------------------------------------


def test_offsets_inside_are_absolute_in_magic_0_and_relative_to_the_last_in_magic_1() -> None:
    assert offsets_of(wrapper(0, 9, message_set(0, 3, 5, 9))) == [3, 5, 9]
    assert offsets_of(wrapper(1, 9, message_set(1, 0, 2, 6))) == [3, 5, 9]
    assert offsets_of(wrapper(1, 9, message_set(1, 103, 105, 109))) == [3, 5, 9]


def test_records_in_front_of_the_offset_that_was_asked_for_can_be_left_out() -> None:
    columns = only(wrapper(1, 9, message_set(1, 0, 2, 6))).columns()
    assert [offset for offset, *_ in columns.rows(columns.index_of(4))] == [5, 9]


def test_log_append_time_of_the_message_is_that_of_all_inside() -> None:
    inside = b"".join(message(1, n, timestamp=n) for n in range(3))
    created = only(wrapper(1, 2, inside, timestamp=77))
    appended = only(wrapper(1, 2, inside, timestamp=77, attributes=1 | LOG_APPEND_TIME))
    assert created.columns().timestamps == [0, 1, 2]
    assert appended.columns().timestamps == [77, 77, 77]


def test_checksums_inside_are_judged_when_those_outside_are() -> None:
    """N15: a damaged record may have been compressed."""
    inside = bytearray(message_set(0, 0, 1))
    inside[-1] ^= 1
    data = wrapper(0, 1, bytes(inside))
    assert "CRC-32 of the message at byte" in refusal(data).reason
    batch = only(data)
    assert len(batch.columns(check_crc=False)) == 2
    batch.verify()
    with pytest.raises(CorruptRecordError, match="CRC-32"):
        batch.columns(check_crc=False)


@pytest.mark.parametrize("magic", MAGICS)
def test_compression_inside_compression_is_refused(magic: int) -> None:
    nested = wrapper(magic, 1, wrapper(magic, 1, message_set(magic, 0, 1)))
    assert "a compressed message at byte 0 inside a compressed one" in refusal(nested).reason


def cases() -> dict[str, tuple[bytes, str]]:
    two = message_set(1, 0, 1)
    return {
        "nothing": (wrapper(1, 1, b""), "holds no messages"),
        "no value": (message(1, 1, None, None, attributes=1), "without a value"),
        "other magic": (wrapper(1, 1, message(0, 0, bytes(20))), "magic 0 at byte 0 inside"),
        "magic 2": (wrapper(1, 1, encode_batch([NewRecord(b"", b"")])), "magic 2 at byte 0"),
        "cut off": (wrapper(1, 1, two[:-1]), "a message of 23 bytes at byte 35"),
        "left over": (wrapper(1, 1, two + b"\0" * 9), "9 bytes at byte 70 are too few"),
        "size 0": (wrapper(1, 1, two[:8] + bytes(4) + two[12:]), "a message of 0 bytes"),
        "falling": (wrapper(1, 1, message_set(1, 1, 0)), "offsets do not rise"),
        "equal": (wrapper(0, 1, message_set(0, 1, 1)), "offsets do not rise"),
        "negative": (wrapper(1, 1, message_set(1, 0, 5)), "offsets -4 to 1"),
        "negative 0": (wrapper(0, 1, message_set(0, -1, 1)), "offsets -1 to 1"),
        "beyond": (wrapper(0, 1, message_set(0, 1, 2)), "offsets 1 to 2 in a message at offset 1"),
        "no gzip": (message(1, 1, None, b"none", attributes=1), "gzip records"),
    }


@pytest.mark.parametrize("name", cases())
def test_messages_inside_that_contradict_themselves_are_corrupt(name: str) -> None:
    """N17."""
    data, why = cases()[name]
    error = refusal(data)
    assert why in error.reason
    assert error.base_offset == 1


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
    assert [before.columns().offsets, after.columns().offsets] == [[0], [2]]
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


@pytest.mark.parametrize("codec_id", [4, 5, 6, 7])
@pytest.mark.parametrize("magic", MAGICS)
def test_a_codec_these_formats_do_not_have_is_refused_by_id(magic: int, codec_id: int) -> None:
    """N18: zstd came with magic 2 (KIP-110)."""
    batch = only(message(magic, 5, attributes=codec_id))
    batch.verify()
    assert batch.next_offset == 6
    with pytest.raises(UnsupportedCodecError, match=rf"offset 5: .* codec {codec_id} .* 0 to 3"):
        batch.columns()


@pytest.mark.parametrize("magic", MAGICS)
def test_a_bomb_is_stopped_at_the_bound(magic: int) -> None:
    """N21."""
    inside = message(magic, 0, value=bytes(1 << 20))
    bomb = wrapper(magic, 0, inside)
    assert len(bomb) < 2000
    assert "more than 1000 bytes" in refusal(bomb, max_output=1000).reason
    assert len(only(bomb).columns(max_output=len(inside))) == 1


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """N22."""
    monkeypatch.setitem(sys.modules, "lz4.frame", None)
    for magic in MAGICS:
        with pytest.raises(UnsupportedCodecError, match=r"pip install lz4$"):
            only(record_data(f"magic{magic}_lz4", "legacy")).columns()
        assert rows_of(record_data(f"magic{magic}_gzip", "legacy"))


# -- the lz4 of magic 0 ------------------------------------------------------------------------


@pytest.mark.parametrize("magic", MAGICS)
def test_a_wrong_checksum_of_the_frame_header_is_forgiven_in_magic_0_only(magic: int) -> None:
    """KIP-57."""
    right = bytes(lz4.frame.compress(message_set(magic, 0), store_size=False))
    wrong = right[:6] + bytes([right[6] ^ 1]) + right[7:]
    assert rows_of(message(magic, 0, None, right, attributes=3))
    data = message(magic, 0, None, wrong, attributes=3)
    if magic:
        assert "lz4 records" in refusal(data).reason
    else:
        assert rows_of(data)


@pytest.mark.parametrize("block_size", [4, 5, 6, 7])
@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize("sized", [True, False])
def test_a_mended_header_is_the_one_lz4_writes(block_size: int, linked: bool, sized: bool) -> None:
    frame = bytes(
        lz4.frame.compress(
            bytes(70_000), block_size=block_size, block_linked=linked, store_size=sized
        )
    )
    at = 14 if sized else 6
    assert with_right_checksum(frame[:at] + bytes([frame[at] ^ 0xFF]) + frame[at + 1 :]) == frame


def test_a_frame_too_short_for_a_header_is_left_as_it_is() -> None:
    frame = bytes(lz4.frame.compress(b"x"))
    for end in range(7):
        assert with_right_checksum(frame[:end]) == frame[:end]
    assert "lz4 records" in refusal(message(0, 0, None, frame[:5], attributes=3)).reason


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
