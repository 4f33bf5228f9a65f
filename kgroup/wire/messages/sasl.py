"""SaslHandshake and SaslAuthenticate (KIP-43, KIP-152).

Decides: the fields and the versions of these messages.
"""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Bytes, Int16, Int64, String, Text, array, nullable

__all__ = [
    "SaslAuthenticateRequest",
    "SaslAuthenticateResponse",
    "SaslHandshakeRequest",
    "SaslHandshakeResponse",
]

_VERSIONS: Final = range(2)


@message(versions=_VERSIONS)
class SaslHandshakeResponse(Message):
    """Whether the broker agrees; mechanisms lists all it has, also when it refuses."""

    error_code: int = wire(Int16, default=0)
    mechanisms: tuple[str, ...] = wire(array(String))


@message(versions=_VERSIONS, api=ApiKey.SASL_HANDSHAKE)
class SaslHandshakeRequest(Request[SaslHandshakeResponse]):
    """Propose a mechanism.

    With 1 the tokens travel in SaslAuthenticate (KIP-152), with 0 bare. Never flexible.
    """

    mechanism: str = wire(String)


_SASL_AUTHENTICATE_VERSIONS: Final = range(3)


@message(versions=_SASL_AUTHENTICATE_VERSIONS, flexible=2)
class SaslAuthenticateResponse(Message):
    """One token of the broker, or the error.

    1 session_lifetime_ms: authenticate again on the same connection before it ends, 0 = never
    (KIP-368); 2 flexible.
    """

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(nullable(Text), default=None)
    auth_bytes: bytes = wire(Bytes)
    session_lifetime_ms: int = wire(Int64, since=1, default=0, ignorable=True)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(error_code={self.error_code}, "
            f"session_lifetime_ms={self.session_lifetime_ms}, {_hidden(self.auth_bytes)})"
        )


@message(versions=_SASL_AUTHENTICATE_VERSIONS, flexible=2, api=ApiKey.SASL_AUTHENTICATE)
class SaslAuthenticateRequest(Request[SaslAuthenticateResponse]):
    """One token of the client; 2 flexible. It is a secret: no repr shows it."""

    auth_bytes: bytes = wire(Bytes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_hidden(self.auth_bytes)})"


def _hidden(token: bytes) -> str:
    return f"auth_bytes=<{len(token)} bytes>"
