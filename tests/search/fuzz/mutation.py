"""New inputs out of old ones: the same seed and corpus give the same inputs, in every process.

Decides: what is done to an input: bits, bytes, numbers and lengths of every size are changed,
pieces are cut, doubled, moved in from elsewhere. One input in eight is drawn from all of the
corpus, the others from its short half: those are quick, and as a rule say as much.
Never: looks at what became of an input; a changed reader must not change what is read.
"""

import random
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Final

LARGEST: Final = 256 * 1024
"""Bytes of the largest input."""

_SMALL: Final = 4
_ALL_OF: Final = 8
_MOST_CHANGES: Final = 6
_PIECE: Final = 64

_NUMBERS: Final = (
    *(0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 63, 64, 100, 126, 127, 128, 129, 255, 256),
    *(300, 1000, 4095, 4096, 16383, 16384, 32767, 32768, 65535, 65536, 2097151, 2097152),
    *((1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1),
)
_MASKS: Final = {size: (1 << 8 * size) - 1 for size in (1, 2, 4, 8)}


def _uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _zigzag(value: int) -> bytes:
    return _uvarint((value << 1 ^ value >> 63) & ((1 << 64) - 1))


_PACKED: Final = tuple(
    dict.fromkeys(
        (
            *(_uvarint(number) for number in _NUMBERS),
            *(
                _zigzag(sign * number)
                for number in _NUMBERS
                if number < 1 << 63
                for sign in (1, -1)
            ),
            *(struct.pack(">h", number) for number in (-1, -2, 0, 1, 32767, -32768)),
            *(struct.pack(">i", number) for number in (-1, -2, 0, 1, (1 << 31) - 1, -1 << 31)),
            *(struct.pack(">q", number) for number in (-1, 0, (1 << 63) - 1, -1 << 63)),
            *(b"\x80\x00", b"\x81\x80\x00", b"\xff\xff\xff\xff\x0f", b"\xff" * 10, b"\0" * 16),
            *(b"\xc3\x28", b"\xed\xa0\x80", "é".encode(), "\U0001f600".encode(), b"\xff\xfe"),
        )
    )
)
"""Numbers at the edges, in all forms they have on the wire, and bytes that are no text."""


class Mutator:
    """An endless supply of inputs.

    Args:
        corpus: inputs to begin with, at least one.
        seed: of the chance.
        tokens: further byte strings worth inserting.
    """

    def __init__(self, corpus: Sequence[bytes], seed: int, tokens: Sequence[bytes] = ()) -> None:
        self._all = list(corpus)
        self._short = sorted(self._all, key=len)[: max(len(self._all) // 2, 1)]
        self._tokens = (*_PACKED, *(tuple(tokens) * _SMALL))
        self._dice = random.Random(seed)

    def batch(self, count: int) -> list[bytes]:
        """Return the next inputs."""
        return [self._one() for _ in range(count)]

    def _drawn(self) -> bytes:
        dice = self._dice.random
        pool = self._all if dice() * _ALL_OF < 1 else self._short
        return pool[int(dice() * len(pool))]

    def _one(self) -> bytes:
        data = bytearray(self._drawn())
        dice = self._dice.random
        for _ in range(1 + int(dice() * dice() * _MOST_CHANGES)):
            _CHANGES[int(dice() * len(_CHANGES))](self, data)
        return bytes(data[:LARGEST])

    # -- places and numbers ------------------------------------------------------------------

    def _below(self, count: int) -> int:
        return int(self._dice.random() * count)

    def _piece(self, data: bytes | bytearray) -> bytes:
        at = self._below(len(data) + 1)
        return bytes(data[at : at + 1 + self._below(_PIECE)])

    # -- changes -----------------------------------------------------------------------------

    def flip(self, data: bytearray) -> None:
        """Flip one bit."""
        if data:
            data[self._below(len(data))] ^= 1 << self._below(8)

    def set_byte(self, data: bytearray) -> None:
        """Replace a byte by any other."""
        if data:
            data[self._below(len(data))] = self._below(256)

    def step(self, data: bytearray) -> None:
        """Add a little to a byte, or take a little away: lengths and counts stand in bytes."""
        if data:
            at = self._below(len(data))
            data[at] = (data[at] + 1 + self._below(4) - self._below(7)) & 0xFF

    def number(self, data: bytearray) -> None:
        """Overwrite one, two, four or eight bytes by a number at an edge."""
        size = 1 << self._below(4)
        value = _NUMBERS[self._below(len(_NUMBERS))] & _MASKS[size]
        at = self._below(len(data) + 1)
        data[at : at + size] = value.to_bytes(size, "big")

    def length(self, data: bytearray) -> None:
        """Write where a length could stand how many bytes are left, more or less."""
        size = 1 << self._below(3)
        at = self._below(len(data) + 1)
        value = len(data) - at - size + self._below(5) - 2
        data[at : at + size] = (value & _MASKS[size]).to_bytes(size, "big")

    def token(self, data: bytearray) -> None:
        """Insert a token, or overwrite as many bytes."""
        token = self._tokens[self._below(len(self._tokens))]
        at = self._below(len(data) + 1)
        data[at : at + (len(token) if self._below(2) else 0)] = token

    def cut_end(self, data: bytearray) -> None:
        """Cut off the end, or the last byte."""
        del data[self._below(len(data) + 1) if self._below(2) else -1 :]

    def cut_out(self, data: bytearray) -> None:
        """Take out a piece."""
        at = self._below(len(data) + 1)
        del data[at : at + 1 + self._below(_SMALL)]

    def double(self, data: bytearray) -> None:
        """Repeat a piece behind itself, a few times now and then."""
        at = self._below(len(data) + 1)
        piece = bytes(data[at : at + 1 + self._below(_PIECE)])
        times = 1 if self._below(_ALL_OF) else 1 + self._below(_PIECE)
        data[at:at] = piece * times

    def append(self, data: bytearray) -> None:
        """Append a few bytes."""
        data += self._dice.randbytes(1 + self._below(_SMALL))

    def move(self, data: bytearray) -> None:
        """Copy a piece to another place."""
        piece = self._piece(data)
        at = self._below(len(data) + 1)
        data[at : at + (len(piece) if self._below(2) else 0)] = piece

    def splice(self, data: bytearray) -> None:
        """Go on as another input does, from any place or from the same."""
        other = self._drawn()
        at = self._below(len(data) + 1)
        start = at if self._below(2) else self._below(len(other) + 1)
        data[at:] = other[start:]

    def borrow(self, data: bytearray) -> None:
        """Put a piece of another input somewhere."""
        at = self._below(len(data) + 1)
        data[at:at] = self._piece(self._drawn())


_CHANGES: Final[tuple[Callable[[Mutator, bytearray], None], ...]] = (
    *(Mutator.flip, Mutator.set_byte, Mutator.step, Mutator.number, Mutator.length),
    *(Mutator.flip, Mutator.step, Mutator.token, Mutator.cut_end, Mutator.cut_out),
    *(Mutator.double, Mutator.append, Mutator.move, Mutator.splice, Mutator.borrow),
)


def inputs(
    corpus: Sequence[bytes],
    seed: int,
    *,
    tokens: Sequence[bytes] = (),
    batch: int,
    bred: bool = False,
) -> Iterator[list[bytes]]:
    """Yield batches without end: the corpus as it is, shuffled, in turns with mutations of it.

    Args:
        corpus: inputs to begin with, at least one.
        seed: of the chance.
        tokens: further byte strings worth inserting.
        batch: inputs of one batch.
        bred: whether the corpus as it is is left out.
    """
    mutator = Mutator(corpus, seed, tokens)
    shuffled = [] if bred else list(corpus)
    random.Random(seed).shuffle(shuffled)
    for at in range(0, len(shuffled), batch):
        yield shuffled[at : at + batch]
        yield mutator.batch(batch)
    while True:
        yield mutator.batch(batch)
