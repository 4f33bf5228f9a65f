"""Records as Arrow record batches: the same ones, done by the same rules."""

import pyarrow as pa
import pytest

from kgroup.consumer.buffer.chunk import Segment
from kgroup.consumer.reads.arrow import record_batch
from kgroup.types import TopicPartition
from kgroup.wire.records import NewRecord, TimestampType, encode_batch, iter_batches
from tests.consumer.entered import A, by_hand, entered
from tests.consumer.shelf import Shelf

pytestmark = pytest.mark.anyio

SEEN = TopicPartition("orders", 3)
RECORDS = [
    NewRecord(b"k", b"value", (("h", b"x"), ("h", None)), 1_700_000_000_000),
    NewRecord(None, b"", (), 1_700_000_000_001),
    NewRecord(b"", None, (), -1),
]


def segments(*batches: list[NewRecord]) -> list[Segment]:
    data = b"".join(encode_batch(each) for each in batches)
    found = [batch.columns() for batch in iter_batches(data)]
    return [Segment(each, 0, len(each), TimestampType.CREATE_TIME, None) for each in found]


def test_each_column_has_what_the_records_have() -> None:
    table = record_batch(SEEN, segments(RECORDS))
    stamps = table.column("timestamp").cast(pa.int64()).to_pylist()
    assert table.column("offset").to_pylist() == [0, 1, 2]
    assert stamps == [1_700_000_000_000, 1_700_000_000_001, None]
    assert table.column("key").to_pylist() == [b"k", None, b""]
    assert table.column("value").to_pylist() == [b"value", b"", None]
    assert table.column("partition").to_pylist() == [3, 3, 3]
    assert table.schema.metadata == {b"topic": b"orders"}


def test_headers_keep_their_order_and_their_nulls() -> None:
    table = record_batch(SEEN, segments(RECORDS))
    first = [{"key": "h", "value": b"x"}, {"key": "h", "value": None}]
    assert table.column("headers").to_pylist() == [first, [], []]


def test_records_without_headers_have_empty_lists() -> None:
    table = record_batch(SEEN, segments(RECORDS[1:]))
    assert table.column("headers").to_pylist() == [[], []]


def test_a_table_is_valid_and_starts_at_any_record() -> None:
    [segment] = segments(RECORDS)
    segment.start = 1
    table = record_batch(SEEN, [segment])
    table.validate(full=True)
    assert table.column("value").to_pylist() == [b"", None]


def test_several_batches_of_a_log_become_one_table() -> None:
    table = record_batch(SEEN, segments(RECORDS, RECORDS[1:]))
    table.validate(full=True)
    assert table.column("key").to_pylist() == [b"k", None, b"", None, b""]


async def test_a_batch_becomes_a_table() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 12, per_batch=5)
    async with by_hand(shelf, A, max_poll_records=7) as stage:
        batch = (await stage.consumer.getmany(timeout=1))[A]
        table = batch.to_arrow()
        assert table.column("value").to_pylist() == batch.values()
        assert table.column("offset").to_pylist() == list(range(7))


async def test_tables_come_until_the_last_and_each_is_done_at_the_next() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 12, per_batch=5)
    async with entered(shelf, max_poll_records=7) as stage:
        await stage.give(A)
        seen: list[int] = []
        async for table in stage.consumer.arrow_batches():
            seen += table.column("offset").to_pylist()
            if len(seen) == 12:
                break
            await stage.consumer.commit()
        assert seen == list(range(12))
