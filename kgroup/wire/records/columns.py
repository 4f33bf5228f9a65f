"""The records of one batch as columns over one buffer.

Decides: how offsets, timestamps, keys, values and headers are handed out: as late and as few
objects as the caller needs.
Never: fails; the maker of `RecordColumns` has checked every bound.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import TypeAlias

from kgroup.wire.records.scan import STRIDE
from kgroup.wire.records.varints import read_varint

__all__ = ["Headers", "RawRow", "RecordColumns", "Row"]

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]
"""Name and value of each header, in the order they were written; a name may occur again."""

Row: TypeAlias = tuple[int, int, bytes | None, bytes | None, Headers]
"""Offset, timestamp in milliseconds (-1: none), key, value, headers."""

RawRow: TypeAlias = tuple[int, int, bytes | None, int]
"""Offset, timestamp in milliseconds (-1: none), value, where the headers stand in the buffer."""


class RecordColumns:
    """Every record of one batch; owns its buffer, so it may outlive the answer it came in.

    Args:
        buffer: the decompressed records.
        offsets: one per record, rising; holes are what compaction left.
        timestamps: one per record, milliseconds, -1 for none.
        bounds: `STRIDE` positions in `buffer` per record: key from, key to, value from, value to
            (-1: null), headers from.
    """

    __slots__ = ("bounds", "buffer", "offsets", "timestamps")

    def __init__(
        self, buffer: bytes, offsets: list[int], timestamps: list[int], bounds: list[int]
    ) -> None:
        self.buffer: bytes = buffer
        self.offsets: list[int] = offsets
        self.timestamps: list[int] = timestamps
        self.bounds: list[int] = bounds

    def __len__(self) -> int:
        return len(self.offsets)

    def key(self, index: int) -> bytes | None:
        """Return the key of one record, None for null; `index` as in a list."""
        start, end = self._pair(index, 0)
        return None if end < 0 else self.buffer[start:end]

    def value(self, index: int) -> bytes | None:
        """Return the value of one record, None for null; `index` as in a list."""
        start, end = self._pair(index, 2)
        return None if end < 0 else self.buffer[start:end]

    def headers(self, index: int) -> Headers:
        """Return the headers of one record, read anew at each call; `index` as in a list."""
        return self.headers_at(self.bounds[range(len(self.offsets))[index] * STRIDE + 4])

    def headers_at(self, at: int) -> Headers:
        """Return the headers that stand at a place of the buffer, as `raw_rows` names it."""
        return _read_headers(self.buffer, at) if self.buffer[at] else ()

    def keys(self, start: int = 0, stop: int | None = None) -> list[bytes | None]:
        """Return the keys from record `start` (at least 0) on, up to `stop` or to the end."""
        return self._slices(start, stop, 0)

    def values(self, start: int = 0, stop: int | None = None) -> list[bytes | None]:
        """Return the values from record `start` (at least 0) on, up to `stop` or to the end."""
        return self._slices(start, stop, 2)

    def index_of(self, offset: int) -> int:
        """Return the index of the first record at or after `offset`; `len` when there is none.

        A batch may begin before the offset that was asked for: its earlier records are no news.
        """
        return bisect_left(self.offsets, offset)

    def rows(self, start: int = 0, stop: int | None = None) -> Iterator[Row]:
        """Yield the records from record `start` (at least 0) on, up to `stop` or to the end."""
        buffer, end = self.buffer, None if stop is None else stop * STRIDE
        for offset, timestamp, key, value, at in zip(
            self.offsets[start:stop],
            self.timestamps[start:stop],
            self.keys(start, stop),
            self.values(start, stop),
            self.bounds[start * STRIDE + 4 : end : STRIDE],
            strict=True,
        ):
            headers = _read_headers(buffer, at) if buffer[at] else ()
            yield offset, timestamp, key, value, headers

    def raw_rows(self, start: int = 0) -> Iterator[RawRow]:
        """Return the records from record `start` (at least 0) on; their headers are not read."""
        places = self.bounds[start * STRIDE + 4 :: STRIDE]
        values = self.values(start)
        return zip(self.offsets[start:], self.timestamps[start:], values, places, strict=True)

    def __iter__(self) -> Iterator[Row]:
        return self.rows()

    def _pair(self, index: int, column: int) -> tuple[int, int]:
        at = range(len(self.offsets))[index] * STRIDE + column
        return self.bounds[at], self.bounds[at + 1]

    def _slices(self, start: int, stop: int | None, column: int) -> list[bytes | None]:
        buffer, bounds, first = self.buffer, self.bounds, start * STRIDE + column
        last = None if stop is None else stop * STRIDE
        ends = bounds[first + 1 : last : STRIDE]
        pairs = zip(bounds[first:last:STRIDE], ends, strict=True)
        return [buffer[begin:end] if end >= 0 else None for begin, end in pairs]


def _read_headers(data: bytes, at: int) -> Headers:
    """Read headers that the scan has walked; as in Java, bytes that are no UTF-8 are replaced."""
    count, at = read_varint(data, at)
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        size, start = data[at], at + 1  # in its raw form, twice the length; most have one byte
        if size > 127:
            size, start = _read_size(data, at)
        at = start + (size >> 1)
        name = str(data[start:at], "utf-8", "replace")
        size, start = data[at], at + 1
        if size > 127:
            size, start = _read_size(data, at)
        at = start if size & 1 else start + (size >> 1)
        headers.append((name, None if size & 1 else data[start:at]))
    return tuple(headers)


def _read_size(data: bytes, at: int) -> tuple[int, int]:
    size, after = read_varint(data, at)
    return (size << 1 if size >= 0 else 1), after
