"""How bytes of keys and values are shown.

Decides: the five formats; that bytes which are not what was asked for are shown all the same, and
that a record stays on one line.
Never: raises for any bytes.
"""

import base64
import json
import math
import re
from enum import StrEnum
from typing import Any, Final, NoReturn, assert_never

__all__ = ["Format", "as_line", "as_value", "on_one_line"]

_DEEPEST: Final = 200
"""Levels of JSON that are shown as JSON; what is deeper is shown as text."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""What moves a cursor, ends a line or turns the direction of writing."""


class Format(StrEnum):
    """What bytes are taken for."""

    RAW = "raw"
    UTF8 = "utf8"
    JSON = "json"
    HEX = "hex"
    BASE64 = "base64"


def as_line(data: bytes | None, form: Format) -> bytes:
    """Return what a person reads: one line, unless raw bytes hold more; null for None.

    Control characters are escaped except in raw, so that no record can play with a terminal.
    """
    if data is None:
        return b"null"
    if form is Format.RAW:
        return data
    shown, _ = as_value(data, form)
    text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
    return on_one_line(text).encode("utf-8", "backslashreplace")


def on_one_line(text: str) -> str:
    """Return a text with what could play with a terminal, or ends a line, escaped."""
    return _CONTROL.sub(_escaped, text)


def as_value(data: bytes | None, form: Format) -> tuple[Any, bool]:
    """Return what goes into a line of JSON, and whether the bytes are what they are taken for.

    Raw bytes are given as text like `utf8`: JSON has no bytes. Bytes that are no UTF-8 are
    written `\\xff`, what is no JSON is given as text.
    """
    if data is None:
        return None, True
    match form:
        case Format.RAW | Format.UTF8:
            return _text(data)
        case Format.JSON:
            return _document(data)
        case Format.HEX:
            return data.hex(), True
        case Format.BASE64:
            return base64.b64encode(data).decode("ascii"), True
        case _:
            assert_never(form)


def _text(data: bytes) -> tuple[str, bool]:
    try:
        return data.decode("utf-8"), True
    except UnicodeDecodeError:
        return data.decode("utf-8", "backslashreplace"), False


def _document(data: bytes) -> tuple[Any, bool]:
    try:
        found = json.loads(data.decode("utf-8"), parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return _text(data)[0], False
    # What can just be read may be too deep to be written again, some calls further down.
    may_be_deep = data.count(b"[") + data.count(b"{") > _DEEPEST
    return (_text(data)[0], False) if may_be_deep and _is_deep(found) else (found, True)


def _is_deep(document: object) -> bool:
    level: list[object] = [document]
    for _ in range(_DEEPEST):
        inner = [each for each in level if isinstance(each, list | dict)]
        level = [
            one for each in inner for one in (each.values() if isinstance(each, dict) else each)
        ]
    return bool(level)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _finite(number: str) -> float:
    found = float(number)
    return found if math.isfinite(found) else _refuse(number)


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found.group())[1:-1].replace("\x7f", "\\u007f")
