"""How a connection is secured: the settings of TLS and SASL.

Decides: the words (Kafka's own) and which of them mean TLS and which SASL.
Never: reads a file, or shows a password or a token.
KIPs: 12 (TLS and SASL), 84 (SCRAM), 255 (OAUTHBEARER).
"""

import base64
import hmac
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from enum import Enum
from typing import Final, TypeAlias

from kgroup.values import dataclass

_SHORTEST = 3
"""Shorter ones are words of any sentence: taking those out would hide the sentence."""


class Secret:
    """Holds one secret text.

    Args:
        text: the secret, at least one character.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text itself; only where it is written to a socket or to a proof."""
        return self._text

    def removed_from(self, text: str) -> str:
        """Return somebody else's text without the secret, as it is and in base64."""
        if len(self._text) < _SHORTEST:
            return text
        encoded = base64.b64encode(self._text.encode()).decode()
        for form in (self._text, encoded):
            text = text.replace(form, "***")
        return text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __repr__(self) -> str:
        return "<secret>"


# -- security --------------------------------------------------------------------------------------


TokenSource: TypeAlias = Callable[[], Awaitable[str] | str]
"""Returns a bearer token that is valid now; asked once for each authentication."""

ExtensionSource: TypeAlias = Callable[[], Mapping[str, str]]
"""Returns the extensions of a token; asked right after it."""

EXTENSIONS_EXPECTED: Final = (
    "name -> text: names of letters, not 'auth'; texts of printable ASCII (KIP-342)"
)

_EXTENSION_NAME: Final = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE: Final = re.compile(r"[\x20-\x7e\t\r\n]+")


class SecurityProtocol(Enum):
    """What a listener of a broker speaks."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def has_tls(self) -> bool:
        """Whether its bytes are encrypted."""
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def has_sasl(self) -> bool:
        """Whether a client proves its identity by SASL."""
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class SaslMechanism(Enum):
    """How a client proves its identity."""

    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"
    OAUTHBEARER = "OAUTHBEARER"

    @property
    def has_password(self) -> bool:
        """Whether it wants a user name and a password."""
        return self is not SaslMechanism.OAUTHBEARER


@dataclass(frozen=True, slots=True)
class Sasl:
    """The identity of this client, and how it is proved.

    Args:
        mechanism: which of the rest counts.
        username: of PLAIN and SCRAM.
        password: of PLAIN and SCRAM.
        token: of OAUTHBEARER.
        extensions: of OAUTHBEARER (KIP-342), name -> value, or what returns that.
    """

    mechanism: SaslMechanism
    username: str = field(default="", repr=False)
    password: Secret | None = field(default=None, repr=False)
    token: TokenSource | None = field(default=None, repr=False)
    extensions: Mapping[str, str] | ExtensionSource = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Security:
    """What is done to a connection before anything else is said on it.

    Args:
        tls: the context of TLS, None for bytes in the clear.
        sasl: None for nobody in particular.
    """

    tls: ssl.SSLContext | None = field(default=None, repr=False)
    sasl: Sasl | None = None


def are_extensions(extensions: object) -> bool:
    """Tell whether something can be the extensions of a token: see `EXTENSIONS_EXPECTED`."""
    return isinstance(extensions, Mapping) and all(map(_is_extension, extensions.items()))


def _is_extension(pair: tuple[object, object]) -> bool:
    name, text = pair
    if not isinstance(name, str) or not isinstance(text, str) or name == "auth":
        return False
    return bool(_EXTENSION_NAME.fullmatch(name) and _EXTENSION_VALUE.fullmatch(text))
