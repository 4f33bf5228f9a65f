"""Decisions read from bytes, so that structured inputs are mutated, saved and replayed as bytes.

Never: ends. Behind the last byte every pick is the first, which by convention is the tamest.
"""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_BYTE = 256


class Tape:
    """Reads picks from bytes, one byte for up to 256 choices, two or four beyond."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        """Bytes not read yet."""
        return max(len(self._data) - self._at, 0)

    def below(self, count: int) -> int:
        """Return a number in [0, count)."""
        size = 1 if count <= _BYTE else 2 if count <= 1 << 16 else 4
        at = self._at
        self._at = at + size
        if size == 1:
            return self._data[at] % count if at < len(self._data) else 0
        return int.from_bytes(self._data[at : at + size], "big") % count

    def pick(self, options: Sequence[T]) -> T:
        """Return one of some options."""
        return options[self.below(len(options))]

    def chance(self, one_in: int) -> bool:
        """Tell whether something that is true once in `one_in` times is true now."""
        return self.below(one_in) == one_in - 1

    def take(self, size: int) -> bytes:
        """Return the next bytes, fewer at the end."""
        at = self._at
        self._at = at + size
        return self._data[at : at + size]

    def rest(self) -> bytes:
        """Return all bytes not read yet."""
        return self.take(self.left)
