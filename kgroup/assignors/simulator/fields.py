"""Strict reading of a JSON document: each value is known by its path.

Decides: what an error says of a wrong value: its path, what it is, and what would be right.
Never: knows what the document is about; guesses or repairs.
"""

import base64
import binascii
import json
from collections.abc import Collection
from difflib import get_close_matches
from math import isfinite
from typing import Final, NoReturn

from kgroup.errors import ArgumentError
from kgroup.values import dataclass

_LONGEST_SHOWN: Final = 60


class _Pairs(tuple[tuple[str, object], ...]):
    """An object of JSON as it was written, so that a repeated name can be seen."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(dict(self))


class _Shown(str):
    """A value in an error: as JSON, and cut off where it is long."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a document.

    Args:
        path: such as `members[2].topics[0]`; "" for the whole document.
        value: as JSON has it.
        source: what the document is called in errors.
    """

    path: str
    value: object
    source: str

    def refuse(self, expected: str) -> NoReturn:
        """Say that the value is wrong.

        Raises:
            ArgumentError: always.
        """
        where = f"{self.source}: {self.path or 'the document'}"
        raise ArgumentError(where, _Shown(_short(self.value)), expected)

    def record(self, known: Collection[str], needed: Collection[str] = ()) -> dict[str, "Field"]:
        """Return the values of an object that has certain names; null is as good as absent."""
        found = self._object(f"an object with {_listed(known)}")
        for name, field in found.items():
            if name not in known:
                near = get_close_matches(name, known, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                field.refuse(f"no such name: known are {_listed(known)}{hint}")
        said = {name: field for name, field in found.items() if field.value is not None}
        for name in needed:
            if name not in said:
                self.refuse(f"{name!r} in it")
        return said

    def mapping(self, expected: str) -> dict[str, "Field"]:
        """Return the values of an object whose names are the document's own."""
        return self._object(expected)

    def items(self, expected: str) -> list["Field"]:
        """Return the values of a list."""
        if not isinstance(self.value, list):
            self.refuse(expected)
        return [self._below(f"[{at}]", each) for at, each in enumerate(self.value)]

    def text(self, expected: str) -> str:
        """Return a text that is not empty."""
        if not isinstance(self.value, str) or not self.value:
            self.refuse(expected)
        if not _is_writable(self.value):
            self.refuse(f"{expected}, without half of a surrogate pair")
        return self.value

    def count(self, most: int, expected: str) -> int:
        """Return a whole number from 0 to `most`."""
        value = self.value
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            self.refuse(expected)
        return value

    def number(self, expected: str) -> float:
        """Return a number, 0 or more."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse(expected)
        try:
            found = float(value)
        except OverflowError:
            self.refuse(expected)
        if not isfinite(found) or found < 0:
            self.refuse(expected)
        return found

    def data(self) -> bytes:
        """Return bytes that are written as base64."""
        text = self.value
        try:
            return base64.b64decode(text if isinstance(text, str) else "?", validate=True)
        except (binascii.Error, ValueError):
            self.refuse("bytes as base64")

    def _object(self, expected: str) -> dict[str, "Field"]:
        if not isinstance(self.value, _Pairs):
            self.refuse(expected)
        found: dict[str, Field] = {}
        for name, value in self.value:
            step = f".{name}" if name.isidentifier() else f"[{name!r}]"
            field = self._below(step if self.path or step[0] == "[" else name, value)
            if not _is_writable(name):
                field.refuse(f"a name other than {name!r}, which holds half of a surrogate pair")
            if name in found:
                field.refuse(f"the name {name!r} only once")
            found[name] = field
        return found

    def _below(self, step: str, value: object) -> "Field":
        return Field(f"{self.path}{step}", value, self.source)


def parse(text: str | bytes, source: str) -> Field:
    """Return a JSON document.

    Args:
        text: of the document; bytes are UTF-8.
        source: what it is called in errors.

    Raises:
        ArgumentError: it is no JSON; the message says where.
    """
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8-sig")
        value = json.loads(decoded, object_pairs_hook=_Pairs, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        shown = _Shown(f"byte {error.object[error.start]:#04x} at {error.start}")
        raise ArgumentError(source, shown, "a text of JSON in UTF-8") from None
    except json.JSONDecodeError as error:
        line = error.doc.splitlines()[error.lineno - 1 :][:1]
        shown = _Shown(_cut(line[0].strip() if line else "nothing"))
        where = f"{source}: line {error.lineno}, column {error.colno}"
        raise ArgumentError(where, shown, f"JSON ({error.msg})") from None
    except RecursionError:
        raise ArgumentError(source, _Shown("a deep nesting"), "a few levels of JSON") from None
    except ValueError as error:
        raise ArgumentError(source, _Shown(_cut(str(error))), "JSON") from None
    return Field("", value, source)


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"the number {constant}")


def _is_writable(text: str) -> bool:
    """Whether a text is one of Unicode: JSON can escape what cannot be written."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _listed(names: Collection[str]) -> str:
    return ", ".join(map(repr, names))


def _short(value: object) -> str:
    try:
        return _cut(json.dumps(_plain(value), ensure_ascii=False))
    except (RecursionError, ValueError):
        return f"a deep {type(value).__name__}"


def _plain(value: object) -> object:
    match value:
        case _Pairs():
            return {name: _plain(each) for name, each in value}
        case list():
            return [_plain(each) for each in value[:_LONGEST_SHOWN]]
        case _:
            return value


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."
