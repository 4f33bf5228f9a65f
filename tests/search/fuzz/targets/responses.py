"""T2: every answer in every version, as a broker or anybody else may send it.

Decides: an input is an API's key, a version, and the frame from the correlation id on.
"""

from typing import Any, Final

from kgroup.codes import ApiKey
from kgroup.errors import DecodeError
from kgroup.wire.frames import decode_response, encode_response
from kgroup.wire.schema import Request
from tests.search.fuzz.making import HEAD, chosen, falls_back, is_flexible, judge, judge_refusal
from tests.search.fuzz.recorded import drawn, of_brokers, of_java
from tests.search.fuzz.reference import Reading, Refused
from tests.search.fuzz.target import Target, sure

_ID: Final = 4


def check(data: bytes) -> bool:
    request, version = chosen(data)
    frame = data[HEAD:]
    body = body_of(request, version, frame)
    response: Any = request.RESPONSE
    try:
        correlation_id, message = decode_response(request, version, frame)
    except DecodeError as error:
        if body is not None and not falls_back(request, version, body):
            judge_refusal(response, version, body, error)
        return False
    sure(body is not None, "a header that cannot be read is refused", frame)
    assert body is not None
    sure(correlation_id == int.from_bytes(frame[:_ID], "big", signed=True), "correlation id")
    judge(response, 0 if falls_back(request, version, body) else version, body, message)
    return True


def body_of(request: type[Request[Any]], version: int, frame: bytes) -> bytes | None:
    """Return what follows the header, None when there is no whole header."""
    if len(frame) < _ID:
        return None
    body = frame[_ID:]
    if request.api_key is ApiKey.API_VERSIONS or not is_flexible(request.RESPONSE, version):
        return body
    if body[:1] == b"\0":
        return body[1:]
    try:
        return body[Reading(version, body, flexible=True).behind_tags() :]
    except Refused:
        return None


def read(data: bytes) -> object:
    request, version = chosen(data)
    return decode_response(request, version, data[HEAD:])


def corpus() -> list[bytes]:
    """What brokers answered, what Java wrote, and what the declarations allow."""
    answered = [
        bytes((sent.key, sent.version)) + sent.frame for sent in of_brokers() if not sent.is_request
    ]
    written = [
        bytes((key, version)) + _framed(ApiKey(key), version, body)
        for key, version, is_request, body in of_java()
        if not is_request
    ]
    made = [
        bytes((key, version)) + encode_response(message, key, version, 7)[_ID:]
        for key, version, message in drawn("response")
    ]
    return list(dict.fromkeys((*answered, *written, *made)))


def _framed(key: ApiKey, version: int, body: bytes) -> bytes:
    request, version = chosen(bytes((key, version)))
    tagged = key is not ApiKey.API_VERSIONS and is_flexible(request.RESPONSE, version)
    return b"\0\0\0\7" + (b"\0" if tagged else b"") + body


RESPONSES: Final = Target(
    name="T2",
    about="every answer in every version is read as a second reader reads it, or refused",
    corpus=corpus,
    check=check,
    read=read,
)
