"""The options of TLS and SASL, seen together.

Decides: which of them need each other, which contradict each other, which are doubtful, and the
one value the network side is handed.
Never: puts a password or a token into an error. Files are read by `security_of`, not before.
KIPs: 12, 43, 84, 255, 342.
"""

import ssl
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import Final, Protocol, TypeVar

from kgroup.errors import ConfigError
from kgroup.net.security import (
    EXTENSIONS_EXPECTED,
    ExtensionSource,
    Sasl,
    SaslMechanism,
    Secret,
    Security,
    SecurityProtocol,
    TokenSource,
    are_extensions,
)
from kgroup.net.tls import TlsFiles, tls_context

_FILES: Final = ("ssl_cafile", "ssl_certfile", "ssl_keyfile", "ssl_password")
_TLS: Final = ("ssl_context", *_FILES)
_SASL: Final = (
    "sasl_mechanism", "sasl_username", "sasl_password", "sasl_oauth_token",
    "sasl_oauth_extensions",
)  # fmt: skip
_BY_PASSWORD: Final = ("sasl_username", "sasl_password")
_BY_TOKEN: Final = ("sasl_oauth_token", "sasl_oauth_extensions")


class SecurityOptions(Protocol):
    """The options this module looks at, as `kgroup.config.rules` has made them."""

    @property
    def security_protocol(self) -> object: ...
    @property
    def ssl_context(self) -> ssl.SSLContext | None: ...
    @property
    def ssl_cafile(self) -> object: ...
    @property
    def ssl_certfile(self) -> object: ...
    @property
    def ssl_keyfile(self) -> object: ...
    @property
    def ssl_password(self) -> object: ...
    @property
    def ssl_check_hostname(self) -> bool: ...
    @property
    def sasl_mechanism(self) -> object: ...

    """Take the name of a SASL mechanism, or None."""

    @property
    def sasl_username(self) -> str | None: ...
    @property
    def sasl_password(self) -> object: ...
    @property
    def sasl_oauth_token(self) -> TokenSource | None: ...
    @property
    def sasl_oauth_extensions(self) -> Mapping[str, str] | ExtensionSource | None: ...


def check_security(options: SecurityOptions) -> None:
    """Refuse options that contradict each other, and what is missing.

    Raises:
        ConfigError: with the option to change.
    """
    protocol = _protocol(options)
    if not protocol.has_tls:
        wanted = f"security_protocol 'SSL' or 'SASL_SSL' beside it, not {protocol.value!r}"
        _refuse_any(options, _TLS, wanted)
        if not options.ssl_check_hostname:
            raise ConfigError("ssl_check_hostname", value=False, expected=wanted)
    if not protocol.has_sasl:
        wanted = (
            f"security_protocol 'SASL_SSL' or 'SASL_PLAINTEXT' beside it, not {protocol.value!r}"
        )
        _refuse_any(options, _SASL, wanted)
    _check_tls(options)
    if protocol.has_sasl:
        _check_sasl(options)


def _check_tls(options: SecurityOptions) -> None:
    if options.ssl_context is not None:
        _refuse_any(options, _FILES, "either files or an ssl_context of your own, not both")
        if not options.ssl_check_hostname:
            expected = "ssl_context.check_hostname = False instead: the ssl_context is your own"
            raise ConfigError("ssl_check_hostname", value=False, expected=expected)
    if options.ssl_certfile is None:
        _refuse_any(options, ("ssl_keyfile", "ssl_password"), "an ssl_certfile beside it")


def _check_sasl(options: SecurityOptions) -> None:
    mechanism = options.sasl_mechanism
    if not isinstance(mechanism, SaslMechanism):
        known = ", ".join(repr(each.value) for each in SaslMechanism)
        raise ConfigError(
            "sasl_mechanism", mechanism, f"one of {known}, for security_protocol SASL"
        )
    wanted = f"nothing: sasl_mechanism {mechanism.value!r} does not use it"
    if mechanism.has_password:
        _refuse_any(options, _BY_TOKEN, wanted)
        for name in _BY_PASSWORD:
            if getattr(options, name) is None:
                raise ConfigError(name, None, f"a value, for sasl_mechanism {mechanism.value!r}")
        return
    _refuse_any(options, _BY_PASSWORD, wanted)
    if options.sasl_oauth_token is None:
        expected = "a function that returns a token, for sasl_mechanism 'OAUTHBEARER'"
        raise ConfigError("sasl_oauth_token", None, expected)


def doubts_about_security(options: SecurityOptions) -> tuple[str, ...]:
    """Return what is allowed and probably not meant."""
    protocol, mechanism = _protocol(options), options.sasl_mechanism
    found: list[str] = []
    if protocol is SecurityProtocol.SASL_PLAINTEXT and isinstance(mechanism, SaslMechanism):
        found += _sent_in_the_clear(mechanism)
    if protocol.has_tls and not options.ssl_check_hostname:
        found.append(
            "ssl_check_hostname is False: anybody with a certificate of a trusted authority can "
            "stand for a broker"
        )
    context = options.ssl_context
    if context is not None and context.verify_mode is ssl.CERT_NONE:
        found.append("ssl_context verifies no certificate: anybody can stand for a broker")
    elif context is not None and not context.check_hostname:
        found.append(
            "ssl_context compares no names: anybody with a certificate of a trusted authority "
            "can stand for a broker"
        )
    return tuple(found)


