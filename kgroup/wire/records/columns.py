"""The records of one batch as columns over one buffer.

Decides: how offsets, timestamps, keys, values and headers are handed out: as late and as few
objects as the caller needs.
Never: fails; the maker of `RecordColumns` has checked every bound.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

from kgroup.wire.records import loops
from kgroup.wire.records.python_loops import Shape, read_headers
from kgroup.wire.records.scan import STRIDE

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]
"""Name and value of each header, in the order they were written; a name may occur again."""

Row: TypeAlias = tuple[int, int, bytes | None, bytes | None, Headers]
"""Offset, timestamp in milliseconds (-1: none), key, value, headers."""

RawRow: TypeAlias = tuple[int, int, bytes | None, int]
"""Offset, timestamp in milliseconds (-1: none), value, where the headers stand in the buffer."""

_ROW: Final[Shape] = (tuple, "otkvh", ("offset", "timestamp", "key", "value", "headers"))
KEYS: Final = 0
"""The column of keys, for `gathered`."""

VALUES: Final = 2
"""The column of values."""

_HEADERS: Final = 4


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
        self,
        buffer: bytes,
        offsets: Sequence[int],
        timestamps: Sequence[int],
        bounds: Sequence[int],
    ) -> None:
        self.buffer: bytes = buffer
        self.offsets: Sequence[int] = loops.column("q", offsets)
        self.timestamps: Sequence[int] = loops.column("q", timestamps)
        self.bounds: Sequence[int] = loops.column("i", bounds)

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
        return self.headers_at(self.bounds[range(len(self.offsets))[index] * STRIDE + _HEADERS])

    def headers_at(self, at: int) -> Headers:
        """Return the headers that stand at a place of the buffer, as `raw_rows` names it."""
        return read_headers(self.buffer, at) if self.buffer[at] else ()

    def keys(self, start: int = 0, stop: int | None = None) -> list[bytes | None]:
        """Return the keys from record `start` (at least 0) on, up to `stop` or to the end."""
        return loops.take(self.buffer, self.bounds, KEYS, *self._range(start, stop))

    def values(self, start: int = 0, stop: int | None = None) -> list[bytes | None]:
        """Return the values from record `start` (at least 0) on, up to `stop` or to the end."""
        return loops.take(self.buffer, self.bounds, VALUES, *self._range(start, stop))

    def gathered(self, column: int, start: int, stop: int) -> tuple[bytes, bytes, bytes, int]:
        """Return `KEYS` or `VALUES` as the buffers of an Arrow array; see `python_loops.gather`.

        Raises:
            ValueError: they take more than 2 GiB.
        """
        return loops.gather(self.buffer, self.bounds, column, start, stop)

    def index_of(self, offset: int) -> int:
        """Return the index of the first record at or after `offset`; `len` when there is none.

        A batch may begin before the offset that was asked for: its earlier records are no news.
        """
        return bisect_left(self.offsets, offset)

    def records(
        self, shape: Shape, constants: tuple[object, ...], start: int = 0, stop: int | None = None
    ) -> Iterator[Any]:
        """Yield the records from record `start` (at least 0) on, as objects of a class.

        Args:
            shape: which class, and what stands in its fields; see `python_loops`.
            constants: what is the same for all of them.
            start: index of the first record.
            stop: index behind the last one, None for the end.
        """
        columns = self.buffer, self.offsets, self.timestamps, self.bounds
        return loops.records(shape, constants, columns, *self._range(start, stop))

    def rows(self, start: int = 0, stop: int | None = None) -> Iterator[Row]:
        """Yield the records from record `start` (at least 0) on, up to `stop` or to the end."""
        return self.records(_ROW, (), start, stop)

    def raw_rows(self, start: int = 0) -> Iterator[RawRow]:
        """Return the records from record `start` (at least 0) on; their headers are not read."""
        places = self.bounds[start * STRIDE + _HEADERS :: STRIDE]
        values = self.values(start)
        return zip(self.offsets[start:], self.timestamps[start:], values, places, strict=True)

    def __iter__(self) -> Iterator[Row]:
        return self.rows()

    def _pair(self, index: int, column: int) -> tuple[int, int]:
        at = range(len(self.offsets))[index] * STRIDE + column
        return self.bounds[at], self.bounds[at + 1]

    def _range(self, start: int, stop: int | None) -> tuple[int, int]:
        end = len(self.offsets) if stop is None else min(stop, len(self.offsets))
        return min(start, end), end
