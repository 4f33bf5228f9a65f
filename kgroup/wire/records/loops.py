"""Which form of the loops over records runs: the compiled one, or the one in Python.

Decides: the compiled form wherever it was built, unless the environment says `KGROUP_PURE=1` when
kgroup is imported.
Never: words an error of its own: where the compiled scan gives up, the one in Python says why.

Everything else imports the loops from here. ADR 0016.
"""

from __future__ import annotations

import os
from array import array
from typing import TYPE_CHECKING

from kgroup.wire.records import python_loops

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["COMPILED", "RecordFields", "column", "gather", "records", "scan", "take"]

try:
    if os.environ.get("KGROUP_PURE", "0") not in {"", "0"}:
        raise ImportError("KGROUP_PURE is set")
    import kgroup.wire.records._compiled as _module
except ImportError:
    COMPILED = False
else:
    COMPILED = True
"""Whether the compiled form runs."""

if TYPE_CHECKING or not COMPILED:
    from kgroup.wire.records.python_loops import RecordFields, gather, records, scan, take
else:
    RecordFields, take = _module.RecordFields, _module.take
    gather, records = _module.gather, _module.records

    def scan(
        data: bytes, count: int, base_offset: int, base_timestamp: int
    ) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
        """Do as `python_loops.scan`."""
        found = _module.scan(data, count, base_offset, base_timestamp)
        return found or python_loops.scan(data, count, base_offset, base_timestamp)


def column(kind: str, numbers: Sequence[int]) -> Sequence[int]:
    """Return numbers as the loops take them: the compiled ones take no list.

    Args:
        kind: of the numbers, as `array` names it: `q` or `i`.
        numbers: a list, an array, or a view.
    """
    return array(kind, numbers) if COMPILED and isinstance(numbers, list) else numbers
