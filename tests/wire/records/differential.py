"""The compiled loops against those in Python: `python -m tests.wire.records.differential`.

Decides: what one input is: the records of a batch, whole or damaged, and the figures beside them.
Never: looks at the text of an error: the compiled scan has none.
"""

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Final, NamedTuple

from kgroup.wire.records import NewRecord, encode_batch, python_loops
from kgroup.wire.records import _compiled as compiled

_HEADER: Final = 61
_EDGES: Final = (0, 1, 127, 128, 255)
_NUMBERS: Final = (0, 1, 1 << 31, (1 << 62) + 5, (1 << 63) - 1)


class Row(NamedTuple):
    """What the loops make of a record; a field of each kind."""

    topic: object
    offset: object
    timestamp: object
    key: object
    value: object
    headers: object
    key_size: object
    value_size: object
    names: object
    sizes: object


SHAPE: Final = (Row, "=otkvhKVlS", Row._fields)


@dataclass(frozen=True)
class Input:
    """The arguments of a scan."""

    data: bytes
    count: int
    base_offset: int
    base_timestamp: int


def inputs(seed: int) -> Iterator[Input]:
    """Yield inputs for ever: each batch whole, then damaged in several ways."""
    chance = random.Random(seed)
    while True:
        records = [_record(chance) for _ in range(chance.choice((1, 2, 3, 9)))]
        data = encode_batch(records)[_HEADER:]
        base, time = chance.choice(_NUMBERS), chance.choice((*_NUMBERS, -1, -(1 << 63)))
        yield Input(data, len(records), base, time)
        for _ in range(20):
            count = max(0, len(records) + chance.choice((0, 0, 0, 0, 1, -1, 1 << 20)))
            yield Input(_damaged(chance, data), count, base, time)


def differences(given: Input) -> Iterator[str]:
    """Say where the two forms differ for one input."""
    try:
        expected = python_loops.scan(*astuple(given))
    except ValueError:
        expected = None
    found = compiled.scan(*astuple(given))
    if found is None or expected is None:
        if (found is None) is not (expected is None):
            yield f"scan: {found and [*map(list, found)]} is not {expected}"
        return
    if [*map(list, found)] != [*map(list, expected)]:
        yield f"scan: {[*map(list, found)]} is not {expected}"
        return
    yield from _handed_out(given.data, found)


def _handed_out(data: bytes, columns: Sequence[Sequence[int]]) -> Iterator[str]:
    bounds, count = columns[2], len(columns[0])
    for column in (0, 2):
        for name in ("take", "gather"):
            both = [getattr(form, name)(data, bounds, column, 0, count) for form in _FORMS]
            if both[0] != both[1]:
                yield f"{name}({column}): {both[0]} is not {both[1]}"
    made = [[*form.records(SHAPE, ("t",), (data, *columns), 0, count)] for form in _FORMS]
    if made[0] != made[1]:
        yield f"records: {made[0]} is not {made[1]}"


_FORMS: Final[tuple[Any, Any]] = (compiled, python_loops)


def _record(chance: random.Random) -> NewRecord:
    def some(longest: int) -> bytes | None:
        return chance.choice((None, b"", chance.randbytes(chance.randrange(longest))))

    headers = tuple(
        (chance.choice(("", "h", "\u00e9")), some(9)) for _ in range(chance.choice((0, 0, 2)))
    )
    return NewRecord(
        some(9), some(chance.choice((9, 90, 300))), headers, chance.choice(_NUMBERS[:4])
    )


def _damaged(chance: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(out) + 1)
        match chance.randrange(4):
            case 0 if at < len(out):
                out[at] = chance.choice((*_EDGES, chance.randrange(256)))
            case 1:
                del out[at:]
            case 2:
                out[at:at] = bytes([chance.choice(_EDGES)])
            case _:
                del out[at : at + chance.choice((1, 3))]
        if not out:
            break
    return bytes(out)


def main() -> int:
    """Compare many inputs; the first difference ends it with 1."""
    parser = argparse.ArgumentParser(description="Compare the compiled loops with those in Python.")
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for number, given in enumerate(inputs(options.seed)):
        if number == options.inputs:
            break
        for difference in differences(given):
            print(f"input {number} of seed {options.seed}: {given}\n{difference}")
            return 1
        if number % 100_000 == 0:
            print(f"{number:,} inputs", file=sys.stderr)
    print(f"{options.inputs:,} inputs, no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
