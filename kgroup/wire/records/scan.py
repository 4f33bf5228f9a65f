"""One pass over the records of a batch: offsets, timestamps, and where keys and values stand.

Decides: that a batch is whole. As many records as announced, each within its own length, nothing
left over, offsets rising (N17).
Never: copies a key or a value, or believes a length before comparing it with the bytes there are.

A record (KIP-98), all numbers signed varints unless said:
    length, attributes i8 (unused), timestamp delta, offset delta, key length + key (negative:
    null), value length + value (negative: null), header count, for each header key length + key,
    value length + value; what follows within `length` is from a newer writer and is skipped.

This is the reference: `_compiled` finds the same, and `loops` says which of the two runs.

Speed: neighbours have the same shape nearly always. The four numbers before the key are therefore
read with one `struct` for the shape of the record before, and decoded by table; a record of another
shape, or with a number of more than two bytes, goes through `_read_front`, which also judges it.
"""

import struct
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeVar

from kgroup.wire.records.header import MAX_OFFSET
from kgroup.wire.records.varints import read_varint, read_varlong, wrapped

STRIDE: Final = 5
"""Entries of `bounds` per record: key from, key to, value from, value to, headers from."""

_T = TypeVar("_T")

_RAW: Final = range(1 << 14)  # what one or two bytes can hold, zigzag not yet undone
_SIGNED: Final = [(raw >> 1) ^ -(raw & 1) for raw in _RAW]
_NEAR_OVERFLOW: Final = (1 << 63) - len(_RAW)
_MOST_BYTES: Final = (1 << 31) - 1  # a position has 32 bits


def _one_byte(numbers: Sequence[int], none: _T) -> tuple[int | _T, ...]:
    return (*numbers[:128], *[none] * 128)


def _two_bytes(numbers: Sequence[int], none: _T) -> tuple[int | _T, ...]:
    table: list[int | _T] = [none] * (1 << 16)
    for high in range(128):
        table[high * 256 + 128 : high * 256 + 256] = numbers[high * 128 : high * 128 + 128]
    return tuple(table)


class _Shape(NamedTuple):
    """How many bytes the length, the timestamp delta and the offset delta take."""

    unpack: Callable[[bytes, int], tuple[Any, ...]]  # the key length is taken to be one byte
    lengths: tuple[int, ...]
    times: tuple[int | None, ...]
    deltas: tuple[int, ...]
    length_size: int
    front_size: int


# By size: format, raw numbers, signed numbers. The tables are indexed by the bytes as one
# little-endian number; where those are not one whole number of that size stands -1, which is odd as
# no length or offset delta may be, or None.
_TABLES: Final = {
    1: ("B", _one_byte(_RAW, -1), _one_byte(_SIGNED, None)),
    2: ("H", _two_bytes(_RAW, -1), _two_bytes(_SIGNED, None)),
}


def _shape(length_size: int, time_size: int, delta_size: int) -> _Shape:
    length, lengths, _ = _TABLES[length_size]
    time, _, times = _TABLES[time_size]
    delta, deltas, _ = _TABLES[delta_size]
    return _Shape(
        struct.Struct(f"<{length}x{time}{delta}B").unpack_from,
        lengths,
        times,
        deltas,
        length_size,
        length_size + 1 + time_size + delta_size + 1,
    )


_SHAPES: Final = {
    (length, time, delta): _shape(length, time, delta)
    for length in (1, 2)
    for time in (1, 2)
    for delta in (1, 2)
}
_FIRST_SHAPE: Final = _SHAPES[1, 1, 1]


def scan(
    data: bytes, count: int, base_offset: int, base_timestamp: int
) -> tuple[list[int], list[int], list[int]]:
    """Find every record of a decompressed batch.

    Args:
        data: the records, without the batch's header, nothing after them.
        count: how many there must be, at least 0.
        base_offset: offset that offset deltas count from, at least 0.
        base_timestamp: milliseconds that timestamp deltas count from.

    Returns:
        Offsets, rising; timestamps in milliseconds; bounds, `STRIDE` for each record: positions in
        `data` with the end exclusive, where an end of -1 means null, and headers begin with their
        count.

    Raises:
        ValueError: the records contradict each other or `count`; the text says how.
    """
    if len(data) > _MOST_BYTES:
        raise ValueError(f"{len(data)} bytes of records, which is more than 2 GiB")
    try:
        deltas, timestamps, bounds = _walk(data, count, base_timestamp)
    except IndexError as error:
        raise ValueError(f"the data ends within one of the {count} records") from error
    if deltas and base_offset + (max(deltas) >> 1) > MAX_OFFSET:
        raise ValueError(f"an offset beyond {MAX_OFFSET}")
    if abs(base_timestamp) > _NEAR_OVERFLOW:
        timestamps = [wrapped(timestamp) for timestamp in timestamps]
    if deltas == list(range(0, 2 * count, 2)):
        return list(range(base_offset, base_offset + count)), timestamps, bounds
    if any(later <= earlier for earlier, later in pairwise(deltas)):
        raise ValueError("offsets do not rise")
    return [base_offset + (delta >> 1) for delta in deltas], timestamps, bounds


