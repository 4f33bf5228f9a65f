"""What each option may be: one small rule per kind of value.

Decides: how a value as typed becomes the value kgroup works with, and what is refused.
Never: looks at two options at once; `ConsumerConfig.doubts` does.
"""

import math
from collections.abc import Callable, Mapping
from datetime import timedelta
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

from kgroup.config.options import seconds_of
from kgroup.config.security import SECURITY_RULES
from kgroup.errors import ConfigError
from kgroup.marshal.rules import ClaimPolicy, Compat, Guarantee
from kgroup.net.ports import Ports
from kgroup.offsets.reset import ResetPolicy, Since
from kgroup.types import Backend, DeserializeErrorPolicy, DoneAt, IsolationLevel

__all__ = ["RULES", "check_names", "normal"]

Rule = Callable[[str, object], object]
"""Option name and value as given -> the value to use; ConfigError when it is not right."""

_DEFAULT_PORT: Final = 9092
_MAX_PORT: Final = 65_535
_MAX_SECONDS: Final = 2_147_483.0
"""Times travel as 32 bit milliseconds."""
_MAX_BYTES: Final = 2**31 - 1
_MAX_TEXT: Final = 2**15 - 1
"""A string's length travels in 16 bits."""

_SECONDS: Final = " (times are in seconds)"
_ELSEWHERE: Final[Mapping[str, str | None]] = MappingProxyType(
    {
        "api_version": None,
        "consumer_timeout_ms": None,
        "key_deserializer": "key",
        "loop": None,
        "partition_assignment_strategy": "assignors",
        "sasl_jaas_config": "sasl_username",
        "sasl_kerberos_domain_name": None,
        "sasl_kerberos_service_name": None,
        "ssl_ca_location": "ssl_cafile",
        "ssl_certificate_location": "ssl_certfile",
        "ssl_endpoint_identification_algorithm": "ssl_check_hostname",
        "ssl_key_location": "ssl_keyfile",
        "ssl_key_password": "ssl_password",
        "ssl_keystore_location": "ssl_certfile",
        "ssl_truststore_location": "ssl_cafile",
        "value_deserializer": "value",
    }
)
"""Names other clients have -> ours, None for nothing like it, where likeness would mislead."""


def check_names(names: Mapping[str, object]) -> None:
    """Refuse names that are no options.

    Raises:
        ConfigError: with the known name that is most like it.
    """
    for name, value in names.items():
        if name not in RULES:
            # Never the value: it may be a password, behind a name with a slip of the pen.
            kind = f"<{type(value).__name__}>"
            expected = "a known option name" + _SECONDS * name.endswith("_ms")
            raise ConfigError(name, kind, expected, nearest=_nearest(name))


def _nearest(name: str) -> str | None:
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    stem = name.removesuffix("_ms")
    return next(iter([stem] if stem in RULES else get_close_matches(name, RULES, n=1)), None)


def normal(name: str, value: object) -> object:
    """Return the value of an option in the form kgroup works with.

    Raises:
        ConfigError: the value cannot be used.
    """
    return RULES[name](name, value)


def _duration(least: float, *, above: bool = False) -> Rule:
    bound = f"seconds (float) or a timedelta, {'above' if above else 'at least'} {least:g}"

    def rule(name: str, value: object) -> float:
        seconds = value.total_seconds() if isinstance(value, timedelta) else value
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            raise ConfigError(name, value, bound)
        enough = seconds > least if above else seconds >= least
        if not enough or not math.isfinite(seconds) or seconds > _MAX_SECONDS:
            raise ConfigError(name, value, f"{bound}, and at most {_MAX_SECONDS:g}")
        return float(seconds)

    return rule


def _or_none(rule: Rule) -> Rule:
    def optional(name: str, value: object) -> object:
        return None if value is None else rule(name, value)

    return optional


def _whole(least: int, most: int = _MAX_BYTES, *, optional: bool = False) -> Rule:
    bound = f"a whole number from {least} to {most}" + (", or None" if optional else "")

    def rule(name: str, value: object) -> int | None:
        if value is None and optional:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ConfigError(name, value, bound)
        return value

    return rule


def _text(*, optional: bool) -> Rule:
    bound = f"a string of 1 to {_MAX_TEXT} bytes" + (", or None" if optional else "")

    def rule(name: str, value: object) -> str | None:
        if value is None and optional:
            return None
        if not isinstance(value, str) or not value.strip() or not _fits(value):
            raise ConfigError(name, value, bound)
        return value

    return rule


def _fits(text: str) -> bool:
    try:
        return len(text.encode()) <= _MAX_TEXT
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(name, value, "True or False")
    return value


E = TypeVar("E", bound=Enum)


def _choice(kind: type[E]) -> Rule:
    words = {member.name.lower(): member for member in kind}

    def rule(name: str, value: object) -> E:
        if isinstance(value, kind):
            return value
        if isinstance(value, str) and value in words:
            return words[value]
        bound = " or ".join(repr(word) for word in words)
        near = get_close_matches(str(value), words, n=1)
        raise ConfigError(name, value, bound, nearest=near[0] if near else None)

    return rule


