"""Where connections say what they do: one small port, so that journal and metrics can hook on.

Decides: what is written: a connection opened and closed, a request about to be written, its answer;
of an authentication only that it took place.
Never: waits, fails or changes what is traced; a `Trace` that raises is a bug and ends the cluster.
"""

from typing import Any, Protocol, TypeVar

from kgroup.codes import ApiKey
from kgroup.net.settings import Endpoint, Lane
from kgroup.values import dataclass
from kgroup.wire.messages import SaslAuthenticateRequest, SaslAuthenticateResponse
from kgroup.wire.schema import Message, Request

M = TypeVar("M", bound=Message)


def without_tokens(message: M) -> M:
    """Return a message as it may be written: passwords, tokens and proofs are taken out of it."""
    shown: Any = message
    match message:
        case SaslAuthenticateRequest():
            shown = SaslAuthenticateRequest(auth_bytes=b"")
        case SaslAuthenticateResponse():
            shown = SaslAuthenticateResponse(
                error_code=message.error_code,
                auth_bytes=b"",
                session_lifetime_ms=message.session_lifetime_ms,
            )
        case _:
            pass
    return shown  # type: ignore[no-any-return]  # of the class that was given


@dataclass(frozen=True, slots=True)
class ConnectionId:
    """One connection.

    Args:
        serial: number of the connection, rising within one cluster object, from 1; falling from -1
            for connections of another thread.
        endpoint: the broker it goes to.
        lane: what it is for.
    """

    serial: int
    endpoint: Endpoint
    lane: Lane


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request on one connection.

    Args:
        connection: where it is written.
        correlation_id: its number there.
        version: the version it is written in, and its answer read.
        request: the message as its sender gave it, but see `without_tokens`.
    """

    connection: ConnectionId
    correlation_id: int
    version: int
    request: Request[Any]

    @property
    def api(self) -> ApiKey:
        """What the request asks for."""
        return self.request.api_key


class Trace(Protocol):
    """Listens to connections; called between awaits, in the thread of the connection's loop."""

    def on_open(self, connection: ConnectionId) -> None:
        """Hear that the handshake is done."""
        ...

    def on_close(self, connection: ConnectionId, reason: str) -> None:
        """Hear that no answer will come any more; also when it never opened."""
        ...

    def on_request(self, exchange: Exchange) -> None:
        """Hear that a request is about to be written."""
        ...

    def on_answer(self, exchange: Exchange, answer: Message) -> None:
        """Hear a whole answer, also one whose caller no longer waits."""
        ...

    def on_rejected(self, entry: str) -> None:
        """Hear that an entry of a metadata answer was not believed, and why."""
        ...


class NoTrace:
    """Hears nothing."""

    __slots__ = ()

    def on_open(self, connection: ConnectionId) -> None:
        """Ignore it."""

    def on_close(self, connection: ConnectionId, reason: str) -> None:
        """Ignore it."""

    def on_request(self, exchange: Exchange) -> None:
        """Ignore it."""

    def on_answer(self, exchange: Exchange, answer: Message) -> None:
        """Ignore it."""

    def on_rejected(self, entry: str) -> None:
        """Ignore it."""
