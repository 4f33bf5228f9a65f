"""Frames: a size, a header and a message; bytes of a connection to whole frames and back.

Decides: where a frame ends, which header a version has, and how a response is read when the
broker did not know the version of ApiVersions. A frame whose size is negative (N1) or over the
limit (N2) is refused before a byte of it is kept.
Never: reads a socket, or pairs responses with requests; `kgroup.net.connection` does.

KIP-482 (headers with tagged fields), KIP-511 (ApiVersions keeps the plain response header).
"""

import struct
from typing import Any, Final, NamedTuple, TypeVar

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import DecodeError, LocalProtocolError
from kgroup.wire import messages
from kgroup.wire.primitives import read_tags
from kgroup.wire.schema import Message, Request, decode, encode

R = TypeVar("R", bound=Message)

DEFAULT_LIMIT: Final = 100 * 1024 * 1024
"""Bytes of the largest frame that is accepted."""

_LARGE: Final = 4096
"""Bytes from which a piece of a frame is kept as it came, without a copy."""
_LARGE_SHARE: Final = 8
"""A piece is kept as it came only if what came with it is at most this many times its size."""
_REUSED: Final = 16 * 1024
"""Bytes of the buffer that is used again. A frame that needs as many more has its own room."""
_AHEAD: Final = 16 * 1024 * 1024
"""Most bytes of room for what was announced and has not come."""

_SIZE: Final = struct.Struct(">i")
_REQUEST_HEAD: Final = struct.Struct(">hhih")
_CODE: Final = struct.Struct(">h")


class RequestHeader(NamedTuple):
    """What stands before the body of a request.

    Args:
        api_key: what is asked for.
        api_version: version of the body; not necessarily one that kgroup speaks.
        correlation_id: comes back with the response.
        client_id: how the client calls itself; None = it does not.
    """

    api_key: ApiKey
    api_version: int
    correlation_id: int
    client_id: str | None


def request_class(api_key: ApiKey) -> type[Request[Any]]:
    """Return the message class of an API's request."""
    words = api_key.name.split("_")
    found: type[Request[Any]] = getattr(messages, f"{''.join(w.title() for w in words)}Request")
    return found


# -- splitting -----------------------------------------------------------------------------


