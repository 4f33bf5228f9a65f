"""Which message an input is, and what must hold of one that was read.

Decides: an input begins with the API's key and the version, a byte each, both taken modulo what
there is, so that every input is some message. What was read and is written again is the input, or
differs from it in what `reference.Exemption` names, and the second reader agrees.
"""

from functools import cache
from typing import Any, Final

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import DecodeError, LocalProtocolError
from kgroup.wire import messages
from kgroup.wire.frames import request_class
from kgroup.wire.schema import Message, Request, decode, encode
from tests.search.fuzz.reference import Exemption, Reading, Refused, same
from tests.search.fuzz.target import sure

HEAD: Final = 2
_COMPARED: Final = 8


@cache
def keys() -> tuple[ApiKey, ...]:
    """Return the APIs that have messages."""
    return tuple(key for key in ApiKey if _named(key) in dir(messages))


def _named(key: ApiKey) -> str:
    return f"{''.join(word.title() for word in key.name.split('_'))}Request"


@cache
def _choice(key: int, version: int) -> tuple[type[Request[Any]], int]:
    known = keys()
    api = ApiKey(key) if key in known else known[key % len(known)]
    cls = request_class(api)
    return cls, cls.VERSIONS[0] + (version - cls.VERSIONS[0]) % len(cls.VERSIONS)


def chosen(data: bytes) -> tuple[type[Request[Any]], int]:
    """Return the request class and the version that an input is about."""
    return _choice(data[0] if data else 0, data[1] if len(data) > 1 else 0)


def is_flexible(cls: type[Message], version: int) -> bool:
    return cls.FLEXIBLE is not None and version >= cls.FLEXIBLE


def compared(data: bytes) -> bool:
    """Tell whether the second reader, which is slow, is asked about an input: one in eight."""
    return (len(data) + sum(data[-2:])) % _COMPARED == 0


def judge(cls: type[Message], version: int, body: bytes, message: Message) -> set[Exemption]:
    """Judge what was made of a body; return what was exempted."""
    try:
        again = encode(message, version)
    except LocalProtocolError:
        again = None  # a text that was mended may have become too long to be written
    if again == body and not compared(body):
        return set()
    row, canonical, exemptions = understood(cls, version, body)
    sure(same(row, message), f"{cls.__name__} v{version}: both readers agree", row, message)
    if again is None:
        sure(Exemption.REPLACED_TEXT in exemptions, "what was read can be written", cls.__name__)
        return exemptions
    sure(
        again == canonical, f"{cls.__name__} v{version}: written as it should be", again, canonical
    )
    sure(again == body or exemptions, f"{cls.__name__} v{version}: written as read", again, body)
    sure(decode(cls, version, again) == message, "what was written is read as the same", message)
    return exemptions


def understood(cls: type[Message], version: int, body: bytes) -> tuple[Any, bytes, set[Exemption]]:
    """Return what the second reader makes of a body that the first has accepted."""
    reading = Reading(version, body, flexible=is_flexible(cls, version))
    try:
        row, canonical = reading.message(cls)
    except Refused as error:
        sure(False, f"{cls.__name__} v{version}: accepted, but the second reader refuses", error)
        raise
    return row, canonical, reading.exemptions


def judge_refusal(cls: type[Message], version: int, body: bytes, error: DecodeError) -> None:
    """Judge that a body was refused."""
    if not compared(body):
        return
    reading = Reading(version, body, flexible=is_flexible(cls, version))
    try:
        row, _ = reading.message(cls)
    except Refused:
        return
    sure(False, f"{cls.__name__} v{version}: refused, but the second reader accepts", error, row)


def falls_back(request: type[Request[Any]], version: int, body: bytes) -> bool:
    """Tell whether an answer is to be read in version 0: it says the version is not known."""
    code = int.from_bytes(body[:2], "big", signed=True)
    unknown = len(body) > 1 and code == ErrorCode.UNSUPPORTED_VERSION
    if request.api_key is not ApiKey.API_VERSIONS or not unknown:
        return False
    response: Any = request.RESPONSE
    try:
        Reading(version, body, flexible=is_flexible(response, version)).message(response)
    except Refused:
        return True
    return False
