"""Messages out of a tape, by the declarations: a quick twin of `kgroup.testing.strategies`.

Decides: which values a field has: mostly the small, the empty and the edges.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from kgroup.wire.layout import Step, layout_of
from kgroup.wire.schema import Message
from kgroup.wire.vocabulary import ArrayForm, BlobForm, Form, RowForm, ScalarForm
from tests.search.fuzz.tape import Tape

_BITS: Final = {"b": 8, "h": 16, "i": 32, "q": 64}
_TEXTS: Final = ("", "a", "t", "é" * 63, "x" * 127, "y" * 128, "z" * 300, "\U0001f600")
_BLOBS: Final = (b"", b"\0", b"a" * 126, b"b" * 127, b"c" * 128, b"d" * 20_000)
_SHARES: Final = 4
_LEFT_OUT: Final = 8
_MOST_ROWS: Final = 5
_DEEP: Final = 3


def make(cls: type[Message], version: int, tape: Tape, *, anything: bool = False) -> Message:
    """Return a message that a version can carry.

    Args:
        cls: its class.
        version: of the class.
        tape: decides.
        anything: fill fields too that the version lacks.
    """
    known: Any = cls
    values: dict[str, Any] = {}
    for step in _steps(known, version, anything=anything):
        absent_too = anything and step.nullable_since is not None
        if (step.nullable or absent_too) and tape.below(_SHARES) == 1:
            values[step.name] = None
        else:
            shown = max(version, step.since) if step.until is None else min(version, step.until)
            values[step.name] = _value(step.form, shown, tape, anything=anything)
    return cls(**values)


@cache
def _steps(cls: Any, version: int, *, anything: bool) -> tuple[Step, ...]:
    layout = layout_of(cls, version)
    return (*layout.present, *layout.tagged, *(layout.absent if anything else ()))


def _value(form: Form, version: int, tape: Tape, *, anything: bool) -> Any:
    match form:
        case ScalarForm("?", _):
            return bool(tape.below(2))
        case ScalarForm("16s", _):
            return tape.take(16).ljust(16, b"\0")
        case ScalarForm(code, _):
            return number(_BITS[code], tape)
        case RowForm(cls):
            return make(cls, version, tape, anything=anything)
        case ArrayForm(item):
            return tuple(_items(item, version, tape, anything=anything))
        case BlobForm():
            return _blob(tape)
        case _:
            return text(tape)


def number(bits: int, tape: Tape) -> int:
    """Return a signed number of so many bits, small as a rule."""
    bound = 1 << (bits - 1)
    kind = tape.below(8)
    if kind < _SHARES:
        return tape.below(100)
    if kind == _SHARES:
        return int.from_bytes(tape.take(bits // 8), "big", signed=True)
    return (-1, -bound, bound - 1)[kind - _SHARES - 1]


def text(tape: Tape) -> str:
    """Return text, one of a few that are long or odd as a rule."""
    if tape.below(_SHARES) == 1:
        return tape.take(tape.below(20)).decode("utf-8", "replace")
    return tape.pick(_TEXTS)


def _blob(tape: Tape) -> bytes:
    if tape.below(_SHARES) == 1:
        return tape.take(tape.below(30))
    return tape.pick(_BLOBS[:-1]) if tape.below(_LEFT_OUT) else _BLOBS[-1]


def _items(item: Form, version: int, tape: Tape, *, anything: bool) -> Iterator[Any]:
    """Yield few different items, each one several times now and then: a run is read at once."""
    for _ in range(tape.below(_DEEP)):
        one = _value(item, version, tape, anything=anything)
        times = 1 if tape.below(_SHARES) else 1 + tape.below(_MOST_ROWS)
        for _ in range(times):
            yield one
