"""Batches as the internal producer writes them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.errors import LocalProtocolError
from kgroup.wire.records import (
    BatchHeader,
    Codec,
    Headers,
    NewRecord,
    TimestampType,
    encode_batch,
)
from kgroup.wire.records.encode import encode_record, seal
from kgroup.wire.records.varints import pack_varint, read_varlong
from tests.wire.records.golden import batch_rows, batches_of, lines

UNCOMPRESSED = [
    line
    for line in lines("v2", "control")
    if line["batches"]
    and not line["name"].startswith("truncated")
    and all(batch.get("codec") == "none" for batch in line["batches"])
]


def rebuilt(batch: dict[str, Any]) -> bytes:
    """Write a golden batch anew from what Java read out of it."""
    rows = batch_rows(batch)
    appended = batch["timestamp_type"] == "LogAppendTime"
    horizon = batch["delete_horizon_ms"]
    (original,) = batches_of(batch["bytes"])
    base_timestamp = original.header.base_timestamp
    deltas = (
        [delta_of(batch["bytes"], index) for index in range(len(rows))]
        if appended  # Java keeps the producers' deltas, which no reader can see
        else [row[1] - base_timestamp for row in rows]
    )
    body = b"".join(
        encode_record(
            NewRecord(key, value, headers),
            offset_delta=offset - batch["base_offset"],
            timestamp_delta=delta,
        )
        for (offset, _, key, value, headers), delta in zip(rows, deltas, strict=True)
    )
    header = BatchHeader(
        base_offset=batch["base_offset"],
        partition_leader_epoch=batch["partition_leader_epoch"],
        attributes=appended << 3
        | batch["transactional"] << 4
        | batch["control"] << 5
        | (horizon is not None) << 6,
        last_offset_delta=batch["last_offset"] - batch["base_offset"],
        base_timestamp=base_timestamp,
        max_timestamp=batch["max_timestamp"],
        producer_id=batch["producer_id"],
        producer_epoch=batch["producer_epoch"],
        base_sequence=batch["base_sequence"],
        record_count=batch["count"],
    )
    return seal(header, body)


def none_below_zero(figure: int) -> int | None:
    return None if figure < 0 else figure


def delta_of(batch: bytes, index: int) -> int:
    """Timestamp delta of one record, read past the log append time."""
    at = 61
    for _ in range(index):
        length, at = read_varlong(batch, at)
        at += length
    _, at = read_varlong(batch, at)
    return read_varlong(batch, at + 1)[0]


@pytest.mark.parametrize("line", UNCOMPRESSED, ids=lambda line: line["name"])
def test_uncompressed_golden_batches_are_rebuilt_byte_for_byte(line: dict[str, Any]) -> None:
    data = bytes.fromhex(line["hex"])
    at = 0
    for batch in line["batches"]:
        original = data[at : at + batch["size"]]
        at += batch["size"]
        assert rebuilt(batch | {"bytes": original}) == original
    assert at == len(data)


def test_the_producers_call_gives_javas_bytes() -> None:
    checked = 0
    for line in UNCOMPRESSED:
        (batch, *more) = line["batches"]
        rows = batch_rows(batch)
        dense = batch["last_offset"] - batch["base_offset"] + 1 == len(rows)
        plain = batch["timestamp_type"] == "CreateTime" and batch["delete_horizon_ms"] is None
        if more or not dense or not plain or batch["control"] or rows[0][0] != batch["base_offset"]:
            continue
        ours = encode_batch(
            [NewRecord(key, value, headers, time) for _, time, key, value, headers in rows],
            transactional=batch["transactional"],
            producer_id=none_below_zero(batch["producer_id"]),
            producer_epoch=none_below_zero(batch["producer_epoch"]),
            base_sequence=none_below_zero(batch["base_sequence"]),
        )
        # The broker gives offsets and leader epoch when it appends: bytes 0-7 and 12-15.
        java = bytes.fromhex(line["hex"])
        assert (ours[8:12], ours[16:]) == (java[8:12], java[16:])
        assert ours[:8] == bytes(8)
        assert ours[12:16] == b"\xff" * 4
        checked += 1
    assert checked > 10


RECORDS = st.lists(
    st.builds(
        NewRecord,
        st.none() | st.binary(max_size=100),
        st.none() | st.binary(max_size=200),
        st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3).map(
            tuple
        ),
        st.integers(-1, (1 << 63) - 1),
    ),
    min_size=1,
    max_size=8,
)


@given(RECORDS, st.sampled_from(Codec), st.integers(0, (1 << 63) - 1), st.booleans())
def test_what_is_written_is_read_back(
    records: list[NewRecord], codec: Codec, producer_id: int, transactional: bool
) -> None:
    written = encode_batch(
        records,
        codec=codec,
        producer_id=producer_id,
        producer_epoch=3,
        base_sequence=(1 << 31) - 1,
        transactional=transactional,
    )
    (batch,) = batches_of(written)
    assert (batch.size, batch.codec, batch.is_transactional) == (len(written), codec, transactional)
    assert (batch.producer_id, batch.producer_epoch) == (producer_id, 3)
    assert batch.base_sequence == (1 << 31) - 1
    assert batch.timestamp_type is TimestampType.CREATE_TIME
    assert not batch.is_control
    assert list(batch.columns()) == [
        (offset, each.timestamp, each.key, each.value, each.headers)
        for offset, each in enumerate(records)
    ]


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_a_varint_of_any_64_bits_is_read_back(number: int) -> None:
    packed = pack_varint(number)
    assert read_varlong(packed, 0) == (number, len(packed))
    assert len(packed) <= 10


def test_a_batch_without_records_is_not_written() -> None:
    with pytest.raises(LocalProtocolError, match="at least one record"):
        encode_batch([])


@pytest.mark.parametrize(
    "figure", [{"producer_id": 1 << 63}, {"producer_epoch": 1 << 15}, {"base_sequence": 1 << 31}]
)
def test_a_figure_that_does_not_fit_is_not_written(figure: dict[str, int]) -> None:
    with pytest.raises(LocalProtocolError, match="does not fit"):
        encode_batch([NewRecord(None, None)], **figure)  # type: ignore[arg-type]  # by design


def test_headers_keep_their_order_and_repetitions() -> None:
    headers: Headers = (("b", b"1"), ("a", None), ("b", b"2"), ("ö", b""))
    (batch,) = batches_of(encode_batch([NewRecord(b"k", b"v", headers)]))
    assert batch.columns().headers(0) == headers


@pytest.mark.parametrize("times", [[-2], [0, -5], [1 << 63], [0, 1 << 63]])
def test_a_timestamp_outside_of_its_field_is_not_written(times: list[int]) -> None:
    with pytest.raises(LocalProtocolError):
        encode_batch([NewRecord(None, None, (), time) for time in times])


def test_timestamps_may_be_further_apart_than_64_bits_hold() -> None:
    times = [-1, (1 << 63) - 1, 5]
    (batch,) = batches_of(encode_batch([NewRecord(None, None, (), time) for time in times]))
    assert list(batch.columns().timestamps) == times
