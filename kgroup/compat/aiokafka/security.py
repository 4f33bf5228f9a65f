"""Security keywords of aiokafka, as native options.

Decides: which of them count: those that the security protocol uses. The others have no meaning in
aiokafka either; what was given and has none is logged.
Never: puts a password or a token into an error or a log. Speaks Kerberos.
KIPs: 12, 43, 84, 255, 342.
"""

import logging
import ssl
from collections.abc import Mapping
from typing import Any, Final

from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import UnsupportedSaslMechanismError

from kgroup.errors import UnsupportedError

__all__ = ["KEYWORDS", "options_of", "refusal"]

log = logging.getLogger(__name__)

KEYWORDS: Final = (
    "security_protocol", "ssl_context", "sasl_mechanism", "sasl_plain_username",
    "sasl_plain_password", "sasl_kerberos_service_name", "sasl_kerberos_domain_name",
    "sasl_oauth_token_provider",
)  # fmt: skip

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS: Final = ("PLAIN", "GSSAPI", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


def options_of(given: Mapping[str, Any]) -> dict[str, object]:
    """Return the native options.

    Args:
        given: every one of `KEYWORDS`.

    Raises:
        ValueError: as aiokafka: a word is not known, or something is missing.
        UnsupportedSaslMechanismError: the mechanism is GSSAPI.
    """
    protocol = given["security_protocol"]
    if protocol not in _PROTOCOLS:
        raise ValueError(
            f"`security_protocol` should be SSL or PLAINTEXT, or one of {_PROTOCOLS[2:]}, "
            f"not {protocol!r}"
        )
    has_tls, has_sasl = protocol.endswith("SSL"), protocol.startswith("SASL")
    options: dict[str, object] = {"security_protocol": protocol}
    if has_tls:
        options["ssl_context"] = _context(given["ssl_context"])
    if has_sasl:
        options |= _sasl(given)
    _tell_unused(given, has_tls=has_tls, has_sasl=has_sasl)
    return options


def refusal(given: Mapping[str, Any]) -> Exception | None:
    """Return what aiokafka's `start()` raises because of these keywords, None for nothing."""
    wanted = given["sasl_mechanism"] == "OAUTHBEARER" and "SASL" in given["security_protocol"]
    if wanted and not isinstance(given["sasl_oauth_token_provider"], AbstractTokenProvider):
        return ValueError(
            "sasl_oauth_token_provider needs to be provided implementing "
            "aiokafka.abc.AbstractTokenProvider"
        )
    return None


def _context(given: object) -> ssl.SSLContext:
    if given is None:
        raise ValueError("`ssl_context` is mandatory if security_protocol=='SSL'")
    if given is True:  # what asyncio makes of it
        return ssl.create_default_context()
    if not isinstance(given, ssl.SSLContext):
        raise TypeError(f"`ssl_context`: got {given!r}, expected an ssl.SSLContext")
    return given


def _sasl(given: Mapping[str, Any]) -> dict[str, object]:
    mechanism = given["sasl_mechanism"]
    match mechanism:
        case "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512":
            return {"sasl_mechanism": mechanism, **_by_password(given)}
        case "OAUTHBEARER":
            return {"sasl_mechanism": mechanism, **_by_token(given["sasl_oauth_token_provider"])}
        case "GSSAPI":
            raise _kerberos()
    raise ValueError(f"`sasl_mechanism` should be one of {_MECHANISMS}, not {mechanism!r}")


def _kerberos() -> Exception:
    what = (
        "kgroup does not speak GSSAPI (Kerberos); take SCRAM-SHA-512 or OAUTHBEARER, or stay with "
        "aiokafka for this consumer"
    )
    error = UnsupportedSaslMechanismError(what)
    error.__cause__ = UnsupportedError(what)
    return error


def _by_password(given: Mapping[str, Any]) -> dict[str, object]:
    name, password = given["sasl_plain_username"], given["sasl_plain_password"]
    if name is None or password is None:
        mechanism = given["sasl_mechanism"]
        raise ValueError(
            f"sasl_plain_username and sasl_plain_password required for {mechanism} sasl"
        )
    return {"sasl_username": name, "sasl_password": password}


def _by_token(provider: Any) -> dict[str, object]:  # noqa: ANN401 - the application's
    if not isinstance(provider, AbstractTokenProvider):
        return {"sasl_oauth_token": str}  # never asked: see `refusal`
    return {"sasl_oauth_token": provider.token, "sasl_oauth_extensions": provider.extensions}


def _tell_unused(given: Mapping[str, Any], *, has_tls: bool, has_sasl: bool) -> None:
    unused = [] if has_tls or given["ssl_context"] is None else ["ssl_context"]
    if not has_sasl:
        names = ("sasl_plain_username", "sasl_plain_password", "sasl_oauth_token_provider")
        unused += [name for name in names if given[name] is not None]
    if unused:
        protocol = given["security_protocol"]
        log.warning("%s: without effect, security_protocol is %r", ", ".join(unused), protocol)
