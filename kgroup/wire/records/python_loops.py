"""The loops over records in Python: the reference, and what runs without the compiled module.

Decides: what `take`, `gather` and `records` return for a batch that `scan` has found whole.
Never: checks a bound again; `scan` has. (The compiled form checks all the same, for its memory's
sake.)

`_compiled` has the same functions with the same arguments. A difference between the two is a
defect. The codes of `records`, one for each field of the object that is made:

    = the next constant          o offset                 t timestamp
    k key                        v value                  h headers as a tuple
    K size of the key, or -1     V size of the value      l headers as a list
    S sum of the sizes of all names and values of headers, or -1 without headers
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, repeat
from operator import length_hint
from typing import Any, Final, TypeAlias

from kgroup.wire.records.scan import STRIDE, scan
from kgroup.wire.records.varints import read_varint

__all__ = ["Columns", "RecordFields", "Shape", "gather", "read_headers", "records", "scan", "take"]

Shape: TypeAlias = tuple[type, str, tuple[str, ...]]
"""A class, the code of each of its fields, and their names."""

Columns: TypeAlias = tuple[bytes, Sequence[int], Sequence[int], Sequence[int]]
"""A batch's buffer, offsets, timestamps, and bounds, as `RecordColumns` keeps them."""

_KEY: Final = 0
_VALUE: Final = 2
_HEADERS: Final = 4


class RecordFields:
    """The fields of a record, of which the compiled form knows where each lies in memory."""

    __slots__ = (
        "_origin",
        "headers",
        "key",
        "leader_epoch",
        "offset",
        "partition",
        "timestamp",
        "timestamp_type",
        "topic",
        "value",
    )


def take(
    data: bytes, bounds: Sequence[int], column: int, start: int, stop: int
) -> list[bytes | None]:
    """Return the keys (`column` 0) or values (2) of the records from `start` up to `stop`."""
    first, last = start * STRIDE + column, stop * STRIDE
    pairs = zip(bounds[first:last:STRIDE], bounds[first + 1 : last : STRIDE], strict=True)
    return [data[begin:end] if end >= 0 else None for begin, end in pairs]


def gather(
    data: bytes, bounds: Sequence[int], column: int, start: int, stop: int
) -> tuple[bytes, bytes, bytes, int]:
    """Return keys (`column` 0) or values (2) as the buffers of an Arrow array of type binary.

    Returns:
        One bit for each that is no null, lowest bit first; where each begins and the last ends, as
        numbers of 32 bits; all bytes in a row; how many nulls there are.

    Raises:
        ValueError: there are more than 2 GiB of them.
    """
    found = take(data, bounds, column, start, stop)
    total = sum(len(each) for each in found if each is not None)
    if total >> 31:
        raise ValueError("an Arrow array of more than 2 GiB")
    valid = bytearray((len(found) + 7) // 8)
    for index, each in enumerate(found):
        if each is not None:
            valid[index >> 3] |= 1 << (index & 7)
    ends = array("i", accumulate((len(each or b"") for each in found), initial=0))
    return bytes(valid), ends.tobytes(), b"".join(each or b"" for each in found), found.count(None)


def records(
    shape: Shape, constants: tuple[object, ...], columns: Columns, start: int, stop: int
) -> Iterator[Any]:
    """Return what makes the records from `start` up to `stop`, each when it is asked for.

    Args:
        shape: what to make; see the module.
        constants: one for each code `=`.
        columns: the batch.
        start: index of the first record.
        stop: index behind the last one.

    Returns:
        An iterator; `operator.length_hint` tells how many records are left.

    Raises:
        ValueError: codes, names and constants do not fit each other.
    """
    made, codes, names = shape
    if len(codes) != len(names) or codes.count("=") != len(constants):
        raise ValueError("the codes do not fit the class, or the constants")
    left = iter(range(start, stop))
    given = iter(constants)
    fields = [
        repeat(next(given)) if code == "=" else _column(code, columns, start, stop)
        for code in codes
    ]
    if made is tuple:
        return _Records(map(lambda _, *each: each, left, *fields), left)
    return _Records(map(lambda _, *each: made(*each), left, *fields), left)


class _Records:
    """An iterator that tells how many are left."""

    __slots__ = ("_left", "_made")

    def __init__(self, made: Iterator[Any], left: Iterator[int]) -> None:
        self._made = made
        self._left = left

    def __iter__(self) -> Iterator[Any]:
        return self._made

    def __next__(self) -> Any:  # noqa: ANN401 - of the class that is made
        return next(self._made)

    def __length_hint__(self) -> int:
        return length_hint(self._left)


def _column(code: str, columns: Columns, start: int, stop: int) -> Iterable[Any]:
    data, offsets, timestamps, bounds = columns
    match code:
        case "o":
            return offsets[start:stop]
        case "t":
            return timestamps[start:stop]
        case "k" | "v":
            return take(data, bounds, _KEY if code == "k" else _VALUE, start, stop)
        case "K" | "V":
            found = take(data, bounds, _KEY if code == "K" else _VALUE, start, stop)
            return [-1 if each is None else len(each) for each in found]
    places = bounds[start * STRIDE + _HEADERS : stop * STRIDE : STRIDE]
    match code:
        case "h":
            return (read_headers(data, at) if data[at] else () for at in places)
        case "l":
            return (list(read_headers(data, at)) for at in places)
        case "S":
            return (_size_of_headers(data, at) for at in places)
    raise ValueError("the codes do not fit the class, or the constants")


def read_headers(data: bytes, at: int) -> tuple[tuple[str, bytes | None], ...]:
    """Read headers that the scan has walked; as in Java, bytes that are no UTF-8 are replaced."""
    return tuple((str(name, "utf-8", "replace"), value) for name, value in _headers(data, at))


def _size_of_headers(data: bytes, at: int) -> int:
    found = list(_headers(data, at))
    return sum(len(name) + len(value or b"") for name, value in found) if found else -1


def _headers(data: bytes, at: int) -> Iterator[tuple[bytes, bytes | None]]:
    count, at = read_varint(data, at)
    for _ in range(count):
        size, at = read_varint(data, at)
        name = data[at : at + size]
        size, at = read_varint(data, at + size)
        yield name, None if size < 0 else data[at : at + size]
        at += max(size, 0)
