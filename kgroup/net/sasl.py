"""SASL: proves our identity to a broker, before anything else is asked on a connection.

Decides: the two questions of the handshake, what each mechanism says, and which refusals are for
good: those about our identity. A callback that fails, or a broker that is busy, is asked again.
Never: puts a password, a token or a proof into an error, or logs anything.
KIPs: 12, 43 (mechanisms), 84 (SCRAM), 152 (SaslAuthenticate), 255 and 342 (OAUTHBEARER and its
extensions), 368 (the lifetime of a session).
"""

import inspect
import re
from collections.abc import Mapping
from typing import Final, Protocol, TypeVar

from anyio import to_thread

from kgroup.codes import ErrorCode, error_name
from kgroup.errors import AuthenticationError, ConnectionLostError, DecodeError, KGroupError
from kgroup.net.ports import Dice
from kgroup.net.sasl_scram import (
    ClientFinal,
    ScramHash,
    check_server_final,
    client_final,
    client_first,
    read_server_first,
)
from kgroup.net.security import (
    EXTENSIONS_EXPECTED,
    ExtensionSource,
    Sasl,
    SaslMechanism,
    Secret,
    TokenSource,
    are_extensions,
)
from kgroup.wire.messages import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kgroup.wire.schema import Message, Request

R = TypeVar("R", bound=Message)

_NONCE_BITS: Final = 192
_QUICK_ITERATIONS: Final = 20_000
"""Up to here a password is stretched in less time than a thread is worth."""
_MAX_TURNS: Final = 8
"""No mechanism has more; a broker that goes on and on is not believed."""
_MAX_TOKEN: Final = 512 * 1024
"""Brokers read no more (sasl.server.max.receive.size)."""
_MAX_WORDS: Final = 300
_TOKEN: Final = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
"""RFC 6750: whatever else is in it would end up in the message around it."""
_FOR_GOOD: Final = frozenset(
    {
        ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        ErrorCode.ILLEGAL_SASL_STATE,
        ErrorCode.SASL_AUTHENTICATION_FAILED,
        ErrorCode.INVALID_REQUEST,
    }
)


class Ask(Protocol):
    """Sends a request on the connection that is being authenticated, and returns the answer."""

    async def __call__(self, request: Request[R], /) -> R: ...


class Conversation(Protocol):
    """One authentication by one mechanism."""

    @property
    def secret(self) -> Secret:
        """What no text may hold."""
        ...

    def begin(self) -> bytes:
        """Return the first message."""
        ...

    async def go_on(self, challenge: bytes) -> bytes | None:
        """Return the next message, None when all is said.

        Raises:
            DecodeError: the broker's message cannot be read or must not be believed.
        """
        ...


