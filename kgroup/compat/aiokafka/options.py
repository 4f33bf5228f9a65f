"""Keywords of aiokafka's consumer, as options of ours.

Decides: what each value becomes (times are milliseconds there), and when one is refused: by the
constructor where aiokafka's does it, by `start()` (a `refusal`) where aiokafka's `start()` does.
Never: ignores a value in silence. `consumer_timeout_ms` and `api_version` need nothing done: no
background step of ours lasts longer than any time-out, and versions are always negotiated.
KIPs: 62 (the rebalance time-out is not the poll interval here), 345.
"""

import asyncio
import logging
import socket
import warnings
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, Final

from aiokafka.errors import (
    InconsistentGroupProtocolError,
    InvalidGroupIdError,
    KafkaConnectionError,
)

from kgroup import ConfigError, ConsumerConfig
from kgroup.compat.aiokafka import assignors, keywords
from kgroup.compat.aiokafka.keywords import DEFAULTS, EXTRAS, check_names
from kgroup.compat.aiokafka.records import Deserializers, sizing
from kgroup.compat.protocols import check_protocol, without_moved
from kgroup.values import dataclass

__all__ = ["Facade", "Options", "read"]

log = logging.getLogger(__name__)

_LEAST: Final = 0.001
"""Seconds: aiokafka takes nothing and less, and means at once."""
_LEAST_IDLE: Final = 0.1
"""Seconds: what is closed between two requests of one call is of no use."""
_LEAST_PATIENCE: Final = 0.1
"""Seconds: here a request's time covers its connection, with the handshakes, and its queue."""
_MOST: Final = 2_147_483.0
"""Seconds: what 32 bits of milliseconds hold; "never" where aiokafka has None or more."""
_NO_BOUND: Final = 2**31 - 1
_MOST_FETCHED: Final = 64 * 1024 * 1024
"""Bytes; an answer is bounded at 100 MiB, and one batch beyond what was asked for may be in it."""
_FIRST_BACKOFF: Final = 0.1
"""Seconds: pauses begin with it, also where they grow to more: a topic that is not there yet is
looked for at this pace, and `start` waits for it."""
_LEASE_MARGIN: Final = 0.5
_RESETS: Final = ("earliest", "latest", "none")
_NAMES: Final = ("client_id", "group_id", "group_instance_id", "client_rack")

_THEIR_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "assignors": "partition_assignment_strategy",
        "sasl_password": "sasl_plain_password",
        "sasl_username": "sasl_plain_username",
    }
)
"""Our options whose name is not theirs, with or without `_ms`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facade:
    """What the facade itself reads; times in seconds.

    Args:
        loop: as given, None for the running one.
        group_id: as given; the config has none where a broker would refuse it.
        enable_auto_commit: whether `stop()` commits.
        max_poll_records: most records of one `getmany`, None for no bound.
        request_timeout: after which calls that ask brokers give up.
        refusal: what `start()` raises before anything is sent, None for nothing.
    """

    loop: asyncio.AbstractEventLoop | None
    group_id: str | None
    enable_auto_commit: bool
    max_poll_records: int | None
    request_timeout: float
    refusal: Exception | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the keywords of one consumer stand for.

    Args:
        config: for `kgroup.Consumer`.
        deserializers: its `key` and `value`; see `records.sizing`.
        facade: the facade's own slice.
    """

    config: ConsumerConfig
    deserializers: Deserializers
    facade: Facade


def read(keywords: Mapping[str, object]) -> Options:
    """Return what keywords of aiokafka's constructor stand for; call it in the constructor.

    Args:
        keywords: name -> value, without topics; what is missing has aiokafka's default.

    Raises:
        TypeError: a keyword is not known (the nearest is named), or has a value of another kind.
        ValueError: a value cannot be used.
        UnsupportedSaslMechanismError: GSSAPI is asked for.
    """
    check_names(keywords)
    given: Mapping[str, Any] = {**DEFAULTS, **EXTRAS, **keywords}
    _warn_of_deprecated(given)
    given = {**given, **{name: _name(given[name]) for name in _NAMES}}
    _milliseconds("consumer_timeout_ms", given["consumer_timeout_ms"])
    config = _config(given)
    return Options(
        config=config,
        deserializers=Deserializers(
            sizing(given["key_deserializer"]), sizing(given["value_deserializer"])
        ),
        facade=Facade(
            loop=_loop(given["loop"]),
            group_id=given["group_id"],
            enable_auto_commit=config.enable_auto_commit,
            max_poll_records=config.max_poll_records,
            request_timeout=_patience(given),
            refusal=_refusal(given),
        ),
    )


