"""The keywords of aiokafka's constructor: their names and their defaults.

Decides: which names there are, those of aiokafka 0.14, and which of them was meant by one that is
none.
Never: looks at a value.
"""

import logging
import ssl
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final

from aiokafka import __version__
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import UnsupportedSaslMechanismError

from kgroup.compat.aiokafka.assignors import DEFAULT
from kgroup.errors import UnsupportedError

__all__ = ["DEFAULTS", "EXTRAS", "KEYWORDS", "check_names", "options_of", "refusal"]

DEFAULTS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "loop": None,
        "bootstrap_servers": "localhost",
        "client_id": f"aiokafka-{__version__}",
        "group_id": None,
        "group_instance_id": None,
        "key_deserializer": None,
        "value_deserializer": None,
        "fetch_max_wait_ms": 500,
        "fetch_max_bytes": 52428800,
        "fetch_min_bytes": 1,
        "max_partition_fetch_bytes": 1048576,
        "request_timeout_ms": 40000,
        "retry_backoff_ms": 100,
        "auto_offset_reset": "latest",
        "enable_auto_commit": True,
        "auto_commit_interval_ms": 5000,
        "check_crcs": True,
        "metadata_max_age_ms": 300000,
        "partition_assignment_strategy": DEFAULT,
        "max_poll_interval_ms": 300000,
        "rebalance_timeout_ms": None,
        "session_timeout_ms": 10000,
        "heartbeat_interval_ms": 3000,
        "consumer_timeout_ms": 200,
        "max_poll_records": None,
        "ssl_context": None,
        "security_protocol": "PLAINTEXT",
        "api_version": None,
        "exclude_internal_topics": True,
        "connections_max_idle_ms": 540000,
        "isolation_level": "read_uncommitted",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_password": None,
        "sasl_plain_username": None,
        "sasl_kerberos_service_name": "kafka",
        "sasl_kerberos_domain_name": None,
        "sasl_oauth_token_provider": None,
        "client_rack": None,
    }
)
"""Every keyword of aiokafka's constructor -> its default."""

EXTRAS: Final[Mapping[str, Any]] = MappingProxyType(
    {"group_protocol": "classic", "server_assignor": None}
)
"""Keywords that aiokafka does not have -> their defaults, with which all is as it is there."""

_ELSEWHERE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "assignors": "partition_assignment_strategy",
        "key": "key_deserializer",
        "sasl_oauth_token": "sasl_oauth_token_provider",
        "sasl_password": "sasl_plain_password",
        "sasl_username": "sasl_plain_username",
        "ssl_cafile": "ssl_context",
        "ssl_certfile": "ssl_context",
        "ssl_check_hostname": "ssl_context",
        "ssl_keyfile": "ssl_context",
        "ssl_password": "ssl_context",
        "value": "value_deserializer",
    }
)
"""Names that kgroup and kafka-python have -> aiokafka's, where likeness would mislead."""


def check_names(names: Iterable[str]) -> None:
    """Refuse names that are no keywords.

    Raises:
        TypeError: as Python's own, with the nearest keyword that is one.
    """
    for name in names:
        if name not in DEFAULTS and name not in EXTRAS:
            near = _nearest(name)
            hint = f"; did you mean {near!r}?" if near else ""
            raise TypeError(f"AIOKafkaConsumer got an unexpected keyword argument {name!r}{hint}")


def _nearest(name: str) -> str | None:
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    if f"{name}_ms" in DEFAULTS:
        return f"{name}_ms"
    return next(iter(get_close_matches(name, DEFAULTS, n=1)), None)


# -- security --------------------------------------------------------------------------------------
#
# Security keywords of aiokafka, as native options.
#
# Decides: which of them count: those that the security protocol uses. The others have no meaning in
# aiokafka either; what was given and has none is logged.
# Never: puts a password or a token into an error or a log. Speaks Kerberos.
# KIPs: 12, 43, 84, 255, 342.


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
