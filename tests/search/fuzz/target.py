"""What a target is, the tape that one reads its decisions from, and the inputs that broke one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeVar

KIB = 1024
MIB = 1024 * KIB

_SECONDS = 0.05
_UNIT = 64 * KIB
_FACTOR = 16


class Broken(AssertionError):
    """A promise of a target does not hold; the text says which."""


def sure(holds: object, promise: str, *details: object) -> None:
    """Raise `Broken` unless a promise holds.

    Args:
        holds: whether it does.
        promise: what was promised.
        details: what to look at, shown only when it does not.
    """
    if not holds:
        raise Broken(": ".join((promise, *(repr(detail)[:400] for detail in details))))


def plain_patience(data: bytes) -> float:
    """Return the seconds that reading an input may take: 50 ms for each 64 KiB begun."""
    return _SECONDS * (1 + len(data) // _UNIT)


def plain_room(data: bytes) -> int:
    """Return the bytes that reading an input may allocate: 16 times its size and 1 MiB."""
    return _FACTOR * len(data) + MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One thing that is fed with arbitrary bytes.

    Args:
        name: "T1" and so on.
        about: what is fed and what must hold, in a sentence.
        corpus: makes the inputs that others are mutated from.
        check: judges one input; returns whether it was accepted, raises when a promise is broken.
        read: the code under test alone, whose time and memory are measured; it may raise anything.
        tokens: byte strings worth inserting.
        costs: how many inputs of a plain target take as long as one of this.
        patience: seconds that `read` may take.
        room: bytes that `read` may allocate, None when that is not bounded by the input.
    """

    name: str
    about: str
    corpus: Callable[[], list[bytes]]
    check: Callable[[bytes], bool]
    read: Callable[[bytes], object]
    tokens: tuple[bytes, ...] = field(default=())
    costs: int = 1
    patience: Callable[[bytes], float] = plain_patience
    room: Callable[[bytes], int] | None = plain_room


# -- crashers --------------------------------------------------------------------------------------


CRASHERS: Final = Path(__file__).parent / "crashers"

_NAME: Final = 16


def save(target: str, data: bytes, folder: Path = CRASHERS) -> Path:
    """Write an input under the hash of its bytes; return where."""
    path = folder / target / f"{sha256(data).hexdigest()[:_NAME]}.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def saved(folder: Path = CRASHERS) -> Iterator[tuple[str, Path]]:
    """Yield (target, file) of every saved input, in order."""
    for path in sorted(folder.glob("*/*.bin")):
        yield path.parent.name, path


# -- tape ------------------------------------------------------------------------------------------


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