def _sent_in_the_clear(mechanism: SaslMechanism) -> list[str]:
    what = {SaslMechanism.PLAIN: "password", SaslMechanism.OAUTHBEARER: "token"}.get(mechanism)
    if what is None:
        return []
    way = f"sasl_mechanism {mechanism.value} over security_protocol SASL_PLAINTEXT"
    return [f"{way} sends the {what} in the clear: anybody on the way to a broker can read it"]


def security_of(options: SecurityOptions) -> Security:
    """Return the settings of the network side; reads the files.

    Raises:
        ConfigError: a file cannot be used.
    """
    protocol = _protocol(options)
    context = options.ssl_context
    if protocol.has_tls and context is None:
        context = tls_context(
            TlsFiles(
                cafile=_path(options.ssl_cafile),
                certfile=_path(options.ssl_certfile),
                keyfile=_path(options.ssl_keyfile),
                password=_secret(options.ssl_password),
                check_hostname=options.ssl_check_hostname,
            )
        )
    mechanism = options.sasl_mechanism
    if not isinstance(mechanism, SaslMechanism):
        return Security(tls=context)
    sasl = Sasl(
        mechanism=mechanism,
        username=options.sasl_username or "",
        password=_secret(options.sasl_password),
        token=options.sasl_oauth_token,
        extensions=options.sasl_oauth_extensions or {},
    )
    return Security(tls=context, sasl=sasl)


def _protocol(options: SecurityOptions) -> SecurityProtocol:
    found = options.security_protocol
    assert isinstance(found, SecurityProtocol)  # `rules` saw to it
    return found


def _refuse_any(options: SecurityOptions, names: tuple[str, ...], expected: str) -> None:
    for name in names:
        value = getattr(options, name)
        if value is not None:
            raise ConfigError(name, value, expected)


def _path(value: object) -> str | None:
    return None if value is None else str(value)


def _secret(value: object) -> Secret | None:
    return value if isinstance(value, Secret) else None


# -- security rules --------------------------------------------------------------------------------
#
# What each option of TLS and SASL may be.
#
# Decides: how a value as typed becomes the value kgroup works with; a password becomes a `Secret`
# before anything can show it.
# Never: looks at two options at once (`kgroup.config.security` does), reads a file, or puts a
# refused password or token into the error.


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


def sasl_mechanism(name: str, value: object) -> SaslMechanism | None:
    """Take the name of a SASL mechanism, or None."""
    return None if value is None else _word(SaslMechanism)(name, value)


def context(name: str, value: object) -> ssl.SSLContext | None:
    """Take a TLS context for clients, or None."""
    if value is None:
        return None
    # A context for servers could be made to work, and would verify nobody.
    if isinstance(value, ssl.SSLContext) and value.protocol is not ssl.PROTOCOL_TLS_SERVER:
        return value
    raise ConfigError(name, value, "an ssl.SSLContext for clients, or None")


def pem_file(name: str, value: object) -> str | None:
    """Take the path of a PEM file, or None."""
    if value is None or (isinstance(value, str | Path) and str(value)):
        return None if value is None else str(value)
    raise ConfigError(name, value, "the path of a PEM file, or None")


def sasl_name(name: str, value: object) -> str | None:
    """Take a user name, or None."""
    if value is None:
        return None
    if not isinstance(value, str) or not _sound(value):
        raise ConfigError(name, value, _TEXT)
    return value


def secret(name: str, value: object) -> Secret | None:
    """Take a password, or None."""
    if value is None or isinstance(value, Secret):
        return value
    if not isinstance(value, str) or not _sound(value):
        raise ConfigError(name, _hidden(value), _TEXT)
    return Secret(value)


def _sound(text: str) -> bool:
    """Tell whether a text can be sent: NUL separates the parts of PLAIN."""
    try:
        return 1 <= len(text.encode()) <= _MAX_SECRET and "\0" not in text
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def token_source(name: str, value: object) -> object:
    """Take a function that returns tokens, or None."""
    if value is None or callable(value):
        return value
    expected = "a function without arguments that returns a token or awaits one, or None"
    raise ConfigError(name, _hidden(value), expected)


def token_extensions(name: str, value: object) -> object:
    """Take extensions of a token, or a function that returns them."""
    if value is None or callable(value):
        return value
    if isinstance(value, Mapping) and are_extensions(value):
        return dict(value)
    raise ConfigError(name, value, f"{EXTENSIONS_EXPECTED}; or a function that returns it")


_TEXT: Final = f"a string of 1 to {_MAX_SECRET} bytes without NUL, or None"

SECURITY_PROTOCOL: Final = _word(SecurityProtocol)
