"""SaslHandshake: choose a mechanism of authentication (KIP-43, 152)."""

from typing import Final

from kgroup.codes import ApiKey
from kgroup.wire.schema import Message, Request, message, wire
from kgroup.wire.vocabulary import Int16, String, array

__all__ = ["SaslHandshakeRequest", "SaslHandshakeResponse"]

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
