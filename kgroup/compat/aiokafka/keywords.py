"""The keywords of aiokafka's constructor: their names and their defaults.

Decides: which names there are, those of aiokafka 0.14, and which of them was meant by one that is
none.
Never: looks at a value.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final

from aiokafka import __version__

from kgroup.compat.aiokafka.assignors import DEFAULT

__all__ = ["DEFAULTS", "check_names"]

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
        if name not in DEFAULTS:
            near = _nearest(name)
            hint = f"; did you mean {near!r}?" if near else ""
            raise TypeError(f"AIOKafkaConsumer got an unexpected keyword argument {name!r}{hint}")


def _nearest(name: str) -> str | None:
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    if f"{name}_ms" in DEFAULTS:
        return f"{name}_ms"
    return next(iter(get_close_matches(name, DEFAULTS, n=1)), None)
