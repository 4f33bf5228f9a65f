"""Keys of kafka-python's consumer, as options of ours.

Decides: what each value becomes (times are milliseconds there), and when one is refused, as
kafka-python's constructor does it or with its error.
Never: ignores a value in silence. `enable_incremental_fetch_sessions` and
`max_in_flight_requests_per_connection` need nothing done: they change how, not what, is fetched.
KIPs: 62 (the poll interval is the rebalance time-out), 345, 735.
"""

import logging
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from kafka.errors import KafkaConfigurationError

from kgroup.compat.kafka_python import assignors, security
from kgroup.compat.kafka_python.keywords import DEFAULTS, check_honoured, check_names
from kgroup.config import ConsumerConfig
from kgroup.errors import ConfigError

__all__ = ["Options", "read"]

log = logging.getLogger(__name__)

_LEAST: Final = 0.001
_MOST: Final = 2_147_483.0
"""Seconds: what 32 bits of milliseconds hold; "never" where kafka-python has None or more."""
_NO_BOUND: Final = 2**31 - 1
_LEASE_MARGIN: Final = 0.5
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
    _check_times(given)
    _check_group(given)
    options: dict[str, Any] = {
        **_timing(given),
        **_reading(given),
        **security.options_of(given),
        "bootstrap_servers": given["bootstrap_servers"] or "localhost",
        "client_id": given["client_id"] or DEFAULTS["client_id"],
        "client_rack": given["client_rack"] or None,
        "group_id": given["group_id"],
        "group_instance_id": given["group_instance_id"],
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
    session = _seconds(given, "session_timeout_ms")
    beat = _seconds(given, "heartbeat_interval_ms")
    pause = _seconds(given, "retry_backoff_ms", least=0.0)
    redial = _seconds(given, "reconnect_backoff_ms", least=0.0)
    return {
        "session_timeout": session,
        # A session without a heartbeat in it would end again and again.
        "heartbeat_interval": beat if beat < session else session / 3,
        "lease_margin": min(_LEASE_MARGIN, session / 20),
        "max_poll_interval": _seconds(given, "max_poll_interval_ms"),
        "request_timeout": _seconds(given, "request_timeout_ms"),
        "bootstrap_timeout": _seconds(given, "bootstrap_timeout_ms"),
        "retry_backoff": pause,
        "retry_backoff_max": max(pause, 1.0),
        "reconnect_backoff": redial,
        "reconnect_backoff_max": max(redial, _seconds(given, "reconnect_backoff_max_ms")),
        "auto_commit_interval": _seconds(given, "auto_commit_interval_ms"),
        "metadata_max_age": _seconds(given, "metadata_max_age_ms"),
        "connections_max_idle": _seconds(given, "connections_max_idle_ms"),
        "fetch_max_wait": _seconds(given, "fetch_max_wait_ms", least=0.0),
    }


def _reading(given: Mapping[str, Any]) -> dict[str, object]:
    level = given["isolation_level"]
    if level not in ("read_uncommitted", "read_committed"):
        raise KafkaConfigurationError(f"Unrecognized isolation_level: {level!r}")
    return {
        "fetch_min_bytes": given["fetch_min_bytes"],
        # A first batch comes whatever the bound, so one byte is as little as none.
        "fetch_max_bytes": max(given["fetch_max_bytes"], 1),
        "max_partition_fetch_bytes": max(given["max_partition_fetch_bytes"], 1),
        "max_poll_records": given["max_poll_records"],
        "stay_with_partition": True,
        "max_decompressed_bytes": _NO_BOUND,
        "check_crcs": bool(given["check_crcs"]),
        "enable_auto_commit": bool(given["enable_auto_commit"]) and given["group_id"] is not None,
        "auto_offset_reset": given["auto_offset_reset"],
        "isolation_level": level,
    }


def _check_times(given: Mapping[str, Any]) -> None:
    idle, patience = given["connections_max_idle_ms"], given["request_timeout_ms"]
    wait = given["fetch_max_wait_ms"]
    if not wait < patience < idle:
        raise KafkaConfigurationError(
            f"connections_max_idle_ms ({idle}) must be larger than request_timeout_ms ({patience}) "
            f"which must be larger than fetch_max_wait_ms ({wait})."
        )


def _check_group(given: Mapping[str, Any]) -> None:
    instance = given["group_instance_id"]
    if instance is None:
        return
    if given["group_id"] is None:
        raise KafkaConfigurationError("group_instance_id requires group_id")
    sound = isinstance(instance, str) and _INSTANCE_ID.fullmatch(instance)
    if not sound or instance in {".", ".."}:
        raise KafkaConfigurationError(
            f"group_instance_id: got {instance!r}, expected 1 to 249 of A-Z a-z 0-9 . _ -, "
            'and not "." or ".."'
        )


def _reset(given: object) -> str:
    if not isinstance(given, str):
        raise KafkaConfigurationError(f"auto_offset_reset: got {given!r}, expected a word")
    word = _OLD_RESETS.get(given, given).lower()
    if word != given.lower():
        log.warning("use auto_offset_reset=%s (%s is deprecated)", word, given)
    if word not in {"earliest", "latest", "none"}:
        log.warning("auto_offset_reset: %r is none of earliest, latest, none; so none it is", given)
        return "none"
    return word


def _seconds(given: Mapping[str, Any], name: str, *, least: float = _LEAST) -> float:
    value = given[name]
    if value is None:
        return _MOST
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise KafkaConfigurationError(f"{name}: got {value!r}, expected milliseconds")
    return float(min(max(value / 1000, least), _MOST))