def _warn_of_deprecated(given: Mapping[str, Any]) -> None:
    texts = {
        "loop": "`loop` is deprecated since aiokafka 0.7.1: build the consumer where it runs",
        "api_version": "`api_version` is deprecated since aiokafka 0.13: versions are negotiated",
    }
    for name, text in texts.items():
        if given[name] is not None:
            # This function, `read`, the constructor, and its caller.
            warnings.warn(text, DeprecationWarning, stacklevel=4)


def _config(given: Mapping[str, Any]) -> ConsumerConfig:
    options: dict[str, Any] = {
        **_timing(given),
        **_reading(given),
        **keywords.options_of(given),
        "bootstrap_servers": _servers(given["bootstrap_servers"]) or ("localhost",),
        "client_id": given["client_id"] or DEFAULTS["client_id"],
        "client_rack": given["client_rack"] or None,
        "group_id": given["group_id"] or None,
        "group_instance_id": _instance_id(given),
        "assignors": assignors.adapted(given["partition_assignment_strategy"])
        or assignors.adapted(assignors.DEFAULT),
        "allow_auto_create_topics": True,
        "exclude_internal_topics": bool(given["exclude_internal_topics"]),
        **{name: given[name] for name in EXTRAS},
    }
    try:
        check_protocol(given["group_protocol"])
        without_moved(options, given, DEFAULTS)
        return ConsumerConfig(**options)
    except ConfigError as error:
        name = _THEIR_NAMES.get(error.option, error.option)
        name = f"{name}_ms" if f"{name}_ms" in DEFAULTS else name
        raise ValueError(f"{name}: got {error.value!r}, expected {error.expected}") from error


def _timing(given: Mapping[str, Any]) -> dict[str, object]:
    session = _milliseconds("session_timeout_ms", given["session_timeout_ms"])
    beat = _milliseconds("heartbeat_interval_ms", given["heartbeat_interval_ms"])
    pause = _milliseconds("retry_backoff_ms", given["retry_backoff_ms"], least=0.0)
    idle = given["connections_max_idle_ms"]
    longest_round = given["rebalance_timeout_ms"]
    return {
        "session_timeout": session,
        # A session without a heartbeat in it would end again and again.
        "heartbeat_interval": beat if beat < session else session / 3,
        "lease_margin": min(_LEASE_MARGIN, session / 20),
        # aiokafka looks whether anybody reads when it sends a heartbeat, and no more often; and
        # it is by heartbeats that a member hears of a round.
        "max_poll_interval": _milliseconds(
            "max_poll_interval_ms", given["max_poll_interval_ms"], least=min(beat, session)
        ),
        "rebalance_timeout": session
        if longest_round is None
        else _milliseconds("rebalance_timeout_ms", longest_round, least=min(beat, session)),
        "request_timeout": _patience(given),
        "bootstrap_timeout": 0.0,  # each address once
        "retry_backoff": min(pause, _FIRST_BACKOFF),
        "retry_backoff_max": max(pause, 1.0),
        "auto_commit_interval": _milliseconds(
            "auto_commit_interval_ms", given["auto_commit_interval_ms"]
        ),
        "metadata_max_age": _milliseconds("metadata_max_age_ms", given["metadata_max_age_ms"]),
        "connections_max_idle": _MOST
        if idle is None
        else _milliseconds("connections_max_idle_ms", idle, least=_LEAST_IDLE),
        "fetch_max_wait": _milliseconds("fetch_max_wait_ms", given["fetch_max_wait_ms"], least=0.0),
    }


