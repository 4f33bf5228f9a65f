"""Columns handed out as keys, values, headers, rows."""

import pytest

from kgroup.wire.records import NewRecord, RecordColumns, encode_batch, iter_batches
from tests.wire.records.golden import record_data


def columns_of(*records: NewRecord) -> RecordColumns:
    (batch,) = iter_batches(encode_batch(records))
    return batch.columns()


MIXED = columns_of(
    NewRecord(b"k0", b"v0", (), 10),
    NewRecord(None, b"v1", (("name", b"x"), ("name", None), ("", b"")), 11),
    NewRecord(b"", None, (), 12),
)


def test_rows_keys_values_and_headers_agree() -> None:
    rows = list(MIXED)
    assert [row[0] for row in rows] == list(MIXED.offsets) == [0, 1, 2]
    assert [row[1] for row in rows] == list(MIXED.timestamps) == [10, 11, 12]
    assert [row[2] for row in rows] == MIXED.keys() == [b"k0", None, b""]
    assert [row[3] for row in rows] == MIXED.values() == [b"v0", b"v1", None]
    for index, row in enumerate(rows):
        assert row[2:] == (MIXED.key(index), MIXED.value(index), MIXED.headers(index))


def test_an_index_counts_as_in_a_list() -> None:
    assert (MIXED.key(-3), MIXED.value(-2), MIXED.headers(-1)) == (b"k0", b"v1", ())
    for wrong in (3, -4):
        for read in (MIXED.key, MIXED.value, MIXED.headers):
            with pytest.raises(IndexError):
                read(wrong)


def test_reading_may_begin_anywhere() -> None:
    rows = list(MIXED)
    for start in range(len(MIXED) + 2):
        assert list(MIXED.rows(start)) == rows[start:]
        assert MIXED.keys(start) == [row[2] for row in rows[start:]]
        assert MIXED.values(start) == [row[3] for row in rows[start:]]


def test_reading_may_end_anywhere() -> None:
    rows = list(MIXED)
    for start in range(len(MIXED) + 1):
        for stop in range(start, len(MIXED) + 2):
            assert list(MIXED.rows(start, stop)) == rows[start:stop]
            assert MIXED.keys(start, stop) == [row[2] for row in rows[start:stop]]
            assert MIXED.values(start, stop) == [row[3] for row in rows[start:stop]]


def test_an_offset_in_a_hole_leads_to_the_next_record() -> None:
    (batch,) = iter_batches(record_data("offset_gaps_none"))
    columns = batch.columns()
    assert list(columns.offsets[:2]) == [500, 503]
    assert [columns.index_of(offset) for offset in (0, 500, 501, 503)] == [0, 0, 1, 1]
    assert columns.index_of(columns.offsets[-1] + 1) == len(columns)


def test_a_header_name_that_is_no_utf_8_is_replaced_as_in_java() -> None:
    columns = columns_of(NewRecord(None, None, (("aé", b"x"),)))
    damaged = columns.buffer.replace("é".encode(), b"\xff\xfe")
    other = RecordColumns(damaged, columns.offsets, columns.timestamps, columns.bounds)
    assert other.headers(0) == (("a\ufffd\ufffd", b"x"),)
