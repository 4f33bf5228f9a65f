"""Keys of kafka-python's consumer, as options of ours.

Decides: what each value becomes (times are milliseconds there), and when one is refused, as
kafka-python's constructor does it or with its error.
Never: ignores a value in silence. `enable_incremental_fetch_sessions` and
`max_in_flight_requests_per_connection` need nothing done: they change how, not what, is fetched.
KIPs: 62 (the poll interval is the rebalance time-out), 345, 735.
"""

import logging
import re
import ssl
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from kafka.errors import KafkaConfigurationError
from kafka.net.sasl.oauth import AbstractTokenProvider

from kgroup.compat.kafka_python import assignors, keywords
from kgroup.compat.kafka_python.keywords import DEFAULTS, EXTRAS, check_honoured, check_names
from kgroup.compat.protocols import check_protocol, without_moved
from kgroup.config import ConsumerConfig
from kgroup.errors import ConfigError
from kgroup.values import dataclass

__all__ = ["Options", "options_of", "read"]

log = logging.getLogger(__name__)

_NO_BOUND: Final = 2**31 - 1
_LEASE_MARGIN: Final = 0.5
_LEAST_IDLE: Final = 0.1
"""Seconds: what is closed between two requests of one call is of no use."""
_LEAST_PATIENCE: Final = 0.1
"""Seconds: here a request's time covers its connection, with the handshakes, and its queue."""
_OLD_RESETS: Final = MappingProxyType({"smallest": "earliest", "largest": "latest"})
_INSTANCE_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")

_THEIR_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "assignors": "partition_assignment_strategy",
        "sasl_password": "sasl_plain_password",
        "sasl_username": "sasl_plain_username",
    }
)
"""Our options whose name is not theirs, with or without `_ms`."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the keys of one consumer stand for.

    Args:
        config: for `kgroup.sync.Consumer`.
        given: every key and its value, as `KafkaConsumer.config` shows them.
        eager: whether its group hands back everything at each rebalance.
    """

    config: ConsumerConfig
    given: dict[str, Any]
    eager: bool


def read(configs: Mapping[str, object]) -> Options:
    """Return what the keys of kafka-python's constructor stand for.

    Args:
        configs: key -> value; what is missing has kafka-python's default.

    Raises:
        KafkaConfigurationError: a key is not known, or a value cannot be used or honoured.
    """
    check_names(configs)
    given: dict[str, Any] = {**DEFAULTS, **configs}
    extras = {name: given.pop(name, default) for name, default in EXTRAS.items()}
    check_honoured(given)
    given["auto_offset_reset"] = _reset(given["auto_offset_reset"])
    given["partition_assignment_strategy"] = _strategy(given)
    _check_times(given)
    _check_group(given)
    options: dict[str, Any] = {
        **_timing(given),
        **_reading(given),
        **options_of(given),
        "bootstrap_servers": keywords.servers(given["bootstrap_servers"]),
        "client_id": keywords.word(given["client_id"] or DEFAULTS["client_id"]),
        "client_rack": keywords.word(given["client_rack"] or None),
        "group_id": keywords.word(given["group_id"]),
        "group_instance_id": keywords.word(given["group_instance_id"]),
        "assignors": assignors.adapted(given["partition_assignment_strategy"]),
        "allow_auto_create_topics": bool(given["allow_auto_create_topics"]),
        "exclude_internal_topics": bool(given["exclude_internal_topics"]),
        **extras,
    }
    try:
        check_protocol(extras["group_protocol"])
        moved = without_moved(options, given, DEFAULTS)
        eager = not moved and assignors.is_eager(given["partition_assignment_strategy"])
        return Options(ConsumerConfig(**options), given, eager)
    except ConfigError as error:
        name = _THEIR_NAMES.get(error.option, error.option)
        name = f"{name}_ms" if f"{name}_ms" in DEFAULTS else name
        text = f"{name}: got {error.value!r}, expected {error.expected}"
        raise KafkaConfigurationError(text) from error


