"""Single values as kafka-python takes them, in the shape our options have.

Decides: what works there works here, however odd it looks; what its constructor takes and nothing
can be done with later is refused at once, by its name.
Never: lets a value through that says something else here than there.
"""

import math
import re
import socket
from collections.abc import Iterable
from typing import Any, Final

from kafka.errors import KafkaConfigurationError

__all__ = ["MOST_RECORDS", "level", "milliseconds", "records", "seconds", "servers", "size", "word"]

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
        KafkaConfigurationError: it is none.
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
        KafkaConfigurationError: it is none.
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
