"""The group protocol as an extra keyword of the drop-ins: `group_protocol="consumer"` (KIP-848).

Decides: that only the defaults of the other client are left out of what this protocol moves to the
broker; what the application gives itself is refused by its name, as by the native consumer.
Never: chooses: both clients have one protocol, and stay with it unless told.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from kgroup.errors import ConfigError

__all__ = ["check_protocol", "without_moved"]

_MOVED: Final = MappingProxyType(
    {
        "session_timeout": "session_timeout_ms",
        "heartbeat_interval": "heartbeat_interval_ms",
        "assignors": "partition_assignment_strategy",
    }
)
"""Option -> the keyword it comes from."""

_KNOWN: Final = ("classic", "consumer")


def check_protocol(protocol: object) -> None:
    """Refuse what is no protocol of a drop-in.

    Raises:
        ConfigError: it is another one; "auto" could not say which options count.
    """
    if protocol not in _KNOWN:
        raise ConfigError("group_protocol", protocol, "'classic' or 'consumer'")


def without_moved(
    options: dict[str, Any], given: Mapping[str, Any], defaults: Mapping[str, Any]
) -> bool:
    """Leave out defaults that are the broker's business with KIP-848; tell whether it is asked for.

    Args:
        options: native ones, changed in place; `group_protocol` is checked.
        given: keywords with their values.
        defaults: of the other client.
    """
    if options["group_protocol"] == "classic":
        return False
    for name, keyword in _MOVED.items():
        if given[keyword] == defaults[keyword]:
            options.pop(name, None)
    return True