class FrameSplitter:
    """Cuts the bytes of a connection into frames; does no IO.

    Args:
        limit: bytes of the largest frame that is accepted.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._missing = _SIZE.size  # bytes of what comes next: the size of a frame, or a frame
        self._sized = False
        self._large: list[memoryview | bytearray] = []
        self._small = bytearray()  # what comes after all in `_large`
        self._reused: memoryview | None = None
        self._own: memoryview | None = None  # room of the frame; comes after `_small`
        self._own_filled = 0

    def feed(self, data: bytes | bytearray | memoryview) -> list[memoryview]:
        """Take the next bytes; return the frames they complete, each without its size.

        A frame that lies whole within `data` is a view of it, so `data` given as `bytes` is not
        copied; anything else is copied, and may be used again by the caller. A frame that comes
        in several pieces is joined once, when it is whole. Until then it costs little more than
        its bytes, however small the pieces.

        Raises:
            DecodeError: a size is negative or over the limit. The connection is of no more use,
                and each further call raises again.
        """
        view = memoryview(data if isinstance(data, bytes) else bytes(data))
        frames: list[memoryview] = []
        at, end = 0, len(view)
        while (stop := at + self._missing) <= end:
            whole = self._join(view[at:stop])
            at = stop
            if self._sized:
                frames.append(whole)
                self._missing = _SIZE.size
            else:
                self._missing = self._checked(whole)
            self._sized = not self._sized
        if at < end:
            self._missing -= end - at
            # A view costs some 200 bytes, and keeps all that was received with it. A small piece
            # is copied to the small ones before it, so that it costs no more than its bytes.
            if end - at < _LARGE or (end - at) * _LARGE_SHARE < end:
                self._small += view[at:]
            else:
                self._keep_large(view[at:])
        return frames

    def room(self) -> memoryview:
        """Return where the next bytes may be received; `filled` takes them.

        The rest of a large frame is received where it stays. All else goes through one small
        buffer. A peer that announces a frame and sends nothing of it costs `_AHEAD` bytes.
        """
        if self._own is None and self._sized and self._missing >= _REUSED:
            self._begin_own()
        if self._own is not None:
            return self._own[self._own_filled :]
        if self._reused is None:
            self._reused = memoryview(bytearray(_REUSED))
        return self._reused

    def filled(self, count: int) -> list[memoryview]:
        """Take the bytes that were received into `room()`; return as `feed` does.

        Args:
            count: how many, from the beginning of the room.

        Raises:
            DecodeError: as `feed`.
        """
        if self._own is None:
            return self.feed(self.room()[:count])
        self._own_filled += count
        self._missing -= count
        if self._own_filled < len(self._own):
            return []
        own, self._own = self._own, None
        if self._missing:
            self._keep_large(own)
            return []
        self._missing, self._sized = _SIZE.size, False
        return [self._join(own).toreadonly()]

    def _begin_own(self) -> None:
        head = b""
        if sum(map(len, self._large)) + len(self._small) <= _REUSED:
            head = b"".join((*self._large, self._small))
            self._large.clear()
            self._small.clear()
        # Else it is a frame larger than `_AHEAD`, which is joined once, when it is whole.
        self._own = memoryview(bytearray(len(head) + min(self._missing, _AHEAD)))
        self._own[: len(head)] = head
        self._own_filled = len(head)

    @property
    def in_frame(self) -> bool:
        """Whether the connection would be cut in the middle of a frame if it ended now."""
        return self._sized or self._missing < _SIZE.size

    def _keep_large(self, piece: memoryview) -> None:
        if self._small:
            self._large.append(self._small)
            self._small = bytearray()
        self._large.append(piece)

    def _join(self, last: memoryview) -> memoryview:
        if not (self._small or self._large):
            return last
        whole = b"".join((*self._large, self._small, last))
        self._large.clear()
        self._small.clear()
        return memoryview(whole)

    def _checked(self, head: memoryview) -> int:
        (size,) = _SIZE.unpack(head)
        if 0 <= size <= self._limit:
            return int(size)
        # Kept as it was, so that the next call finds the same size and raises again.
        self._small += head
        self._missing = 0
        reason = "is negative" if size < 0 else f"is over the limit of {self._limit}"
        raise DecodeError("frame", f"its size {size} {reason}{_hint(bytes(head))}")


def _hint(head: bytes) -> str:
    """Say what the first bytes look like when the peer does not speak Kafka's protocol."""
    if head == b"HTTP":
        return "; the bytes are HTTP: this is a web server or a proxy"
    if head[0] in (0x15, 0x16) and head[1] == 3:
        return "; the bytes are a TLS record: the listener expects TLS (security_protocol)"
    return ""


# -- requests ------------------------------------------------------------------------------


def encode_request(
    message: Request[Any], version: int, correlation_id: int, client_id: str | None
) -> bytes:
    """Return a whole frame, size included.

    Raises:
        UnsupportedVersionError: see `kgroup.wire.schema.encode`.
        LocalProtocolError: a value, or the client id, does not fit the wire.
    """
    body = encode(message, version)
    name = b"" if client_id is None else client_id.encode()
    tags = b"\0" if _is_flexible(type(message), version) else b""
    length = -1 if client_id is None else len(name)
    try:
        head = _REQUEST_HEAD.pack(message.api_key, version, correlation_id, length)
    except struct.error as error:
        raise LocalProtocolError(f"header of {type(message).__name__}: {error}") from error
    size = len(head) + len(name) + len(tags) + len(body)
    return b"".join((_SIZE.pack(size), head, name, tags, body))


