# The compiled loops, for type checkers; `python_loops` says what each does.

from collections.abc import Iterator, Sequence
from typing import Any

from kgroup.wire.records.python_loops import Columns, Shape

class RecordFields: ...

def scan(
    data: bytes, count: int, base_offset: int, base_timestamp: int, /
) -> tuple[Sequence[int], Sequence[int], Sequence[int]] | None: ...
def take(
    data: bytes, bounds: Sequence[int], column: int, start: int, stop: int, /
) -> list[bytes | None]: ...
def gather(
    data: bytes, bounds: Sequence[int], column: int, start: int, stop: int, /
) -> tuple[bytes, bytes, bytes, int]: ...
def records(
    shape: Shape, constants: tuple[object, ...], columns: Columns, start: int, stop: int, /
) -> Iterator[Any]: ...
