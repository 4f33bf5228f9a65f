"""Compressed messages of magic 0 and 1: what is inside, where it belongs, and what is refused."""

import sys

import lz4.frame
import pytest

from kgroup.errors import CorruptRecordError, UnsupportedCodecError
from kgroup.wire.records import NewRecord, encode_batch
from kgroup.wire.records.message_sets import with_right_checksum
from tests.wire.records.golden import record_data
from tests.wire.records.old_messages import (
    LOG_APPEND_TIME,
    message,
    message_set,
    offsets_of,
    only,
    refusal,
    rows_of,
    wrapper,
)

MAGICS = (0, 1)


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
    assert list(created.columns().timestamps) == [0, 1, 2]
    assert list(appended.columns().timestamps) == [77, 77, 77]


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
