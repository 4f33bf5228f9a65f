"""Numbers for values: each value that is met gets one, and keeps it.

Decides: nothing.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["Interned"]

V = TypeVar("V")


@dataclass(slots=True)
class Interned(Generic[V]):
    """Values by number.

    Args:
        key: equal for values that count as one.
        values: by number.
    """

    key: Callable[[V], Hashable]
    values: list[V] = field(default_factory=list)
    _numbers: dict[Hashable, int] = field(default_factory=dict)

    def number(self, value: V) -> int:
        """Return the number of a value, a new one if it was never met."""
        key = self.key(value)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.values)
            self.values.append(value)
        return number

    def __len__(self) -> int:
        return len(self.values)