class Login:
    """Authenticates one connection, as often as its sessions end.

    Args:
        sasl: the identity of this client.
        address: of the broker, for errors.
        dice: nonces.
    """

    def __init__(self, sasl: Sasl, address: str, dice: Dice) -> None:
        self._sasl = sasl
        self._address = address
        self._dice = dice

    @property
    def mechanism(self) -> str:
        """Its name."""
        return self._sasl.mechanism.value

    async def prepare(self) -> Conversation:
        """Return a conversation to have; asks for a token when the mechanism needs one.

        Raises:
            ConnectionLostError: there is no token now.
            AuthenticationError: what the callback returned can be no token.
        """
        sasl = self._sasl
        if sasl.mechanism is SaslMechanism.OAUTHBEARER:
            assert sasl.token is not None
            token = await self._token(sasl.token)
            return _Bearer(token, self._extensions(sasl.extensions))
        assert sasl.password is not None
        if sasl.mechanism is SaslMechanism.PLAIN:
            return _Plain(sasl.username, sasl.password)
        hashing = ScramHash("sha256" if sasl.mechanism is SaslMechanism.SCRAM_SHA_256 else "sha512")
        nonce = f"{self._dice.getrandbits(_NONCE_BITS):048x}"
        return _Scram(sasl.username, sasl.password, hashing, nonce)

    async def run(self, conversation: Conversation, ask: Ask) -> float | None:
        """Authenticate; return the seconds until it must be done again, None for never.

        Args:
            conversation: from `prepare`, not used before.
            ask: sends on this connection, with nothing else in between; the caller bounds the
                time.

        Raises:
            AuthenticationError: refused for good, or the broker is not to be believed.
            ConnectionLostError: refused for the moment.
        """
        self._check_handshake(await ask(SaslHandshakeRequest(mechanism=self.mechanism)))
        message: bytes | None = conversation.begin()
        lifetime = 0
        for _ in range(_MAX_TURNS):
            if message is None:
                return lifetime / 1000 if lifetime > 0 else None
            answer = await ask(SaslAuthenticateRequest(auth_bytes=message))
            self._check_answer(answer, conversation.secret)
            lifetime = answer.session_lifetime_ms
            try:
                message = await conversation.go_on(bytes(answer.auth_bytes))
            except DecodeError as error:
                raise self._refused(error.reason) from error
        raise self._refused("the broker goes on asking")

    async def _token(self, source: TokenSource) -> Secret:
        try:
            found = source()
            token = await found if inspect.isawaitable(found) else found
        except KGroupError:
            raise
        except Exception as error:
            # The text of somebody else's error may hold anything; it stays the cause.
            reason = f"{self.mechanism}: sasl_oauth_token raised {type(error).__name__}"
            raise ConnectionLostError(self._address, reason) from error
        given: object = token  # whatever its annotation says
        if not isinstance(given, str) or len(given) > _MAX_TOKEN or not _TOKEN.fullmatch(given):
            kind = f"{len(given)} characters" if isinstance(given, str) else type(given).__name__
            wanted = f"a token (RFC 6750) of 1 to {_MAX_TOKEN} characters"
            raise self._refused(f"sasl_oauth_token returned {kind}, expected {wanted}")
        return Secret(token)

    def _extensions(self, source: Mapping[str, str] | ExtensionSource) -> Mapping[str, str]:
        if isinstance(source, Mapping):
            return source
        try:
            given = source()
        except Exception as error:
            # As for the token.
            reason = f"{self.mechanism}: sasl_oauth_extensions raised {type(error).__name__}"
            raise ConnectionLostError(self._address, reason) from error
        if not are_extensions(given):
            kind = type(given).__name__
            expected = f"a {kind}, expected {EXTENSIONS_EXPECTED}"
            raise self._refused(f"sasl_oauth_extensions returned {expected}")
        return given

    def _check_handshake(self, answer: SaslHandshakeResponse) -> None:
        match answer.error_code:
            case ErrorCode.NONE:
                return
            case ErrorCode.UNSUPPORTED_SASL_MECHANISM:
                offered = _words(", ".join(answer.mechanisms)) or "none at all"
                raise self._refused(f"the broker does not offer it; it offers {offered}")
            case ErrorCode.ILLEGAL_SASL_STATE:
                hint = "is this the port of a SASL listener? See security_protocol"
                raise self._refused(f"the broker expects no SASL here; {hint}")
            case code:
                raise self._error(code, "")

    def _check_answer(self, answer: SaslAuthenticateResponse, secret: Secret) -> None:
        if answer.error_code != ErrorCode.NONE:
            message = secret.removed_from(answer.error_message or "")
            raise self._error(answer.error_code, _words(message))

    def _error(self, code: int, message: str) -> KGroupError:
        reason = f"{error_name(code)} ({code})" + (f": {message}" if message else "")
        if code in _FOR_GOOD:
            return self._refused(reason)
        return ConnectionLostError(self._address, f"{self.mechanism}: {reason}")

    def _refused(self, reason: str) -> AuthenticationError:
        return AuthenticationError(self._address, self.mechanism, reason)


def _words(text: str) -> str:
    """Return a broker's text fit for a line of a log."""
    return "".join(c if c.isprintable() else " " for c in text[:_MAX_WORDS]).strip()


class _Plain:
    """PLAIN (RFC 4616): the password itself, so only over TLS."""

    def __init__(self, name: str, password: Secret) -> None:
        self._name = name
        self.secret = password

    def begin(self) -> bytes:
        return f"\0{self._name}\0{self.secret.reveal()}".encode()

    async def go_on(self, challenge: bytes) -> bytes | None:
        del challenge  # there is nothing a broker could add to a yes
        return None


class _Scram:
    """SCRAM; the messages are made in `sasl_scram`."""

    def __init__(self, name: str, password: Secret, hashing: ScramHash, nonce: str) -> None:
        self.secret = password
        self._hashing = hashing
        self._first = client_first(name, nonce)
        self._final: ClientFinal | None = None

    def begin(self) -> bytes:
        return self._first.message

    async def go_on(self, challenge: bytes) -> bytes | None:
        if self._final is not None:
            check_server_final(self._final, challenge)
            return None
        answer = read_server_first(self._first, challenge)
        salted = await self._stretched(answer.salt, answer.iterations)
        self._final = client_final(self._first, answer, salted, self._hashing)
        return self._final.message

    async def _stretched(self, salt: bytes, iterations: int) -> bytes:
        if iterations <= _QUICK_ITERATIONS:
            return self._hashing.stretched(self.secret, salt, iterations)
        return await to_thread.run_sync(self._hashing.stretched, self.secret, salt, iterations)


class _Bearer:
    """OAUTHBEARER (RFC 7628): a token that somebody else signed."""

    def __init__(self, token: Secret, extensions: Mapping[str, str]) -> None:
        self.secret = token
        self._extensions = extensions

    def begin(self) -> bytes:
        pairs = {"auth": f"Bearer {self.secret.reveal()}", **self._extensions}
        said = "".join(f"{name}={value}\x01" for name, value in pairs.items())
        return f"n,,\x01{said}\x01".encode()

    async def go_on(self, challenge: bytes) -> bytes | None:
        # Anything but nothing is the broker's reason to refuse; it must be answered, and only
        # then comes the error.
        return b"\x01" if challenge else None