_RESET_WORDS: Final = _choice(ResetPolicy)
_BY_DURATION: Final = "by_duration:"
"""Kafka's own prefix of an age in ISO 8601's notation (KIP-1106)."""


def _reset(name: str, value: object) -> object:
    if isinstance(value, Since):
        return value
    if isinstance(value, timedelta):
        return _since(name, value, value.total_seconds())
    if isinstance(value, str) and value.startswith(_BY_DURATION):
        return _since(name, value, seconds_of(value.removeprefix(_BY_DURATION)))
    return _RESET_WORDS(name, value)


def _since(name: str, value: object, seconds: float | None) -> Since:
    if seconds is None or seconds < 0:
        expected = "an age of at least 0: a timedelta, or a text like 'by_duration:PT1H30M'"
        raise ConfigError(name, value, expected)
    return Since(seconds)


def _assignors(name: str, value: object) -> tuple[object, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple) or not value:
        raise ConfigError(name, value, "a list of names of assignors, or of instances")
    return tuple(value)


def _servers(name: str, value: object) -> tuple[str, ...]:
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not listed:
        raise ConfigError(name, value, "'host:port', several with commas between, or a list")
    return tuple(_address(name, each) for each in listed)


def _address(name: str, value: object) -> str:
    expected = "'host:port' (an IPv6 host in brackets), port 1 to 65535"
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(name, value, expected)
    text = value.strip()
    if text.endswith("]") or ":" not in text:
        text = f"{text}:{_DEFAULT_PORT}"
    host, _, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    bracketed = host.startswith("[") and host.endswith("]")
    sound = bare and ("/" not in bare) and (":" in bare) == bracketed
    if not sound or not port.isascii() or not port.isdigit() or not 1 <= int(port) <= _MAX_PORT:
        raise ConfigError(name, value, expected)
    return f"{host}:{int(port)}"


def _journal(name: str, value: object) -> object:
    if value is None or callable(getattr(value, "emit", None)):
        return value
    if isinstance(value, str | Path) and str(value):
        return Path(value)
    raise ConfigError(name, value, "a path, a journal sink, or None")


def _ports(name: str, value: object) -> Ports | None:
    if value is None or isinstance(value, Ports):
        return value
    raise ConfigError(name, value, "kgroup.net.ports.Ports, or None")


_POSITIVE: Final = _duration(0.0, above=True)
_PAUSE: Final = _duration(0.0)

RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "bootstrap_servers": _servers,
        "bootstrap_timeout": _PAUSE,
        "group_id": _text(optional=True),
        "group_instance_id": _text(optional=True),
        "client_id": _text(optional=False),
        "client_rack": _text(optional=True),
        "session_timeout": _POSITIVE,
        "heartbeat_interval": _POSITIVE,
        "max_poll_interval": _POSITIVE,
        "rebalance_timeout": _or_none(_POSITIVE),
        "lease_margin": _PAUSE,
        "assignors": _assignors,
        "auto_offset_reset": _reset,
        "enable_auto_commit": _flag,
        "auto_commit_interval": _POSITIVE,
        "isolation_level": _choice(IsolationLevel),
        "on_deserialize_error": _choice(DeserializeErrorPolicy),
        "fetch_min_bytes": _whole(0),
        "fetch_max_bytes": _whole(1),
        "fetch_max_wait": _PAUSE,
        "max_partition_fetch_bytes": _whole(1),
        "prefetch_max_bytes": _whole(1, 2**40),
        "max_poll_records": _whole(1, optional=True),
        "request_timeout": _POSITIVE,
        "retry_backoff": _PAUSE,
        "retry_backoff_max": _PAUSE,
        "reconnect_backoff": _PAUSE,
        "reconnect_backoff_max": _PAUSE,
        "connections_max_idle": _POSITIVE,
        "metadata_max_age": _POSITIVE,
        "allow_auto_create_topics": _flag,
        "check_crcs": _flag,
        "stay_with_partition": _flag,
        "done_at": _choice(DoneAt),
        "max_decompressed_bytes": _whole(2**20),
        "exclude_internal_topics": _flag,
        "backend": _choice(Backend),
        "guarantee": _choice(Guarantee),
        "coordination_topic": _text(optional=False),
        "marshal_heartbeat_interval": _POSITIVE,
        "compat": _choice(Compat),
        "claim_policy": _choice(ClaimPolicy),
        "max_claims": _whole(1, optional=True),
        "claim_entire_topic": _flag,
        "fast_reclaim": _flag,
        "at_most_once_records": _whole(1),
        "max_uncommitted": _whole(1, optional=True),
        "journal": _journal,
        "ports": _ports,
        **SECURITY_RULES,
    }
)
"""Option name -> its rule; the one list of options there is."""
