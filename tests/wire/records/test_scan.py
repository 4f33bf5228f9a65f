"""The one pass over a batch's records: shapes, bounds, and everything that contradicts itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.wire.records import Headers, NewRecord, RecordColumns, Row
from kgroup.wire.records.encode import encode_record
from kgroup.wire.records.scan import scan
from kgroup.wire.records.varints import pack_varint

NOW = 1_700_000_000_000
DELTAS = [0, 1, 63, 64, 8191, 8192, 1 << 20, 1 << 27, 1 << 30]
TIMES = [0, 1, -1, 63, -64, 64, 8191, -8192, 8192, -8193, 1 << 31, -(1 << 40), (1 << 62)]
SIZES = [0, 1, 63, 64, 127, 128, 8191, 8192, 20_000]


def scanned(body: bytes, count: int, base_offset: int = 0, base_timestamp: int = NOW) -> list[Row]:
    return list(RecordColumns(body, *scan(body, count, base_offset, base_timestamp)))


def record(*fields: int | bytes, length: int | None = None) -> bytes:
    """A record made of varints and raw bytes, behind its length or a false one."""
    body = b"".join(
        field if isinstance(field, bytes) else pack_varint(field) for field in (0, *fields)
    )
    return pack_varint(len(body) if length is None else length) + body


def test_numbers_of_every_size_are_read() -> None:
    records = [
        NewRecord(bytes(size), bytes(size), timestamp=time)
        for size, time in zip(SIZES, TIMES, strict=False)
    ]
    body = b"".join(
        encode_record(each, offset_delta=delta, timestamp_delta=each.timestamp)
        for each, delta in zip(records, DELTAS, strict=True)
    )
    assert scanned(body, len(records), base_offset=7) == [
        (7 + delta, NOW + each.timestamp, each.key, each.value, ())
        for each, delta in zip(records, DELTAS, strict=True)
    ]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([1, 2, 60, 200, 9000, 1 << 21]),
            st.sampled_from(TIMES),
            st.none() | st.sampled_from(SIZES[:6]),
            st.none() | st.sampled_from(SIZES),
            st.lists(
                st.tuples(st.sampled_from(["", "h", "é" * 70]), st.none() | st.just(bytes(64))),
                max_size=3,
            ),
        ),
        max_size=12,
    )
)
def test_shapes_may_change_from_record_to_record(
    shapes: list[tuple[int, int, int | None, int | None, list[tuple[str, bytes | None]]]],
) -> None:
    rows: list[Row] = []
    body = b""
    offset = -1
    for step, time, key_size, value_size, pairs in shapes:
        offset += step
        key = None if key_size is None else b"k" * key_size
        value = None if value_size is None else b"v" * value_size
        headers: Headers = tuple(pairs)
        body += encode_record(
            NewRecord(key, value, headers), offset_delta=offset, timestamp_delta=time
        )
        rows.append((offset, time, key, value, headers))
    assert scanned(body, len(rows), base_timestamp=0) == rows


def test_bytes_after_the_known_fields_are_skipped() -> None:
    newer = record(0, 0, -1, 1, b"v", 0, b"from the future")
    named = record(0, 1, -1, 1, b"w", 1, 1, b"h", -1, b"from the future")
    assert scanned(newer + named, 2) == [
        (0, NOW, None, b"v", ()),
        (1, NOW, None, b"w", (("h", None),)),
    ]


def test_any_negative_length_of_a_key_or_value_is_null_as_in_java() -> None:
    body = record(0, 0, -2, -1, 0) + record(0, 1, -100, -70, 1, 1, b"h", -200)
    assert [row[2:] for row in scanned(body, 2)] == [(None, None, ()), (None, None, (("h", None),))]


def test_longer_forms_of_small_numbers_mean_the_same() -> None:
    padded = record(b"\x80\x00", b"\x80\x80\x00", b"\x82\x00", b"k", b"\x82\x80\x00", b"v", 0)
    assert scanned(padded, 1) == [(0, NOW, b"k", b"v", ())]


@pytest.mark.parametrize(
    ("body", "count", "why"),
    [
        (record(0, 0, -1, -1, 0), 2, "ends within"),
        (record(0, 0, -1, -1, 0), 0, "end at byte 0 of"),
        (record(0, 0, -1, -1, 0) + record(0, 1, -1, -1, 0), 1, "1 records end at byte"),
        (record(0, 0, -1, -1, 0) * 2, 2, "do not rise"),
        (record(0, 5, -1, -1, 0) + record(0, 3, -1, -1, 0), 2, "do not rise"),
        (record(0, -1, -1, -1, 0), 1, "offset delta -1"),
        (record(0, -5000, -1, -1, 0), 1, "offset delta -5000"),
        (record(0, 0, -1, -1, 0, length=-1), 1, "length -1"),
        (record(0, 0, -1, -1, 0, length=0), 1, "goes on after its length"),
        (record(0, 0, -1, -1, 0, length=5), 1, "goes on after its length"),
        (record(0, 0, -1, -1, 0, length=7), 1, "end at byte 8 of 7"),
        (record(0, 0, -1, -1, 0, length=1 << 30), 1, "end at byte"),
        (record(0, 0, 1 << 30, -1, 0), 1, "ends within"),
        (record(0, 0, 100, -1, 0), 1, "ends within"),
        (record(0, 0, -1, 1 << 30, 0), 1, "ends within"),
        (record(0, 0, -1, 3, b"v", 0) + record(0, 1, -1, -1, 0), 2, "goes on after its length"),
        (record(0, 0, -1, -1, -1), 1, "-1 headers"),
        (record(0, 0, -1, -1, 1 << 30), 1, "ends within"),
        (record(0, 0, -1, -1, 2, 1, b"h", -1) + record(0, 1, -1, -1, 0) * 2, 3, "goes on after"),
        (record(0, 0, -1, -1, 1, -1, -1), 1, "a header without a name"),
        (record(0, 0, -1, -1, 1, -1000, -1), 1, "a header without a name"),
        (record(0, 0, -1, -1, 1, 1000, b"h", -1), 1, "ends within"),
        (record(0, 0, -1, -1, 1, 1, b"h", 1000), 1, "goes on after its length"),
        (record(b"\xff" * 10, 0, -1, -1, 0), 1, "more than 64 bits"),
        (record(b"\xff" * 9 + b"\x02", 0, -1, -1, 0), 1, "more than 64 bits"),
        (record(0, b"\xff" * 5, -1, -1, 0), 1, "more than 32 bits"),
        (record(0, b"\xfe\xff\xff\xff\x1f", -1, -1, 0), 1, "more than 32 bits"),
        (record(0, 0, b"\xff" * 60, -1, 0), 1, "more than 32 bits"),
        (b"\x80" * 200, 1, "more than 32 bits"),
        (b"\x80", 1, "ends within"),
        (b"", 1, "ends within"),
        (b"", (1 << 31) - 1, "ends within"),
    ],
)
def test_records_that_contradict_themselves_are_refused(body: bytes, count: int, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        scan(body, count, 0, NOW)


@pytest.mark.parametrize(
    ("base", "delta", "timestamp"),
    [
        ((1 << 63) - 1, 0, (1 << 63) - 1),
        ((1 << 63) - 1, 1, -(1 << 63)),
        (-(1 << 63), 100, -(1 << 63) + 100),
        (-(1 << 63), -1, (1 << 63) - 1),
        (0, (1 << 63) - 1, (1 << 63) - 1),
        (-1, -(1 << 63), (1 << 63) - 1),
    ],
)
def test_timestamps_wrap_around_at_64_bits_as_in_java(
    base: int, delta: int, timestamp: int
) -> None:
    body = record(delta, 0, -1, -1, 0) + record(0, 1, -1, -1, 0)
    assert scan(body, 2, 0, base)[1] == [timestamp, base]


def test_every_truncation_of_records_is_refused() -> None:
    body = record(0, 0, 3, b"key", 5, b"value", 0)
    body += record(64, 1, -1, 70, bytes(70), 1, 2, b"hh", 70, bytes(70))
    assert len(scanned(body, 2)) == 2
    for end in range(len(body)):
        with pytest.raises(ValueError, match=r"ends within|end at byte"):
            scan(body[:end], 2, 0, NOW)


@given(st.binary(max_size=80), st.integers(0, 4))
def test_any_bytes_are_records_or_a_value_error(body: bytes, count: int) -> None:
    try:
        rows = scanned(body, count)
    except ValueError:
        return
    assert len(rows) == count
