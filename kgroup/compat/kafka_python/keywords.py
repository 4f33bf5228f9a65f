"""The configuration keys of kafka-python's consumer, their defaults, and which cannot be honoured.

Decides: the one list of keys; that an unknown one is refused with the name most like it.
Never: reads kafka-python's own list: that stands in the module of its consumer.
"""

import math
import re
import selectors
import socket
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final

from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import KafkaConfigurationError
from kafka.version import __version__

__all__ = [
    "DEFAULTS",
    "EXTRAS",
    "MOST_RECORDS",
    "check_honoured",
    "check_names",
    "level",
    "milliseconds",
    "pass_over",
    "records",
    "seconds",
    "servers",
    "size",
    "word",
]


def pass_over(offsets: object, response: object) -> bool:
    """Do nothing about a commit: the default of `default_offset_commit_callback`."""
    del offsets, response
    return True


DEFAULTS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "bootstrap_servers": "localhost",
        "client_id": f"kafka-python-{__version__}",
        "client_rack": "",
        "group_id": None,
        "group_instance_id": None,
        "key_deserializer": None,
        "value_deserializer": None,
        "enable_incremental_fetch_sessions": True,
        "fetch_max_wait_ms": 500,
        "fetch_min_bytes": 1,
        "fetch_max_bytes": 52428800,
        "max_partition_fetch_bytes": 1048576,
        "request_timeout_ms": 30000,
        "retry_backoff_ms": 100,
        "reconnect_backoff_ms": 50,
        "reconnect_backoff_max_ms": 30000,
        "max_in_flight_requests_per_connection": 5,
        "auto_offset_reset": "latest",
        "enable_auto_commit": True,
        "auto_commit_interval_ms": 5000,
        "default_offset_commit_callback": pass_over,
        "check_crcs": True,
        "isolation_level": "read_uncommitted",
        "allow_auto_create_topics": True,
        "metadata_max_age_ms": 300000,
        "client_dns_lookup": "use_all_dns_ips",
        "partition_assignment_strategy": (RangePartitionAssignor, RoundRobinPartitionAssignor),
        "max_poll_records": 500,
        "max_poll_interval_ms": 300000,
        "session_timeout_ms": 45000,
        "heartbeat_interval_ms": 3000,
        "receive_buffer_bytes": None,
        "send_buffer_bytes": None,
        "receive_message_max_bytes": 100000000,
        "socket_options": ((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),),
        "consumer_timeout_ms": float("inf"),
        "security_protocol": "PLAINTEXT",
        "ssl_context": None,
        "ssl_check_hostname": True,
        "ssl_cafile": None,
        "ssl_certfile": None,
        "ssl_keyfile": None,
        "ssl_crlfile": None,
        "ssl_password": None,
        "ssl_ciphers": None,
        "api_version": None,
        "bootstrap_timeout_ms": 30000,
        "connections_max_idle_ms": 540000,
        "metric_reporters": (),
        "metrics_enabled": True,
        "metrics_num_samples": 2,
        "metrics_sample_window_ms": 30000,
        "metric_group_prefix": "consumer",
        "selector": selectors.DefaultSelector,
        "exclude_internal_topics": True,
        "sasl_mechanism": None,
        "sasl_plain_username": None,
        "sasl_plain_password": None,
        "sasl_kerberos_name": None,
        "sasl_kerberos_service_name": "kafka",
        "sasl_kerberos_domain_name": None,
        "sasl_oauth_token_provider": None,
        "proxy_url": None,
        "socks5_proxy": None,
        "kafka_client": None,
    }
)
"""Key -> what kafka-python has by default; `kafka_client` is a class there that is not borrowed."""

EXTRAS: Final[Mapping[str, Any]] = MappingProxyType(
    {"group_protocol": "classic", "server_assignor": None}
)
"""Keys that kafka-python does not have -> their defaults, with which all is as it is there."""

_FIXED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "client_dns_lookup": "every address of a name is tried",
        "kafka_client": "connections are kgroup's own",
        "metric_reporters": "read metrics() instead",
        "metrics_num_samples": "metrics() counts from the beginning",
        "metrics_sample_window_ms": "metrics() counts from the beginning",
        "proxy_url": "brokers are dialled directly",
        "receive_buffer_bytes": "the size of socket buffers is the system's",
        "receive_message_max_bytes": "answers of up to 100 MiB are taken",
        "selector": "the event loop is asyncio's",
        "send_buffer_bytes": "the size of socket buffers is the system's",
        "socket_options": "sockets have TCP_NODELAY and nothing else",
        "socks5_proxy": "brokers are dialled directly",
    }
)
"""Keys of which only the default can be honoured -> why."""

_NOTHING: Final = frozenset({"metric_reporters", "proxy_url", "socks5_proxy"})
"""Those of them of which whatever is empty says the same."""


def check_names(given: Mapping[str, object]) -> None:
    """Refuse keys that kafka-python does not have.

    Raises:
        KafkaConfigurationError: with the known key that is most like each.
    """
    unknown = sorted(set(given) - set(DEFAULTS) - set(EXTRAS))
    if not unknown:
        return
    noted = []
    for name in unknown:
        near = get_close_matches(name, DEFAULTS, n=1)
        noted.append(f"{name!r} (did you mean {near[0]!r}?)" if near else repr(name))
    raise KafkaConfigurationError(f"Unrecognized configs: {', '.join(noted)}")


