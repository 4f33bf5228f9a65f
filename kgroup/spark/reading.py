"""A task on an executor: ranges of partitions to Arrow batches, in the columns of Spark's source.

Decides: the columns, and how many rows one Arrow batch has.
Never: reads a record behind its range; joins a group; keeps a batch when it was yielded.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from pyarrow import compute

from kgroup.consumer.buffer.chunk import Segment
from kgroup.consumer.reads.arrow import record_batch
from kgroup.errors import (
    DecodeError,
    KGroupError,
    LogTruncatedError,
    NoOffsetError,
    OffsetOutOfRangeError,
)
from kgroup.spark.options import SourceOptions
from kgroup.spark.planning import Range
from kgroup.spark.worker import worker_consumer
from kgroup.sync import Batch, Consumer
from kgroup.types import TopicPartition

_ROWS: Final = 20_000
"""Rows of one Arrow batch, about."""
_BYTES: Final = 8 * 1024 * 1024
"""Bytes of one Arrow batch, about: a worker holds it two or three times."""

_TIMESTAMP: Final = pa.timestamp("us", "UTC")
_HEADERS: Final = pa.list_(
    pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]))
)
_COLUMNS: Final = (
    ("key", pa.binary()),
    ("value", pa.binary()),
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("timestamp", _TIMESTAMP),
    ("timestampType", pa.int32()),
)


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
    consumer.assign_ranges({each.tp: (each.begin, each.end) for each in ranges})
    fences = {each.tp: each.fence for each in ranges}
    read_to: dict[TopicPartition, int] = {}
    while found := _fetched(consumer, options.patience):
        for batch in found.values():
            read_to[batch.partition] = batch.next_offset
            yield _columns(batch, options, fences[batch.partition])
    for each in ranges:
        if read_to.get(each.tp) == each.end:
            continue
        # Offsets at the end that nobody is handed out are no loss.
        at = consumer.position(each.tp)
        if at < each.end:
            raise RangeError(
                f"{each.tp}: no record came for {options.patience:g} s at offset {at}, before "
                f"{each.end}; kafkaConsumer.pollTimeoutMs is how long a task waits"
            )


def _fetched(consumer: "Consumer[Any, Any]", patience: float) -> "dict[Any, Batch[Any, Any]]":
    try:
        return consumer.getmany(max_records=_ROWS, timeout=patience)
    except (LogTruncatedError, NoOffsetError, OffsetOutOfRangeError) as error:
        way_out = "failOnDataLoss=false goes on with what there is"
        raise RangeError(f"{error}; {way_out}") from error
    except DecodeError as error:
        reason = error.__cause__.reason if isinstance(error.__cause__, DecodeError) else error
        way_out = (
            "a batch read in two parts, by startingOffsets and endingOffsets, leaves it out; a "
            "streaming query goes on behind it when the group's committed offset is set there"
        )
        raise RangeError(f"{error.what}: {reason}; {way_out}") from error


def _columns(batch: "Batch[Any, Any]", options: SourceOptions, fence: int | None) -> pa.RecordBatch:
    tp, segments = batch.partition, batch.columns()
    rows = record_batch(tp, segments, headers=options.headers)
    count = rows.num_rows
    times = rows.column("timestamp").view(pa.int64())
    if times.null_count:
        times = compute.fill_null(times, -1)
    arrays = [
        rows.column("key"),
        rows.column("value"),
        pa.repeat(pa.scalar(tp.topic), count),
        rows.column("partition"),
        rows.column("offset"),
        compute.multiply(times, 1000).view(_TIMESTAMP),
        _timestamp_types(segments),
    ]
    columns: list[tuple[str, pa.DataType]] = [*_COLUMNS]
    if options.headers:
        arrays.append(rows.column("headers").cast(_HEADERS))
        columns.append(("headers", _HEADERS))
    if options.fence:
        arrays.append(pa.repeat(pa.scalar(fence, pa.int64()), count))
        columns.append(("fence", pa.int64()))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(columns))


def _timestamp_types(segments: Sequence[Segment]) -> pa.Array:
    """Return the type of each record's timestamp: a topic has one, until it is changed."""
    kinds = {each.timestamp_type for each in segments}
    counts = [(each.timestamp_type, len(each)) for each in segments]
    if len(kinds) == 1:
        counts = [(kinds.pop(), sum(map(len, segments)))]
    return pa.concat_arrays([pa.repeat(pa.scalar(kind.value, pa.int32()), n) for kind, n in counts])


def _joined(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches of enough rows: each costs the engine about as much as 1,000 of them."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _ROWS or size >= _BYTES:
            yield _one(waiting)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield _one(waiting)


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    (joined,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return joined
