"""The broker's side of SASL, written from the RFCs, for a scripted broker."""

import base64
import hashlib
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from kgroup.codes import ErrorCode
from kgroup.net.security import Sasl, SaslMechanism, Secret, Security
from kgroup.wire.messages import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from tests.search.scripted.broker import ScriptedBroker

REFUSED = ErrorCode.SASL_AUTHENTICATION_FAILED
SALT = b"salt of the earth"
PASSWORD = "open sesame"
SCRAM = (SaslMechanism.SCRAM_SHA_256, SaslMechanism.SCRAM_SHA_512)
WITH_PASSWORD = (SaslMechanism.PLAIN, *SCRAM)


def by_password(mechanism: SaslMechanism, password: str = PASSWORD) -> Security:
    return Security(sasl=Sasl(mechanism, "ali=ba,ba", Secret(password)))


def by_token(source: Callable[[], Awaitable[str] | str], **extensions: str) -> Security:
    return Security(sasl=Sasl(SaslMechanism.OAUTHBEARER, token=source, extensions=extensions))


def asked(broker: ScriptedBroker) -> list[type]:
    return [type(entry.request) for entry in broker.seen]


@dataclass
class SaslServer:
    """Answers SASL; every name is known by one password, every token but "denied" is good.

    Args:
        password: of everybody.
        iterations: of SCRAM.
        lifetime_ms: of a session, 0 for ever.
        wrong_signature: it cannot prove that it knows the password.
    """

    password: str = PASSWORD
    iterations: int = 4096
    lifetime_ms: int = 0
    wrong_signature: bool = False
    messages: list[bytes] = field(default_factory=list)
    _mechanism: str = ""
    _bare: str = ""
    _first: str = ""

    def serve(self, broker: ScriptedBroker) -> None:
        """Answer for a broker."""
        broker.on(SaslHandshakeRequest, self.handshake)
        broker.on(SaslAuthenticateRequest, self.authenticate)

    def handshake(self, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
        """Agree to any mechanism."""
        self._mechanism, self._first = request.mechanism, ""
        return SaslHandshakeResponse(mechanisms=(request.mechanism,))

    def authenticate(self, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
        """Answer one token."""
        message = bytes(request.auth_bytes)
        self.messages.append(message)
        if self._mechanism == "PLAIN":
            given = message.split(b"\0")[2].decode()
            return self._yes(b"") if given == self.password else self._no(f"wrong: {given!r}")
        if self._mechanism == "OAUTHBEARER":
            return self._bearer(message)
        return self._scram_final(message) if self._first else self._scram_first(message)

    def _bearer(self, message: bytes) -> SaslAuthenticateResponse:
        if message == b"\x01":
            return self._no('{"status":"invalid_token"}')
        if b"Bearer denied\x01" in message:
            return self._yes(b'{"status":"invalid_token"}')
        return self._yes(b"")

    def _scram_first(self, message: bytes) -> SaslAuthenticateResponse:
        self._bare = message.decode().removeprefix("n,,")
        nonce = self._bare.partition("r=")[2]
        salt = base64.b64encode(SALT).decode()
        self._first = f"r={nonce}-and-more,s={salt},i={self.iterations}"
        return self._yes(self._first.encode())

    def _scram_final(self, message: bytes) -> SaslAuthenticateResponse:
        bare, _, proof = message.decode().partition(",p=")
        name = "sha256" if self._mechanism.endswith("256") else "sha512"
        salted = hashlib.pbkdf2_hmac(name, self.password.encode(), SALT, self.iterations)
        signed = f"{self._bare},{self._first},{bare}".encode()
        stored = hashlib.new(name, hmac.digest(salted, b"Client Key", name)).digest()
        shown = hmac.digest(stored, signed, name)
        key = bytes(a ^ b for a, b in zip(base64.b64decode(proof), shown, strict=True))
        if hashlib.new(name, key).digest() != stored:
            return self._no("invalid credentials")
        signature = hmac.digest(hmac.digest(salted, b"Server Key", name), signed, name)
        if self.wrong_signature:
            signature = bytes(len(signature))
        return self._yes(b"v=" + base64.b64encode(signature))

    def _yes(self, token: bytes) -> SaslAuthenticateResponse:
        return SaslAuthenticateResponse(auth_bytes=token, session_lifetime_ms=self.lifetime_ms)

    def _no(self, reason: str) -> SaslAuthenticateResponse:
        return SaslAuthenticateResponse(
            error_code=REFUSED, error_message=f"Authentication failed: {reason}", auth_bytes=b""
        )
