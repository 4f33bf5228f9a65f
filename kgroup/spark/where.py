"""Where reading begins and ends, as options say it.

Decides: which of the options for a beginning counts, and how its text is read.
Never: asks a broker what offset that is (`places` does).
Source: the options of Spark's own Kafka source, and `committed`.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from kgroup.errors import ConfigError
from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.words import Word


class Named(Word):
    """A place in every log that has a name."""

    EARLIEST = "earliest"
    LATEST = "latest"
    COMMITTED = "committed"


@dataclass(frozen=True, slots=True)
class AtOffsets:
    """An offset for each partition; -2 is the earliest, -1 the latest."""

    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class AtTimes:
    """The first record at or after a time, milliseconds since the epoch.

    Args:
        times: for each partition.
        everywhere: for all others, None where they have none.
    """

    times: Mapping[TopicPartition, int]
    everywhere: int | None = None


Where: TypeAlias = Named | AtOffsets | AtTimes
"""Where reading begins or ends."""


def assigned(text: str) -> frozenset[TopicPartition]:
    """Read exact partitions.

    Raises:
        ConfigError: it is no such JSON.
    """
    shape = '{"topic": [0, 1], ...}'
    found = set[TopicPartition]()
    for topic, numbers in _json("assign", text, shape).items():
        if not isinstance(numbers, list) or not all(type(each) is int for each in numbers):
            raise ConfigError("assign", text, shape)
        found |= {TopicPartition(topic, number) for number in numbers}
    return frozenset(found)


def place(own: Mapping[str, str], end: str) -> Where | None:
    """Read where reading begins or ends; of several options the one for times counts, as Spark's.

    Args:
        own: the options, their names in lower case.
        end: "starting" or "ending".

    Returns:
        The place, None where no option names one.

    Raises:
        ConfigError: an option cannot be read.
    """
    by_time, time, plain = f"{end}OffsetsByTimestamp", f"{end}Timestamp", f"{end}Offsets"
    if (text := own.get(time.lower())) is not None:
        if not text.isdecimal():
            raise ConfigError(time, text, "milliseconds since the epoch")
        return AtTimes({}, int(text))
    if (text := own.get(by_time.lower())) is not None:
        return AtTimes(_numbers(by_time, text, least=0))
    if (text := own.get(plain.lower())) is None:
        return None
    if text.lower() in {each.value for each in Named}:
        return Named(text.lower())
    if not text.lstrip().startswith("{"):
        expected = "earliest, latest, committed, or offsets as JSON"
        raise ConfigError(plain, text, expected)
    return AtOffsets(_numbers(plain, text, least=-2))


def _numbers(name: str, text: str, *, least: int) -> dict[TopicPartition, int]:
    shape = '{"topic": {"0": 23, "1": 345}, ...}'
    found: dict[TopicPartition, int] = {}
    for topic, each in _json(name, text, shape).items():
        if not isinstance(each, dict):
            raise ConfigError(name, text, shape)
        for number, value in each.items():
            if not number.isdecimal() or type(value) is not int or value < least:
                raise ConfigError(name, text, shape)
            found[TopicPartition(topic, int(number))] = value
    return found


def _json(name: str, text: str, shape: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ConfigError(name, text, f"JSON such as {shape}")
    return found
