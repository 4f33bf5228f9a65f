"""The settings a topic can have: names, types, defaults, bounds.

Decides: which names and values are accepted, in the words of Kafka's `ConfigDef`, and what applies
where a topic has no value of its own. Of all of them, the log obeys `cleanup.policy`,
`max.message.bytes` and `message.timestamp.*`; the others are kept and shown.
Never: stores a value.
Source: `LogConfig` of Apache Kafka 4.3; two defaults are what holds here rather than Kafka's
(`message.timestamp.after.max.ms` and `flush.messages` are without bound).
"""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final, NamedTuple

__all__ = ["TOPIC_CONFIGS", "ConfigType", "TopicConfig", "fault_of_value"]


class ConfigType(IntEnum):
    """Type of a setting, by its number in DescribeConfigs (KIP-569)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7


class TopicConfig(NamedTuple):
    """One setting.

    Args:
        name: of a topic's setting.
        type: of its value.
        default: as text.
        broker_name: the broker's setting that gives the default.
        lowest: smallest number, None = any.
        choices: of a string or of a list's elements, empty = any.
    """

    name: str
    type: ConfigType
    default: str
    broker_name: str
    lowest: int | None = None
    choices: tuple[str, ...] = ()


_NO_BOUND: Final = str(2**63 - 1)
_BOOLEAN, _STRING, _INT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT
_LONG, _DOUBLE, _LIST = ConfigType.LONG, ConfigType.DOUBLE, ConfigType.LIST
_CODECS: Final = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
_STAMPS: Final = ("CreateTime", "LogAppendTime")

_ROWS: Final = (
    TopicConfig(
        "cleanup.policy", _LIST, "delete", "log.cleanup.policy", None, ("compact", "delete")
    ),
    TopicConfig("compression.gzip.level", _INT, "-1", "compression.gzip.level", -1),
    TopicConfig("compression.lz4.level", _INT, "9", "compression.lz4.level", 1),
    TopicConfig("compression.type", _STRING, "producer", "compression.type", None, _CODECS),
    TopicConfig("compression.zstd.level", _INT, "3", "compression.zstd.level", -131072),
    TopicConfig("delete.retention.ms", _LONG, "86400000", "log.cleaner.delete.retention.ms", 0),
    TopicConfig("file.delete.delay.ms", _LONG, "60000", "log.segment.delete.delay.ms", 0),
    TopicConfig("flush.messages", _LONG, _NO_BOUND, "log.flush.interval.messages", 1),
    TopicConfig("flush.ms", _LONG, _NO_BOUND, "log.flush.interval.ms", 0),
    TopicConfig("index.interval.bytes", _INT, "4096", "log.index.interval.bytes", 0),
    TopicConfig("local.retention.bytes", _LONG, "-2", "log.local.retention.bytes", -2),
    TopicConfig("local.retention.ms", _LONG, "-2", "log.local.retention.ms", -2),
    TopicConfig("max.compaction.lag.ms", _LONG, _NO_BOUND, "log.cleaner.max.compaction.lag.ms", 1),
    TopicConfig("max.message.bytes", _INT, "1048588", "message.max.bytes", 0),
    TopicConfig(
        "message.timestamp.after.max.ms", _LONG, _NO_BOUND, "log.message.timestamp.after.max.ms", 0
    ),
    TopicConfig(
        "message.timestamp.before.max.ms",
        _LONG,
        _NO_BOUND,
        "log.message.timestamp.before.max.ms",
        0,
    ),
    TopicConfig(
        "message.timestamp.type", _STRING, _STAMPS[0], "log.message.timestamp.type", None, _STAMPS
    ),
    TopicConfig("min.cleanable.dirty.ratio", _DOUBLE, "0.5", "log.cleaner.min.cleanable.ratio", 0),
    TopicConfig("min.compaction.lag.ms", _LONG, "0", "log.cleaner.min.compaction.lag.ms", 0),
    TopicConfig("min.insync.replicas", _INT, "1", "min.insync.replicas", 1),
    TopicConfig("preallocate", _BOOLEAN, "false", "log.preallocate"),
    TopicConfig("remote.storage.enable", _BOOLEAN, "false", "remote.log.storage.system.enable"),
    TopicConfig("retention.bytes", _LONG, "-1", "log.retention.bytes"),
    TopicConfig("retention.ms", _LONG, "604800000", "log.retention.ms", -1),
    TopicConfig("segment.bytes", _INT, "1073741824", "log.segment.bytes", 14),
    TopicConfig("segment.index.bytes", _INT, "10485760", "log.index.size.max.bytes", 4),
    TopicConfig("segment.jitter.ms", _LONG, "0", "log.roll.jitter.ms", 0),
    TopicConfig("segment.ms", _LONG, "604800000", "log.roll.ms", 1),
    TopicConfig(
        "unclean.leader.election.enable", _BOOLEAN, "false", "unclean.leader.election.enable"
    ),
)

TOPIC_CONFIGS: Final[Mapping[str, TopicConfig]] = MappingProxyType({row.name: row for row in _ROWS})
"""All settings by name, in the order of the names."""

_BITS: Final = MappingProxyType({ConfigType.INT: 31, ConfigType.LONG: 63})


def fault_of_value(name: str, value: str) -> str | None:
    """Return why a topic cannot have this setting, None if it can."""
    config = TOPIC_CONFIGS.get(name)
    if config is None:
        return f"Unknown topic config name: {name}"
    fault = _fault(config, value.strip())
    return f"Invalid value {value} for configuration {name}: {fault}" if fault else None


def _fault(config: TopicConfig, value: str) -> str | None:
    if config.type is ConfigType.BOOLEAN:
        known = value.lower() in ("true", "false")
        return None if known else "Expected value to be either true or false"
    if config.type is ConfigType.STRING or config.type is ConfigType.LIST:
        given = value.split(",") if config.type is ConfigType.LIST else [value]
        known = not config.choices or all(each.strip() in config.choices for each in given)
        return None if known else f"String must be one of: {', '.join(config.choices)}"
    number = _number(config.type, value)
    if number is None:
        return f"Not a number of type {config.type.name}"
    if config.lowest is not None and number < config.lowest:
        return f"Value must be at least {config.lowest}"
    return None


def _number(kind: ConfigType, value: str) -> float | None:
    try:
        number = float(value) if kind is ConfigType.DOUBLE else int(value)
    except ValueError:
        return None
    bits = _BITS.get(kind)
    fits = bits is None or -(1 << bits) <= number < 1 << bits
    return number if fits else None
