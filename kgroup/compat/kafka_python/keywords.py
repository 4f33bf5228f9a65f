"""The configuration keys of kafka-python's consumer, their defaults, and which cannot be honoured.

Decides: the one list of keys; that an unknown one is refused with the name most like it.
Never: reads kafka-python's own list: that stands in the module of its consumer.
"""

import selectors
import socket
from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final

from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import KafkaConfigurationError
from kafka.version import __version__

__all__ = ["DEFAULTS", "check_honoured", "check_names", "pass_over"]


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
    unknown = sorted(set(given) - set(DEFAULTS))
    if not unknown:
        return
    told = []
    for name in unknown:
        near = get_close_matches(name, DEFAULTS, n=1)
        told.append(f"{name!r} (did you mean {near[0]!r}?)" if near else repr(name))
    raise KafkaConfigurationError(f"Unrecognized configs: {', '.join(told)}")


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
    told = given["default_offset_commit_callback"] not in (None, pass_over)
    if told and given["enable_auto_commit"] and given["group_id"] is not None:
        raise KafkaConfigurationError(
            "default_offset_commit_callback cannot be honoured here with enable_auto_commit: it "
            "would not hear of automatic commits; turn them off, or leave the callback out"
        )