def _reading(given: Mapping[str, Any]) -> dict[str, object]:
    known = given["isolation_level"] in ("read_uncommitted", "read_committed")
    return {
        "fetch_min_bytes": _bytes("fetch_min_bytes", given["fetch_min_bytes"], 0),
        # A first batch comes whatever the bound, so one byte is as little as none.
        "fetch_max_bytes": _bytes("fetch_max_bytes", given["fetch_max_bytes"], 1),
        "max_partition_fetch_bytes": _bytes(
            "max_partition_fetch_bytes", given["max_partition_fetch_bytes"], 1
        ),
        "max_poll_records": _max_poll_records(given["max_poll_records"]),
        "max_decompressed_bytes": _NO_BOUND,
        "check_crcs": bool(given["check_crcs"]),
        "enable_auto_commit": bool(given["enable_auto_commit"]),
        "auto_offset_reset": _reset(given["auto_offset_reset"]),
        "isolation_level": given["isolation_level"] if known else "read_uncommitted",
    }


def _refusal(given: Mapping[str, Any]) -> Exception | None:
    """Return what aiokafka's own `start()` raises because of these keywords."""
    level = given["isolation_level"]
    if level not in ("read_uncommitted", "read_committed"):
        return ValueError(f"Incorrect isolation level {level}")
    if not _servers(given["bootstrap_servers"]):
        return KafkaConnectionError("Unable to bootstrap from []")
    if given["group_id"] is not None and not given["group_id"]:
        return InvalidGroupIdError("the group_id is empty")
    if given["group_id"] and not assignors.adapted(given["partition_assignment_strategy"]):
        return InconsistentGroupProtocolError("partition_assignment_strategy is empty")
    return keywords.refusal(given)


def _max_poll_records(given: object) -> int | None:
    if given is None:
        return None
    if not isinstance(given, int) or given < 1:
        raise ValueError(f"`max_poll_records` should be positive Integer, not {given!r}")
    return min(int(given), _NO_BOUND)


def _reset(given: object) -> str:
    if not isinstance(given, str):
        raise TypeError(f"auto_offset_reset: got {given!r}, expected one of {_RESETS}")
    word = given.lower()
    if word not in _RESETS:
        log.warning("auto_offset_reset: %r is none of %s, so 'none' it is", given, _RESETS)
        return "none"
    return word


def _milliseconds(name: str, given: object, *, least: float = _LEAST) -> float:
    """Return seconds."""
    if not isinstance(given, Real | Decimal):
        raise TypeError(f"{name}: got {given!r}, expected milliseconds (int or float)")
    return min(max(float(given) / 1000, least), _MOST)


def _patience(given: Mapping[str, Any]) -> float:
    name = "request_timeout_ms"
    return _milliseconds(name, given[name], least=_LEAST_PATIENCE)


def _bytes(name: str, given: object, least: int) -> int:
    if not isinstance(given, Integral):
        raise TypeError(f"{name}: got {given!r}, expected a number of bytes (int)")
    return min(max(int(given), least), _MOST_FETCHED)


def _name(given: object) -> str | None:
    """Return what aiokafka sends for a name: whatever it is, as `str` writes it."""
    return None if given is None else str(given)


def _instance_id(given: Mapping[str, Any]) -> str | None:
    found: str | None = given["group_instance_id"]
    # Without a group there is nothing to be a member of; aiokafka never sends it then.
    if found is None or not given["group_id"]:
        return None
    if not found:
        log.warning("group_instance_id: '' is no identity, so this member is a dynamic one")
    return found or None


def _loop(given: object) -> asyncio.AbstractEventLoop | None:
    if given is None or isinstance(given, asyncio.AbstractEventLoop):
        return given
    raise TypeError(f"loop: got {given!r}, expected an event loop of asyncio")


def _servers(given: object) -> tuple[str, ...]:
    listed = given.split(",") if isinstance(given, str) else given
    if not isinstance(listed, Iterable):
        raise TypeError(f"bootstrap_servers: got {given!r}, expected 'host:port' or a list of them")
    found = map(_address, listed)
    return tuple(each for each in found if each)


def _address(given: object) -> str:
    """Return an address as ours are spelt: a bare IPv6 address gets its brackets."""
    if not isinstance(given, str):
        raise TypeError(f"bootstrap_servers: got {given!r}, expected 'host:port'")
    text = given.strip()
    try:
        text.encode()
        socket.inet_pton(socket.AF_INET6, text)
    except UnicodeEncodeError as error:  # half of a surrogate pair
        raise ValueError(f"bootstrap_servers: got {given!r}, expected 'host:port'") from error
    except (OSError, ValueError):
        return text
    return f"[{text}]"