def _timing(given: Mapping[str, Any]) -> dict[str, object]:
    def seconds(name: str, **least: float) -> float:
        return keywords.seconds(name, given[name], **least)

    session, beat = seconds("session_timeout_ms"), seconds("heartbeat_interval_ms")
    pause = seconds("retry_backoff_ms", least=0.0)
    redial = seconds("reconnect_backoff_ms", least=0.0)
    return {
        "session_timeout": session,
        # Without a group it says nothing, but must be sound.
        "heartbeat_interval": beat if beat < session else session / 3,
        "lease_margin": min(_LEASE_MARGIN, session / 20),
        "max_poll_interval": seconds("max_poll_interval_ms"),
        "request_timeout": seconds("request_timeout_ms", least=_LEAST_PATIENCE),
        "bootstrap_timeout": seconds("bootstrap_timeout_ms"),
        "retry_backoff": pause,
        "retry_backoff_max": max(pause, 1.0),
        "reconnect_backoff": redial,
        "reconnect_backoff_max": max(redial, seconds("reconnect_backoff_max_ms")),
        "auto_commit_interval": seconds("auto_commit_interval_ms"),
        "metadata_max_age": seconds("metadata_max_age_ms"),
        "connections_max_idle": seconds("connections_max_idle_ms", least=_LEAST_IDLE),
        "fetch_max_wait": seconds("fetch_max_wait_ms", least=0.0),
    }


def _reading(given: Mapping[str, Any]) -> dict[str, object]:
    def size(name: str, least: int) -> int:
        return keywords.size(name, given[name], least=least)

    return {
        "fetch_min_bytes": size("fetch_min_bytes", 0),
        # A first batch comes whatever the bound, so one byte is as little as none.
        "fetch_max_bytes": size("fetch_max_bytes", 1),
        "max_partition_fetch_bytes": size("max_partition_fetch_bytes", 1),
        "max_poll_records": keywords.records(given["max_poll_records"]),
        "stay_with_partition": True,
        "max_decompressed_bytes": _NO_BOUND,
        "check_crcs": bool(given["check_crcs"]),
        "enable_auto_commit": bool(given["enable_auto_commit"]) and given["group_id"] is not None,
        "auto_offset_reset": given["auto_offset_reset"],
        "isolation_level": keywords.level(given["isolation_level"]),
    }


def _strategy(given: Mapping[str, Any]) -> object:
    """Return the assignors as they may be looked through more than once; any without a group."""
    strategy = given["partition_assignment_strategy"]
    if isinstance(strategy, str | type) or not isinstance(strategy, Iterable):
        return strategy
    found = tuple(strategy)
    name = "partition_assignment_strategy"
    return found or (DEFAULTS[name] if given["group_id"] is None else found)


def _check_times(given: Mapping[str, Any]) -> None:
    names = ("connections_max_idle_ms", "request_timeout_ms", "fetch_max_wait_ms")
    idle, patience, wait = (keywords.milliseconds(name, given[name]) for name in names)
    if not wait < patience < idle:
        raise KafkaConfigurationError(
            f"connections_max_idle_ms ({idle}) must be larger than request_timeout_ms ({patience}) "
            f"which must be larger than fetch_max_wait_ms ({wait})."
        )


def _check_group(given: Mapping[str, Any]) -> None:
    instance = given["group_instance_id"]
    if given["group_id"] is None:
        if instance is not None:
            raise KafkaConfigurationError("group_instance_id requires group_id")
        return
    names = ("heartbeat_interval_ms", "session_timeout_ms")
    beat, session = (keywords.milliseconds(name, given[name]) for name in names)
    if beat >= session:
        raise KafkaConfigurationError(
            f"Heartbeat interval must be lower than the session timeout ({beat} v {session})"
        )
    if instance is None:
        return
    if not _INSTANCE_ID.fullmatch(str(instance)) or instance in {".", ".."}:
        raise KafkaConfigurationError(
            f"group_instance_id: got {instance!r}, expected 1 to 249 of A-Z a-z 0-9 . _ -, "
            'and not "." or ".."'
        )


