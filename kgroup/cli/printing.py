"""How records of `kgroup consume` leave the process: lines on standard output, a rate beside it.

Decides: the shape of a line, and that writing never holds up the event loop: a reader that stops
(`| less`) must not cost the membership.
Never: counts a record as printed before the write has returned.
"""

import base64
import json
import math
import re
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NoReturn, Protocol, TextIO, assert_never

import anyio

from kgroup.consumer import Record
from kgroup.values import dataclass

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


# -- printing --------------------------------------------------------------------------------------


_Record = Record[bytes | None, bytes | None]
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_REDRAW: Final = 0.5
_CLEAR: Final = "\r\x1b[2K"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Makes a line out of a record.

    Args:
        key: what keys are taken for.
        value: what values are taken for.
        headers: whether a person sees headers; programs always do.
        as_json: lines of JSON.
        values_only: nothing but the value.
    """

    key: Format = Format.UTF8
    value: Format = Format.UTF8
    headers: bool = False
    as_json: bool = False
    values_only: bool = False

    def of(self, record: _Record) -> bytes:
        """Return the line with its end."""
        if self.as_json:
            return self._json(record)
        if self.values_only:
            return as_line(record.value, self.value) + b"\n"
        place = f"{record.topic}-{record.partition}@{record.offset}".encode()
        parts = [place, _time(record.timestamp).encode()]
        parts += [as_line(record.key, self.key), as_line(record.value, self.value)]
        if self.headers:
            named = (_header(name, value) for name, value in record.headers)
            parts.append(b"{" + b", ".join(named) + b"}")
        return b"  ".join(parts) + b"\n"

    def _json(self, record: _Record) -> bytes:
        key, key_is_so = as_value(record.key, self.key)
        value, value_is_so = as_value(record.value, self.value)
        line: dict[str, Any] = {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp if record.timestamp >= 0 else None,
            "key": key,
            "value": value,
            "headers": [[name, as_value(data, Format.UTF8)[0]] for name, data in record.headers],
        }
        wrong = [name for name, so in (("key", key_is_so), ("value", value_is_so)) if not so]
        if wrong:
            line["bad"] = wrong
        return json.dumps(line).encode("ascii") + b"\n"


def _header(name: str, value: bytes | None) -> bytes:
    return (
        as_line(name.encode("utf-8", "backslashreplace"), Format.UTF8)
        + b"="
        + as_line(value, Format.UTF8)
    )


def _time(timestamp: int) -> str:
    if timestamp < 0:
        return "-"
    try:
        moment = _EPOCH + timedelta(milliseconds=timestamp)
    except OverflowError:
        return f"{timestamp}ms"
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{timestamp % 1000:03}Z"


class Output(Protocol):
    """Takes lines; a test keeps them."""

    async def write(self, lines: bytes, records: int) -> None:
        """Write lines; when it returns they are written.

        Raises:
            BrokenPipeError: nobody reads any more.
        """
        ...

    def tick(self) -> None:
        """Called several times a second."""
        ...


class Gauge:
    """The rate line: how much came, and how fast.

    Args:
        stream: a terminal.
        clock: monotonic seconds.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float]) -> None:
        self._stream = stream
        self._clock = clock
        self._began_at = self._shown_at = clock()
        self._records = self._shown = self._bytes = 0
        self._visible = False

    def count(self, records: int, size: int) -> None:
        """Count what was written."""
        self._records += records
        self._bytes += size

    def clear(self) -> None:
        """Take the line away, so that records can be written in its place."""
        if self._visible:
            self._visible = False
            self._stream.write(_CLEAR)
            self._stream.flush()

    def tick(self) -> None:
        """Draw the line again when it is time."""
        now = self._clock()
        if now - self._shown_at >= _REDRAW:
            rate = (self._records - self._shown) / (now - self._shown_at)
            self._shown_at, self._shown = now, self._records
            self._stream.write(f"{_CLEAR}{self._amount()}, {rate:,.0f}/s")
            self._stream.flush()
            self._visible = True

    def end(self) -> None:
        """Say how much it was in all."""
        self.clear()
        took = max(self._clock() - self._began_at, 0.001)
        self._stream.write(f"{self._amount()} in {took:.1f} s, {self._records / took:,.0f}/s\n")
        self._stream.flush()

    def _amount(self) -> str:
        return f"{self._records:,} records, {self._bytes / 1e6:,.1f} MB"


class StandardOutput:
    """Writes to standard output from a thread, so that a slow reader stops nothing else.

    Args:
        gauge: the rate line, None without one.
    """

    def __init__(self, gauge: Gauge | None) -> None:
        self._gauge = gauge

    async def write(self, lines: bytes, records: int) -> None:
        """Write lines; see `Output`."""
        if self._gauge is not None:
            self._gauge.clear()
        # Left alone when cancelled: nobody may wait for a reader that does not read.
        await anyio.to_thread.run_sync(_write_out, lines, abandon_on_cancel=True)
        if self._gauge is not None:
            self._gauge.count(records, len(lines))

    def tick(self) -> None:
        """Redraw the rate line."""
        if self._gauge is not None:
            self._gauge.tick()


def _write_out(lines: bytes) -> None:
    sys.stdout.buffer.write(lines)
    sys.stdout.buffer.flush()


def joined(lines: Lines, records: Iterable[_Record]) -> bytes:
    """Return the lines of several records."""
    return b"".join(map(lines.of, records))
