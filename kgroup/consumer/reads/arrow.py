"""Records as Arrow record batches, without a Python object for each.

Decides: the columns and their types: offset, timestamp (UTC, null where a record has none), key,
value, headers, partition. The topic is in the schema's metadata.
Never: calls a deserialiser; reads headers where no record has any; keeps the answer they came in.
"""

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kgroup.consumer.buffer.chunk import Segment
from kgroup.errors import ArgumentError, MissingExtraError
from kgroup.types import TopicPartition
from kgroup.wire.records import KEYS, STRIDE, VALUES, RecordColumns

try:
    import pyarrow as pa
    from pyarrow import compute
except ImportError as error:
    raise MissingExtraError("reading to Arrow", "arrow") from error

_HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_SCHEMA: Final = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        ("timestamp", pa.timestamp("ms", "UTC")),
        ("key", pa.binary()),
        ("value", pa.binary()),
        pa.field("headers", _HEADERS, nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
    ]
)
_HEADERS_AT: Final = 4
"""The column of headers."""
_HEADERS_BOUND: Final = 4
"""Which of a record's bounds says where its headers stand."""


def record_batch(
    tp: TopicPartition, segments: Sequence[Segment], *, headers: bool = True
) -> pa.RecordBatch:
    """Return records as one record batch.

    Args:
        tp: where they are from.
        segments: the records, at least one.
        headers: whether there is a column for them.

    Raises:
        ArgumentError: keys or values take more than 2 GiB, the most of an Arrow binary array.
    """
    count = sum(map(len, segments))
    offsets, times, *rest = _joined([_arrays(each, headers=headers) for each in segments], count)
    partition = pa.repeat(pa.scalar(tp.partition, pa.int32()), count)
    schema = _SCHEMA if headers else _SCHEMA.remove(_HEADERS_AT)
    arrays = [offsets, _timestamps(times), *rest, partition]
    return pa.record_batch(arrays, schema=schema.with_metadata({"topic": tp.topic}))


def _joined(parts: list[list[Any]], count: int) -> list[Any]:
    """Return each column of all segments as one array: what is done once is not done for each."""
    if len(parts) == 1:
        return parts[0]  # uncopied
    try:
        return [*map(pa.concat_arrays, zip(*parts, strict=True))]
    except pa.ArrowInvalid as error:
        raise ArgumentError("batch", count, "records of at most 2 GiB: read fewer") from error


def _timestamps(times: pa.Array) -> pa.Array:
    if compute.min(times).as_py() < 0:
        times = compute.if_else(compute.equal(times, -1), pa.scalar(None, pa.int64()), times)
    return times.view(_SCHEMA.field("timestamp").type)


def _arrays(segment: Segment, *, headers: bool) -> list[Any]:
    columns, start, stop = segment.columns, segment.start, segment.stop
    arrays = [
        _numbers(columns.offsets, start, stop),
        _numbers(columns.timestamps, start, stop),
        _bytes(columns, KEYS, start, stop),
        _bytes(columns, VALUES, start, stop),
    ]
    return [*arrays, _headers(columns, start, stop)] if headers else arrays


def _numbers(numbers: Sequence[int], start: int, stop: int) -> pa.Array:
    part = numbers[start:stop]
    data = pa.py_buffer(array("q", part) if isinstance(part, list) else part)
    return pa.Array.from_buffers(pa.int64(), stop - start, [None, data])


def _bytes(columns: RecordColumns, column: int, start: int, stop: int) -> pa.Array:
    try:
        valid, ends, data, nulls = columns.gathered(column, start, stop)
    except ValueError as error:
        raise ArgumentError("batch", stop - start, f"fewer records: {error}") from error
    buffers = [pa.py_buffer(each) for each in (valid, ends, data)]
    return pa.Array.from_buffers(pa.binary(), stop - start, buffers, nulls)


def _headers(columns: RecordColumns, start: int, stop: int) -> pa.Array:
    if not _any_headers(columns, start, stop):
        none = pa.py_buffer(bytes(4 * (stop - start + 1)))
        empty = pa.array([], _HEADERS.value_type)
        return pa.Array.from_buffers(_HEADERS, stop - start, [None, none], 0, children=[empty])
    found: Iterator[Any] = (columns.headers(index) for index in range(start, stop))
    named = [[{"key": name, "value": value} for name, value in each] for each in found]
    return pa.array(named, _HEADERS)


def _any_headers(columns: RecordColumns, start: int, stop: int) -> bool:
    """Tell whether a record has headers: whether where they stand is a number other than 0."""
    places = columns.bounds[start * STRIDE + _HEADERS_BOUND : stop * STRIDE : STRIDE]
    packed = places if isinstance(places, memoryview) else array("i", places)
    where = [None, pa.py_buffer(packed.tobytes())]
    octets = [None, pa.py_buffer(columns.buffer)]
    counts = pa.Array.from_buffers(pa.uint8(), len(columns.buffer), octets).take(
        pa.Array.from_buffers(pa.int32(), stop - start, where)
    )
    return bool(compute.max(counts).as_py())
