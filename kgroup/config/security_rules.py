"""What each option of TLS and SASL may be.

Decides: how a value as typed becomes the value kgroup works with; a password becomes a `Secret`
before anything can show it.
Never: looks at two options at once (`kgroup.config.security` does), reads a file, or puts a
refused password or token into the error.
"""

import ssl
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

from kgroup.errors import ConfigError
from kgroup.net.secret import Secret
from kgroup.net.security import (
    EXTENSIONS_EXPECTED,
    SaslMechanism,
    SecurityProtocol,
    are_extensions,
)

__all__ = ["SECURITY_RULES"]

E = TypeVar("E", bound=Enum)

_MAX_SECRET: Final = 2**15 - 1


def _hidden(value: object) -> str:
    """Stand for a value that must not be shown."""
    return f"<{type(value).__name__}, not shown>"


def _word(kind: type[E]) -> Callable[[str, object], E | None]:
    words = {str(member.value): member for member in kind}

    def rule(name: str, value: object) -> E | None:
        if isinstance(value, kind):
            return value
        if isinstance(value, str) and value in words:
            return words[value]
        near = get_close_matches(str(value).upper(), words, n=1)
        bound = " or ".join(repr(word) for word in words)
        raise ConfigError(name, value, bound, nearest=near[0] if near else None)

    return rule


def _mechanism(name: str, value: object) -> SaslMechanism | None:
    return None if value is None else _word(SaslMechanism)(name, value)


def _context(name: str, value: object) -> ssl.SSLContext | None:
    if value is None:
        return None
    # A context for servers could be made to work, and would verify nobody.
    if isinstance(value, ssl.SSLContext) and value.protocol is not ssl.PROTOCOL_TLS_SERVER:
        return value
    raise ConfigError(name, value, "an ssl.SSLContext for clients, or None")


def _path(name: str, value: object) -> str | None:
    if value is None or (isinstance(value, str | Path) and str(value)):
        return None if value is None else str(value)
    raise ConfigError(name, value, "the path of a PEM file, or None")


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(name, value, "True or False")
    return value


def _username(name: str, value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not _sound(value):
        raise ConfigError(name, value, _TEXT)
    return value


def _secret(name: str, value: object) -> Secret | None:
    if value is None or isinstance(value, Secret):
        return value
    if not isinstance(value, str) or not _sound(value):
        raise ConfigError(name, _hidden(value), _TEXT)
    return Secret(value)


def _sound(text: str) -> bool:
    """Tell whether a text can be told: NUL separates the parts of PLAIN."""
    try:
        return 1 <= len(text.encode()) <= _MAX_SECRET and "\0" not in text
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def _token_source(name: str, value: object) -> object:
    if value is None or callable(value):
        return value
    expected = "a function without arguments that returns a token or awaits one, or None"
    raise ConfigError(name, _hidden(value), expected)


def _extensions(name: str, value: object) -> object:
    if value is None or callable(value):
        return value
    if isinstance(value, Mapping) and are_extensions(value):
        return dict(value)
    raise ConfigError(name, value, f"{EXTENSIONS_EXPECTED}; or a function that returns it")


_TEXT: Final = f"a string of 1 to {_MAX_SECRET} bytes without NUL, or None"

SECURITY_RULES: Final[Mapping[str, Callable[[str, object], object]]] = MappingProxyType(
    {
        "security_protocol": _word(SecurityProtocol),
        "ssl_context": _context,
        "ssl_cafile": _path,
        "ssl_certfile": _path,
        "ssl_keyfile": _path,
        "ssl_password": _secret,
        "ssl_check_hostname": _flag,
        "sasl_mechanism": _mechanism,
        "sasl_username": _username,
        "sasl_password": _secret,
        "sasl_oauth_token": _token_source,
        "sasl_oauth_extensions": _extensions,
    }
)
"""Option name -> its rule."""