def decode_request_header(frame: bytes | memoryview) -> tuple[RequestHeader, memoryview]:
    """Read the header of a request; return it and the body, whose version may be unknown.

    Raises:
        DecodeError: the header cannot be read, or no such API is known here.
    """
    view = memoryview(frame)
    try:
        key, version, correlation_id, length = _REQUEST_HEAD.unpack_from(view)
        api_key = ApiKey(key)
    except struct.error:
        raise DecodeError("request header", "the bytes end too early") from None
    except ValueError:
        raise DecodeError("request header", f"there is no API with key {key}") from None
    at = _REQUEST_HEAD.size
    client_id = None
    if length < -1 or at + length > len(view):
        raise DecodeError("request header", f"the client id has length {length}", position=at - 2)
    if length >= 0:
        try:
            client_id = str(view[at : at + length], "utf-8")
        except UnicodeDecodeError as error:
            raise DecodeError("request header", f"client id: {error}", position=at) from None
        at += length
    if _is_flexible(request_class(api_key), version):
        at = _skip_tags("request header", view, at)
    return RequestHeader(api_key, version, correlation_id, client_id), view[at:]


def decode_request(frame: bytes | memoryview) -> tuple[RequestHeader, Request[Any]]:
    """Read a whole request, as a server does; `frame` is without its size.

    Raises:
        DecodeError: the bytes are not a request.
        UnsupportedVersionError: kgroup does not speak this version of the API.
    """
    header, body = decode_request_header(frame)
    return header, decode(request_class(header.api_key), header.api_version, body)


# -- responses -----------------------------------------------------------------------------


def encode_response(message: Message, api_key: ApiKey, version: int, correlation_id: int) -> bytes:
    """Return a whole frame, size included, as a server sends it.

    An ApiVersions response with UNSUPPORTED_VERSION is to be sent as version 0.

    Raises:
        UnsupportedVersionError, LocalProtocolError: see `kgroup.wire.schema.encode`.
    """
    body = encode(message, version)
    tags = b"\0" if _has_tagged_header(api_key, type(message), version) else b""
    head = _SIZE.pack(correlation_id)
    return b"".join((_SIZE.pack(len(head) + len(tags) + len(body)), head, tags, body))


def response_correlation_id(frame: bytes | memoryview) -> int:
    """Return the correlation id of a response; `frame` is without its size.

    Raises:
        DecodeError: the frame is shorter than a header.
    """
    if len(frame) < _SIZE.size:
        raise DecodeError("response header", f"the frame has only {len(frame)} bytes")
    (found,) = _SIZE.unpack_from(frame)
    return int(found)


def decode_response(
    request: type[Request[R]], version: int, frame: bytes | memoryview
) -> tuple[int, R]:
    """Read a whole response; `frame` is without its size.

    Args:
        request: class of the request that is answered.
        version: version the request was sent in.
        frame: all bytes of the response.

    Returns:
        Its correlation id and the message. An ApiVersions response with UNSUPPORTED_VERSION is
        read as version 0, in which a broker that does not know `version` answers.

    Raises:
        DecodeError: the bytes are not such a response.
        UnsupportedVersionError: kgroup does not speak this version.
    """
    correlation_id = response_correlation_id(frame)
    view = memoryview(frame)
    at = _SIZE.size
    response: Any = request.RESPONSE
    if _has_tagged_header(request.api_key, response, version):
        at = _skip_tags("response header", view, at)
    body = view[at:]
    try:
        return correlation_id, decode(response, version, body)
    except DecodeError:
        if request.api_key is not ApiKey.API_VERSIONS or not _says_unsupported(body):
            raise
        return correlation_id, decode(response, 0, body)


def _says_unsupported(body: memoryview) -> bool:
    if len(body) < _CODE.size:
        return False
    return bool(_CODE.unpack_from(body)[0] == ErrorCode.UNSUPPORTED_VERSION)


def _has_tagged_header(api_key: ApiKey, response: type[Message], version: int) -> bool:
    # KIP-511: a client must be able to read the answer before it knows what the broker speaks.
    return api_key is not ApiKey.API_VERSIONS and _is_flexible(response, version)


def _is_flexible(cls: type[Message], version: int) -> bool:
    return cls.FLEXIBLE is not None and version >= cls.FLEXIBLE


def _skip_tags(what: str, view: memoryview, at: int) -> int:
    try:
        return read_tags(view, at)[1]
    except IndexError:
        raise DecodeError(what, "the bytes end too early", position=len(view)) from None
