"""A blocking connection that asks a broker one thing at a time.

Decides: the highest version both sides speak, and that every question ends by a deadline.
Never: retries, or keeps anything but its socket; who asks decides what an answer means.
"""

import socket
import time
from types import TracebackType
from typing import Self, TypeVar

from kgroup.codes import ApiKey
from kgroup.errors import ConnectionLostError, UnsupportedVersionError
from kgroup.wire.frames import FrameSplitter, decode_response, encode_request
from kgroup.wire.messages import ApiVersionsRequest, ApiVersionsResponse
from kgroup.wire.schema import Message, Request

__all__ = ["Probe"]

R = TypeVar("R", bound=Message)

_CLIENT_ID = "kgroup-probe"
# Every broker since 2.4 speaks it, and a client must not ask for more than a broker knows.
_API_VERSIONS_VERSION = 3


class Probe:
    """A connection to one broker; use it in a `with` block.

    Args:
        address: `(host, port)` of the broker.
        timeout: seconds that connecting, and each answer, may take.
    """

    def __init__(self, address: tuple[str, int], *, timeout: float = 5.0) -> None:
        self.address = address
        self.timeout = timeout
        self._socket: socket.socket | None = None
        self._splitter = FrameSplitter()
        self._asked = 0
        self._spoken: dict[int, range] = {}

    def __enter__(self) -> Self:
        try:
            self._socket = socket.create_connection(self.address, self.timeout)
        except OSError as error:
            raise self._lost(str(error)) from error
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def api_versions(self) -> ApiVersionsResponse:
        """Ask which APIs and versions the broker speaks."""
        request = ApiVersionsRequest(client_software_name="kgroup", client_software_version="0")
        answer = self._exchange(request, _API_VERSIONS_VERSION)
        self._spoken = {
            row.api_key: range(row.min_version, row.max_version + 1) for row in answer.api_keys
        }
        return answer

    def ask(self, request: Request[R], *, version: int | None = None) -> R:
        """Send a request and return the answer.

        Args:
            request: the message.
            version: to send it in, whatever the broker speaks; None = the highest of both sides.

        Raises:
            ConnectionLostError: the broker closed, or did not answer in time.
            UnsupportedVersionError: there is no common version.
        """
        if version is not None:
            return self._exchange(request, version)
        if not self._spoken:
            self.api_versions()
        theirs = self._spoken.get(request.api_key, range(0))
        common = [version for version in request.VERSIONS if version in theirs]
        if not common:
            name = ApiKey(request.api_key).name
            raise UnsupportedVersionError(name, f"the broker speaks {theirs}")
        return self._exchange(request, common[-1])

    def _exchange(self, request: Request[R], version: int) -> R:
        self._asked += 1
        deadline = time.monotonic() + self.timeout
        try:
            self._connected.sendall(encode_request(request, version, self._asked, _CLIENT_ID))
            frame = self._frame(deadline)
        except OSError as error:
            raise self._lost(str(error) or type(error).__name__) from error
        _, answer = decode_response(type(request), version, frame)
        return answer

    def _frame(self, deadline: float) -> memoryview:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"no answer within {self.timeout:g} s")
            self._connected.settimeout(left)
            data = self._connected.recv(65_536)
            if not data:
                raise ConnectionResetError("the broker closed the connection")
            for frame in self._splitter.feed(data):
                return frame

    @property
    def _connected(self) -> socket.socket:
        if self._socket is None:
            raise self._lost("not connected; use the probe in a `with` block")
        return self._socket

    def _lost(self, reason: str) -> ConnectionLostError:
        host, port = self.address
        return ConnectionLostError(f"{host}:{port}", reason)
