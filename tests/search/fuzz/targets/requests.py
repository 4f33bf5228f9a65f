"""T3: requests, written and read back; and read as a broker does.

Decides: the first byte of an input says which of three things the rest is. 0: a tape for a request
that its version can carry; it comes back as it was. 1: a tape for any request; either the version
says which field it lacks, or only what may be lost is lost. 2: a frame as a broker would get it.
"""

from typing import Any, Final

from kgroup.errors import DecodeError, UnsupportedVersionError
from kgroup.wire.frames import decode_request, encode_request
from kgroup.wire.schema import Message
from kgroup.wire.source import layout_of
from kgroup.wire.vocabulary import ArrayForm, RowForm
from tests.search.fuzz.making import (
    HEAD,
    chosen,
    is_flexible,
    judge,
    judge_refusal,
    keys,
    make,
    text,
)
from tests.search.fuzz.recorded import of_brokers, of_java
from tests.search.fuzz.reference import Reading, Refused
from tests.search.fuzz.target import Tape, Target, sure

_CARRIED, _ANYTHING, _FRAME = range(3)
_SIZE: Final = 4
_FIXED: Final = 10
_SEEDS: Final = 6


def check(data: bytes) -> bool:
    kind, rest = data[0] % 3 if data else 0, data[1:]
    if kind == _FRAME:
        return _read_frame(rest)
    return _written(rest, anything=kind == _ANYTHING)


def _written(data: bytes, *, anything: bool) -> bool:
    cls, version = chosen(data)
    tape = Tape(data[HEAD:])
    client_id = text(tape) if tape.below(4) else None
    correlation_id = tape.below(1 << 31)
    message: Any = make(cls, version, tape, anything=anything)
    try:
        frame = encode_request(message, version, correlation_id, client_id)
    except UnsupportedVersionError as error:
        sure(anything, "what a version can carry can be written", error)
        return False
    sure(int.from_bytes(frame[:_SIZE], "big") == len(frame) - _SIZE, "the size is that of the rest")
    header, again = decode_request(frame[_SIZE:])
    asked = (cls.api_key, version, correlation_id, client_id)
    sure(tuple(header) == asked, "the header comes back", header, asked)
    expected = without_absent(message, version) if anything else message
    sure(again == expected, f"{cls.__name__} v{version} comes back", again, expected)
    return True


def without_absent(message: Message, version: int) -> Message:
    """Return a message with what its version lacks at the default, rows included.

    It has been written in that version, so nothing of it may have been lost that must not be.
    """
    layout = layout_of(type(message), version)
    values: dict[str, Any] = {step.name: step.default for step in layout.absent}
    for step in layout.absent:
        lost = getattr(message, step.name) != step.default
        sure(step.ignorable or not lost, "what a version lacks is not lost silently", step.name)
    for step in layout.present + layout.tagged:
        value = getattr(message, step.name)
        if value is not None and isinstance(step.form, RowForm):
            value = without_absent(value, version)
        elif value and isinstance(step.form, ArrayForm) and isinstance(step.form.item, RowForm):
            value = tuple(without_absent(row, version) for row in value)
        values[step.name] = value
    return type(message)(**values)


def _read_frame(frame: bytes) -> bool:
    try:
        header, message = decode_request(frame)
    except UnsupportedVersionError:
        version = int.from_bytes(frame[2:4], "big", signed=True)
        cls, _ = chosen(frame[1:2])
        sure(version not in cls.VERSIONS, "a version that is spoken is read", version)
        return False
    except DecodeError as error:
        _refused(frame, error)
        return False
    body = _body(frame)
    sure(body is not None, "a header that cannot be read is refused")
    assert body is not None
    judge(type(message), header.api_version, body, message)
    return True


def _refused(frame: bytes, error: DecodeError) -> None:
    body = _body(frame)
    if body is None:
        return
    cls, _ = chosen(frame[1:2])
    judge_refusal(cls, int.from_bytes(frame[2:4], "big", signed=True), body, error)


def _body(frame: bytes) -> bytes | None:
    """Return what follows the header, None when there is no whole one of a version we speak."""
    key, version = (int.from_bytes(frame[at : at + 2], "big", signed=True) for at in (0, 2))
    length = int.from_bytes(frame[8:_FIXED], "big", signed=True)
    at = _FIXED + max(length, 0)
    if len(frame) < at or length < -1 or key not in keys():
        return None
    cls, _ = chosen(bytes((key,)))
    if version not in cls.VERSIONS or not _is_text(frame[_FIXED:at]):
        return None
    if not is_flexible(cls, version):
        return frame[at:]
    rest = frame[at:]
    try:
        return rest[Reading(version, rest, flexible=True).behind_tags() :]
    except Refused:
        return None


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def read(data: bytes) -> object:
    kind, rest = data[0] % 3 if data else 0, data[1:]
    return decode_request(rest) if kind == _FRAME else _written(rest, anything=True)


def corpus() -> list[bytes]:
    """Frames of recorded clients and of Java, and tapes for every request and version."""
    sent = [bytes((_FRAME,)) + each.frame for each in of_brokers() if each.is_request]
    written = [
        bytes((_FRAME, 0, key, 0, version)) + b"\0\0\0\7\0\2me" + _tags(key, version) + body
        for key, version, is_request, body in of_java()
        if is_request
    ]
    tapes = [
        bytes((kind, key, version)) + bytes(1 + (at * (17 + tone)) % 251 for at in range(60 * tone))
        for kind in (_CARRIED, _ANYTHING)
        for key in keys()
        for version in chosen(bytes((key,)))[0].VERSIONS
        for tone in range(1, _SEEDS, 2)
    ]
    return list(dict.fromkeys((*sent, *written, *tapes)))


def _tags(key: int, version: int) -> bytes:
    return b"\0" if is_flexible(chosen(bytes((key,)))[0], version) else b""


REQUESTS: Final = Target(
    name="T3",
    about="a request is read as it was written; one of a stranger is read rightly, or refused",
    corpus=corpus,
    check=check,
    read=read,
    room=lambda data: 16 * len(data) + (1 << 22),
)