def _reset(given: object) -> str:
    if isinstance(given, bytes | list | dict | set):
        raise KafkaConfigurationError(f"auto_offset_reset: got {given!r}, expected a word")
    word = str(_OLD_RESETS.get(str(given), given)).lower()
    if word != str(given).lower():
        log.warning("use auto_offset_reset=%s (%s is deprecated)", word, given)
    if word not in {"earliest", "latest", "none"}:
        log.warning("auto_offset_reset: %r is none of earliest, latest, none; so none it is", given)
        return "none"
    return word


# -- security --------------------------------------------------------------------------------------
#
# Security keys of kafka-python, as native options.
#
# Decides: which of them count: those that the security protocol uses, as in kafka-python.
# Never: puts a password or a token into an error. Speaks Kerberos.
# KIPs: 12, 43, 84, 255, 342.


_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_BY_PASSWORD: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def options_of(given: Mapping[str, Any]) -> dict[str, object]:
    """Return the native options; reads the files of TLS.

    Args:
        given: every key.

    Raises:
        KafkaConfigurationError: a word is not known, something is missing, or it is Kerberos.
        OSError, ssl.SSLError: a file cannot be used.
    """
    protocol = given["security_protocol"]
    if protocol not in _PROTOCOLS:
        raise KafkaConfigurationError(
            f"security_protocol must be in {', '.join(_PROTOCOLS)}, not {protocol!r}"
        )
    options: dict[str, object] = {"security_protocol": protocol}
    if protocol.endswith("SSL"):
        options["ssl_context"] = given["ssl_context"] or _context(given)
    if protocol.startswith("SASL"):
        options |= _sasl(given)
    return options


def _context(given: Mapping[str, Any]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = bool(given["ssl_check_hostname"])
    if given["ssl_cafile"]:
        context.load_verify_locations(given["ssl_cafile"])
    else:
        context.load_default_certs()
    if given["ssl_certfile"]:
        password = given["ssl_password"]
        context.load_cert_chain(given["ssl_certfile"], given["ssl_keyfile"], password)
    if given["ssl_crlfile"]:
        context.load_verify_locations(given["ssl_crlfile"])
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    if given["ssl_ciphers"]:
        context.set_ciphers(given["ssl_ciphers"])
    return context


def _sasl(given: Mapping[str, Any]) -> dict[str, object]:
    mechanism = given["sasl_mechanism"]
    if mechanism in _BY_PASSWORD:
        name, password = given["sasl_plain_username"], given["sasl_plain_password"]
        if name is None or password is None:
            raise KafkaConfigurationError(
                f"sasl_plain_username and sasl_plain_password required for {mechanism}"
            )
        return {"sasl_mechanism": mechanism, "sasl_username": name, "sasl_password": password}
    if mechanism == "OAUTHBEARER":
        provider = given["sasl_oauth_token_provider"]
        if not isinstance(provider, AbstractTokenProvider):
            raise KafkaConfigurationError(
                "sasl_oauth_token_provider must implement "
                "kafka.net.sasl.oauth.AbstractTokenProvider"
            )
        return {
            "sasl_mechanism": mechanism,
            "sasl_oauth_token": provider.token,
            "sasl_oauth_extensions": provider.extensions(),
        }
    if mechanism == "GSSAPI":
        raise KafkaConfigurationError(
            "sasl_mechanism='GSSAPI' cannot be honoured: Kerberos is not spoken here; take "
            "SCRAM-SHA-512 or OAUTHBEARER, or stay with kafka-python for this consumer"
        )
    known = ", ".join((*_BY_PASSWORD, "OAUTHBEARER"))
    raise KafkaConfigurationError(f"sasl_mechanism must be one of {known}, not {mechanism!r}")
