"""Frozen values with some fields changed, at half the price of `dataclasses.replace`.

Decides: how the copy is made: slot by slot, past the constructor.
Never: runs `__init__` or `__post_init__`; what a class must check it has checked in the original.
"""

from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["replace"]

if TYPE_CHECKING:
    # Type checkers know the fields of dataclasses by this name.
    from dataclasses import replace
else:

    def replace(value: Any, /, **changes: Any) -> Any:  # noqa: ANN401  # seen at run time only
        """Return a copy of a slotted dataclass with some fields changed.

        Args:
            value: has `__slots__`, and at least two fields.
            changes: field -> value.

        Raises:
            KeyError: there is no such field.
        """
        kind = value.__class__
        setters, by_name, read = _slots(kind)
        made = object.__new__(kind)
        for put, part in zip(setters, read(value), strict=True):
            put(made, part)
        for name, part in changes.items():
            by_name[name](made, part)
        return made


@cache
def _slots(kind: type) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    names = [each.name for each in fields(kind)]
    by_name = {name: kind.__dict__[name].__set__ for name in names}
    return tuple(by_name.values()), by_name, attrgetter(*names)
