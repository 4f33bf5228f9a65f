"""A task on an executor: ranges of partitions to Arrow batches, in the columns of Spark's source.

Decides: the columns, and how many rows one Arrow batch has.
Never: reads a record behind its range; joins a group; keeps a batch when it was yielded.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from pyarrow import compute

from kgroup.consumer.reads.arrow import record_batch
from kgroup.errors import (
    KGroupError,
    LogTruncatedError,
    NoOffsetError,
    OffsetOutOfRangeError,
)
from kgroup.spark.connecting import worker_consumer
from kgroup.spark.options import SourceOptions
from kgroup.spark.planning import Range
from kgroup.sync import Batch, Consumer

_ROWS: Final = 20_000
"""Rows of one Arrow batch, at least, but for the last."""
_FETCH: Final = 50_000

_HEADERS: Final = pa.list_(
    pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]))
)
_COLUMNS: Final = (
    ("key", pa.binary()),
    ("value", pa.binary()),
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("timestamp", pa.timestamp("us", "UTC")),
    ("timestampType", pa.int32()),
)
_PLAIN: Final = pa.schema(_COLUMNS)
_WITH_HEADERS: Final = pa.schema([*_COLUMNS, ("headers", _HEADERS)])


class RangeError(KGroupError):
    """A task could not read all of its ranges.

    Args:
        what: is wrong, with partition and offset.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)


def read(options: SourceOptions, ranges: Sequence[Range]) -> Iterator[pa.RecordBatch]:
    """Yield all records of some ranges.

    Args:
        options: of the query.
        ranges: of one task, one for each partition at most once at a time.

    Raises:
        RangeError: nothing came for `kafkaConsumer.pollTimeoutMs`.
        OffsetOutOfRangeError, CorruptRecordError, KGroupError: a partition cannot be read.
    """
    for turn in _turns(ranges):
        yield from _joined(_read(options, turn))


def _turns(ranges: Sequence[Range]) -> Iterator[list[Range]]:
    """Yield ranges that can be read side by side: no two of one partition."""
    left = list(ranges)
    while left:
        turn = {each.tp: each for each in reversed(left)}
        left = [each for each in left if turn[each.tp] is not each]
        yield sorted(turn.values())


def _read(options: SourceOptions, ranges: Sequence[Range]) -> Iterator[pa.RecordBatch]:
    consumer = worker_consumer(options)
    consumer.assign([each.tp for each in ranges])
    for each in ranges:
        consumer.seek(each.tp, each.begin, until=each.end)
    while found := _fetched(consumer, options.patience):
        for batch in found.values():
            yield _columns(batch, headers=options.headers)
    for each in ranges:
        at = consumer.position(each.tp)
        if at < each.end:
            raise RangeError(
                f"{each.tp}: no record came for {options.patience:g} s at offset {at}, before "
                f"{each.end}; kafkaConsumer.pollTimeoutMs is how long a task waits"
            )


def _fetched(consumer: "Consumer[Any, Any]", patience: float) -> "dict[Any, Batch[Any, Any]]":
    try:
        return consumer.getmany(max_records=_FETCH, timeout=patience)
    except (LogTruncatedError, NoOffsetError, OffsetOutOfRangeError) as error:
        way_out = "failOnDataLoss=false goes on with what there is"
        raise RangeError(f"{error}; {way_out}") from error


def _columns(batch: "Batch[Any, Any]", *, headers: bool) -> pa.RecordBatch:
    tp, segments = batch.partition, batch.columns()
    rows = record_batch(tp, segments)
    count = rows.num_rows
    kinds = [
        pa.repeat(pa.scalar(segment.timestamp_type.value, pa.int32()), len(segment))
        for segment in segments
    ]
    times = rows.column("timestamp").view(pa.int64())
    if times.null_count:
        times = compute.fill_null(times, -1)
    arrays = [
        rows.column("key"),
        rows.column("value"),
        pa.repeat(pa.scalar(tp.topic), count),
        rows.column("partition"),
        rows.column("offset"),
        compute.multiply(times, 1000).view(_PLAIN.field("timestamp").type),
        kinds[0] if len(kinds) == 1 else pa.concat_arrays(kinds),
    ]
    if not headers:
        return pa.RecordBatch.from_arrays(arrays, schema=_PLAIN)
    arrays.append(rows.column("headers").cast(_HEADERS))
    return pa.RecordBatch.from_arrays(arrays, schema=_WITH_HEADERS)


def _joined(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches of enough rows: each costs the engine about as much as 1,000 of them."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= _ROWS:
            yield _one(waiting)
            waiting, rows = [], 0
    if waiting:
        yield _one(waiting)


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    (joined,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return joined
