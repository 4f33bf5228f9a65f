"""Keys of kafka-python's consumer, as options of ours.

Decides: what each value becomes (times are milliseconds there), and when one is refused, as
kafka-python's constructor does it or with its error.
Never: ignores a value in silence. `enable_incremental_fetch_sessions` and
`max_in_flight_requests_per_connection` need nothing done: they change how, not what, is fetched.
KIPs: 62 (the poll interval is the rebalance time-out), 345, 735.
"""

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from kafka.errors import KafkaConfigurationError

from kgroup.compat.kafka_python import assignors, security, values
from kgroup.compat.kafka_python.keywords import DEFAULTS, check_honoured, check_names
from kgroup.config import ConsumerConfig
from kgroup.errors import ConfigError

__all__ = ["Options", "read"]

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
    check_honoured(given)
    given["auto_offset_reset"] = _reset(given["auto_offset_reset"])
    given["partition_assignment_strategy"] = _strategy(given)
    _check_times(given)
    _check_group(given)
    options: dict[str, Any] = {
        **_timing(given),
        **_reading(given),
        **security.options_of(given),
        "bootstrap_servers": values.servers(given["bootstrap_servers"]),
        "client_id": values.word(given["client_id"] or DEFAULTS["client_id"]),
        "client_rack": values.word(given["client_rack"] or None),
        "group_id": values.word(given["group_id"]),
        "group_instance_id": values.word(given["group_instance_id"]),
        "assignors": assignors.adapted(given["partition_assignment_strategy"]),
        "allow_auto_create_topics": bool(given["allow_auto_create_topics"]),
        "exclude_internal_topics": bool(given["exclude_internal_topics"]),
    }
    try:
        eager = assignors.is_eager(given["partition_assignment_strategy"])
        return Options(ConsumerConfig(**options), given, eager)
    except ConfigError as error:
        name = _THEIR_NAMES.get(error.option, error.option)
        name = f"{name}_ms" if f"{name}_ms" in DEFAULTS else name
        told = f"{name}: got {error.value!r}, expected {error.expected}"
        raise KafkaConfigurationError(told) from error


def _timing(given: Mapping[str, Any]) -> dict[str, object]:
    def seconds(name: str, **least: float) -> float:
        return values.seconds(name, given[name], **least)

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
        return values.size(name, given[name], least=least)

    return {
        "fetch_min_bytes": size("fetch_min_bytes", 0),
        # A first batch comes whatever the bound, so one byte is as little as none.
        "fetch_max_bytes": size("fetch_max_bytes", 1),
        "max_partition_fetch_bytes": size("max_partition_fetch_bytes", 1),
        "max_poll_records": values.records(given["max_poll_records"]),
        "stay_with_partition": True,
        "max_decompressed_bytes": _NO_BOUND,
        "check_crcs": bool(given["check_crcs"]),
        "enable_auto_commit": bool(given["enable_auto_commit"]) and given["group_id"] is not None,
        "auto_offset_reset": given["auto_offset_reset"],
        "isolation_level": values.level(given["isolation_level"]),
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
    idle, patience, wait = (values.milliseconds(name, given[name]) for name in names)
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
    beat, session = (values.milliseconds(name, given[name]) for name in names)
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