def _walk(data: bytes, count: int, base_time: int) -> tuple[list[int], list[int], list[int]]:
    """Go from record to record; offset deltas come back as the raw, even numbers they are."""
    found_deltas: list[int] = []
    found_times: list[int] = []
    bounds: list[int] = []
    at = 0
    unpack, lengths, times, deltas, length_size, front_size = _FIRST_SHAPE
    for _ in range(count):
        try:
            raw_length, raw_time, raw_delta, key = unpack(data, at)
        except struct.error:  # fewer bytes are left than this shape has
            raw_length = raw_time = raw_delta = key = -1
        length, time, delta = lengths[raw_length], times[raw_time], deltas[raw_delta]
        if (length | delta) & 1 or time is None or key > 127:
            (end, time, delta, key, at), shape = _read_front(data, at, base_time)
            unpack, lengths, times, deltas, length_size, front_size = shape
        else:
            end = at + length_size + (length >> 1)
            at += front_size
        found_times.append(base_time + time)
        found_deltas.append(delta)
        key_from = at
        key_to = -1 if key & 1 else (at := at + (key >> 1))
        value, value_from = data[at], at + 1
        if value > 127:
            if (high := data[value_from]) < 128:
                value, value_from = value + (high << 7) - 128, at + 2
            else:
                value, value_from = _read_size(data, at)
        if value & 1:
            bounds += key_from, key_to, value_from, -1, value_from
            at = value_from
        else:
            at = value_from + (value >> 1)
            bounds += key_from, key_to, value_from, at, at
        if data[at] or at >= end:
            _check_headers(data, at, end)
        at = end
    if at != len(data):
        raise ValueError(f"{count} records end at byte {at} of {len(data)}")
    return found_deltas, found_times, bounds


def _read_front(
    data: bytes, at: int, base_time: int
) -> tuple[tuple[int, int, int, int, int], _Shape]:
    """Read what stands before a key of any shape, and name the shape for the next record.

    Returns:
        End of the record, timestamp delta, raw offset delta, raw key length, position of the key.
    """
    length, length_to = read_varint(data, at)
    time, time_to = read_varlong(data, length_to + 1)
    delta, delta_to = read_varint(data, time_to)
    key, key_from = _read_size(data, delta_to)
    if length < 0 or delta < 0:
        raise ValueError(f"a record of length {length} with offset delta {delta} at byte {at}")
    sizes = (length_to - at, time_to - length_to - 1, delta_to - time_to)
    time = wrapped(base_time + time) - base_time
    front = (length_to + length, time, delta << 1, key, key_from)
    return front, _SHAPES.get(sizes, _FIRST_SHAPE)


def _read_size(data: bytes, at: int) -> tuple[int, int]:
    """Read a length in its raw form, where any odd number means null (Java takes any negative)."""
    size, after = read_varint(data, at)
    return (size << 1 if size >= 0 else 1), after


def _check_headers(data: bytes, at: int, end: int) -> None:
    """Walk the headers from their count on; afterwards they can be read without a doubt."""
    count, at = read_varint(data, at)
    if count < 0:
        raise ValueError(f"{count} headers in the record that ends at byte {end}")
    for _ in range(count):
        key_size = data[at]
        if key_size < 128 and not key_size & 1:
            at += 1 + (key_size >> 1)
        else:
            at = _after_header_key(data, at)
        value_size = data[at]
        if value_size < 128:
            at += 1 if value_size & 1 else 1 + (value_size >> 1)
        else:
            value_size, at = read_varint(data, at)
            at += max(value_size, 0)
        if at > end:
            break
    if at > end:
        raise ValueError(f"a record goes on after its length, which ends at byte {end}")


def _after_header_key(data: bytes, at: int) -> int:
    size, after = read_varint(data, at)
    if size < 0:
        raise ValueError(f"a header without a name at byte {at}")
    return after + size
