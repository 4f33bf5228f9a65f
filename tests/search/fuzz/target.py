"""What a fuzz target is, and how a broken promise is said.

Decides: the bounds that hold wherever a target names none: 50 ms for each 64 KiB begun, 16 times
the input and 1 MiB of memory.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

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
        costs: inputs of a plain target in whose time one of this can be judged.
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