def check_honoured(given: Mapping[str, object]) -> None:
    """Refuse values that would have no effect.

    Raises:
        KafkaConfigurationError: it names the key, the value and the reason.
    """
    for name, why in _FIXED.items():
        value, default = given[name], DEFAULTS[name]
        same = tuple(value) == default if isinstance(value, list) else value == default
        if not same and (value or name not in _NOTHING):
            raise KafkaConfigurationError(
                f"{name}={value!r} cannot be honoured here: {why}; leave it out, or stay with "
                "kafka-python for this consumer"
            )
    noted = given["default_offset_commit_callback"] not in (None, pass_over)
    if noted and given["enable_auto_commit"] and given["group_id"] is not None:
        raise KafkaConfigurationError(
            "default_offset_commit_callback cannot be honoured here with enable_auto_commit: it "
            "would not hear of automatic commits; turn them off, or leave the callback out"
        )


# -- values ----------------------------------------------------------------------------------------
#
# Single values as kafka-python takes them, in the shape our options have.
#
# Decides: what works there works here, however odd it looks; what its constructor takes and nothing
# can be done with later is refused at once, by its name.
# Never: lets a value through that says something else here than there.


_NEVER: Final = 2_147_483.0
"""Seconds: what 32 bits of milliseconds hold; where kafka-python has None or more."""
_LEAST: Final = 0.001
_MOST_FETCHED: Final = 64 * 1024 * 1024
"""Bytes; an answer is bounded at 100 MiB, and one batch beyond what was asked for may be in it."""
MOST_RECORDS: Final = 2**31 - 1
"""More at a time is as much as there is."""
_DEFAULT_RECORDS: Final = 500
_LEVELS: Final = ("read_uncommitted", "read_committed")
_SCHEME: Final = re.compile("^.*://")


def milliseconds(name: str, value: object) -> float:
    """Return a number of milliseconds; True is 1 there, too.

    Raises:
        KafkaConfigurationError: the value is not a number.
    """
    if not isinstance(value, int | float) or math.isnan(value):
        raise _wrong(name, value, "milliseconds")
    return value


def seconds(name: str, value: object, *, least: float = _LEAST) -> float:
    """Return milliseconds as seconds, within what can be sent.

    Args:
        name: of the key.
        value: None for never.
        least: what less is taken for.

    Raises:
        KafkaConfigurationError: it is no number.
    """
    if value is None:
        return _NEVER
    return float(min(max(milliseconds(name, value) / 1000, least), _NEVER))


def size(name: str, value: object, *, least: int) -> int:
    """Return a number of bytes to be fetched; how many come does not change what comes.

    Args:
        name: of the key.
        value: any int.
        least: what less is taken for.

    Raises:
        KafkaConfigurationError: it is no int.
    """
    if not isinstance(value, int):
        raise _wrong(name, value, "a whole number of bytes")
    return min(max(int(value), least), _MOST_FETCHED)


def records(value: object) -> int:
    """Return how many records are read at a time; what cannot be is an error of each read."""
    if not isinstance(value, int) or value <= 0:
        return _DEFAULT_RECORDS
    return min(int(value), MOST_RECORDS)


def word(value: object) -> str | None:
    """Return a name as it is sent there: whatever it is, its text."""
    return None if value is None else str(value)


def level(value: object) -> str:
    """Return an isolation level, which may be a number, or written in any case.

    Raises:
        KafkaConfigurationError: the value is not an isolation level.
    """
    if isinstance(value, int) and value in (0, 1):
        return _LEVELS[value]
    found = str(value).strip().lower().replace("-", "_")
    if found not in _LEVELS:
        raise KafkaConfigurationError(f"Unrecognized isolation_level: {value!r}")
    return found


def servers(value: object) -> tuple[str, ...]:
    """Return addresses, each as `host` or `host:port`, an IPv6 host in brackets.

    Args:
        value: several with commas between, or anything that can be iterated. What is in front of
            `://` says nothing, as in Java's client, and an empty one among others names nobody.

    Raises:
        KafkaConfigurationError: it is something else, or names nobody.
    """
    listed: Iterable[Any] = value.split(",") if isinstance(value, str) else _several(value)
    found = []
    for each in listed:
        if not isinstance(each, str):
            raise _wrong("bootstrap_servers", each, "'host:port'")
        bare = _SCHEME.sub("", each.strip())
        if bare:
            found.append(f"[{bare}]" if _is_ipv6(bare) else bare)
    if not found:
        raise _wrong("bootstrap_servers", value, "'host:port', several with commas between")
    return tuple(found)


def _several(value: object) -> Iterable[object]:
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        raise _wrong("bootstrap_servers", value, "'host:port', several with commas between")
    return value


def _is_ipv6(text: str) -> bool:
    try:
        socket.inet_pton(socket.AF_INET6, text)
    except OSError:
        return False
    return True


def _wrong(name: str, value: object, expected: str) -> KafkaConfigurationError:
    return KafkaConfigurationError(f"{name}: got {value!r}, expected {expected}")
