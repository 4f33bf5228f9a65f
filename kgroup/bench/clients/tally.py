"""What a reader found: every record counted, its offset and the bytes of its value added up.

Decides: that a timed run touches offset and value of every record and no more, and that the run
before it, which is not timed, adds up the CRC-32 of every value as well (the proof).
Never: calls a sum 0 that was not added up: it is None.
"""

from collections.abc import Iterable
from typing import Any
from zlib import crc32


class Tally:
    """Sums over what was read.

    Args:
        proof: whether values are summed by their contents as well.

    Attributes:
        records: how many were seen.
        offsets: sum of their offsets.
        size: bytes of their values.
        crc: sum of their values' CRC-32.
    """

    __slots__ = ("crc", "offsets", "proof", "records", "size", "untouched")

    def __init__(self, *, proof: bool) -> None:
        self.proof = proof
        self.untouched = False
        self.records = self.offsets = self.size = self.crc = 0

    def add(self, records: int, offsets: int, size: int, crc: int) -> None:
        """Add what a loop of the caller's own summed."""
        self.records += records
        self.offsets += offsets
        self.size += size
        self.crc += crc

    def add_records(self, records: Iterable[Any]) -> None:
        """Add record objects that have `offset` and `value`, in a loop."""
        crc = 0
        if self.proof:
            records = list(records)
            crc = sum(crc32(record.value) for record in records)
        count = offsets = size = 0
        for record in records:
            count += 1
            offsets += record.offset
            size += len(record.value)
        self.add(count, offsets, size, crc)

    def add_values(self, first: int, end: int, values: list[Any]) -> None:
        """Add the values of all offsets from `first` to `end`, in a loop."""
        size = 0
        for value in values:
            size += len(value)
        self.add(0, 0, size, sum(map(crc32, values)) if self.proof else 0)
        self._add_bounds(first, end, len(values))

    def add_untouched(self, first: int, end: int, count: int) -> None:
        """Add records at which nobody looked, of all offsets from `first` to `end`."""
        self.untouched = True
        self._add_bounds(first, end, count)

    def _add_bounds(self, first: int, end: int, count: int) -> None:
        if count != end - first:
            raise ValueError(f"{count} records between offsets {first} and {end}")
        self.add(count, (first + end - 1) * count // 2, 0, 0)

    def seen(self) -> dict[str, int | None]:
        """Return the sums, None for what was not added up."""
        return {
            "records": self.records,
            "offset_sum": self.offsets,
            "value_bytes": None if self.untouched else self.size,
            "crc_sum": self.crc if self.proof else None,
        }
