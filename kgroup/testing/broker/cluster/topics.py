"""Topics and their partitions, as the cluster's metadata has them.

Decides: nothing; `Cluster` does.
Never: holds records; a partition's `Log` does, one for all of its replicas.

Node: One broker of the cluster, as the others see it. Decides: nothing. Never: knows topics or
connections.

Placement: Where replicas are put, and which of them leads. Decides: deterministically what a real
controller does from a random start: leaders and replicas go round the brokers in the order of their
ids, and the first replica in sync that is up leads. Never: lets a replica lead that missed records
(unclean.leader.election.enable is false).

Topic names: Which names a topic may have. Decides: as Kafka does, in its words. Never: knows which
topics exist, except to say with which one a new name collides.

Refusal: Why a request, or a row of it, is refused. Decides: nothing.

Topic configs: The settings a topic can have: names, types, defaults, bounds. Decides: which names
and values are accepted, in the words of Kafka's `ConfigDef`, and what applies where a topic has no
value of its own. Of all of them, the log obeys `cleanup.policy`, `max.message.bytes` and
`message.timestamp.*`; the others are kept and shown. Never: stores a value. Source: `LogConfig` of
Apache Kafka 4.3; two defaults are what holds here rather than Kafka's
(`message.timestamp.after.max.ms` and `flush.messages` are without bound).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from enum import IntEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from kgroup.codes import ErrorCode
from kgroup.testing.broker.logs.log import Log
from kgroup.types import TopicPartition
from kgroup.values import dataclass

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"


@dataclass(slots=True)
class Partition:
    """One partition.

    Args:
        tp: topic and number.
        topic_id: 16 bytes; a topic that is made anew has another.
        leader: node id, None while no replica may lead.
        epoch: of the leader; each change of leader adds 1, also the loss of one.
        replicas: node ids, the preferred leader first.
        isr: those of them that may lead, never empty: the last one stays in when it goes down.
        log: its records.
    """

    tp: TopicPartition
    topic_id: bytes
    leader: int | None
    epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    log: Log


@dataclass(slots=True)
class Topic:
    """One topic.

    Args:
        name: its name.
        topic_id: 16 bytes.
        partitions: by number.
        configs: settings that differ from the brokers' defaults.
        internal: whether it is Kafka's own.
    """

    name: str
    topic_id: bytes
    partitions: list[Partition] = field(default_factory=list)
    configs: dict[str, str] = field(default_factory=dict)
    internal: bool = False


# -- node ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Node:
    """One broker.

    Args:
        node_id: 1 to n.
        host: name of its listener; the code that opens the listener may set it.
        port: of its listener.
        rack: broker.rack, None without one.
        alive: whether the process runs; one that is not answers nothing.
        fenced: whether the controller knows that it is down: until then a dead broker is still
            named in answers (`broker_facts.md` F1).
        skew: seconds by which its clock is ahead.
    """

    node_id: int
    host: str
    port: int = 9092
    rack: str | None = None
    alive: bool = True
    fenced: bool = False
    skew: float = 0.0


# -- placement -------------------------------------------------------------------------------------


def place(
    first: int, count: int, replication: int, up: Sequence[int], down: Sequence[int]
) -> list[tuple[int, ...]]:
    """Return the replicas of new partitions, the preferred leader first.

    Args:
        first: number of the first new partition.
        count: how many there are.
        replication: replicas of each, at most as many as there are brokers.
        up: ids of brokers that are up, not empty.
        down: those of the others; they get replicas only if there are not enough of the former.
    """
    return [
        (_around(number, up) + _around(number, down))[:replication]
        for number in range(first, first + count)
    ]


def _around(number: int, nodes: Sequence[int]) -> tuple[int, ...]:
    size = len(nodes)
    return tuple(nodes[(number + step) % size] for step in range(size))


def choose_leader(partition: Partition, nodes: Mapping[int, Node]) -> int | None:
    """Return the replica that leads next, None if none may."""
    for node_id in partition.replicas:
        if node_id in partition.isr and not nodes[node_id].fenced:
            return node_id
    return None


def without(isr: tuple[int, ...], node_id: int) -> tuple[int, ...]:
    """Return the replicas in sync after one went down; the last one stays."""
    return tuple(each for each in isr if each != node_id) or isr


# -- topic names -----------------------------------------------------------------------------------


_LONGEST: Final = 249
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")


def fault_of_name(name: str) -> str | None:
    """Return why no topic may be called so, None if one may."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > _LONGEST:
        return (
            f"Topic name is invalid: the length of '{name}' is longer than the max allowed length "
            f"{_LONGEST}"
        )
    if not _LEGAL.fullmatch(name):
        return (
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII "
            "alphanumerics, '.', '_' and '-'"
        )
    return None


def collision(name: str, existing: Iterable[str]) -> str | None:
    """Return a topic whose metrics would have the same name: dots and underscores are one there."""
    if not {".", "_"} & set(name):
        return None
    same = name.replace(".", "_")
    found = (each for each in existing if each.replace(".", "_") == same)
    return next(found, None)


# -- refusal ---------------------------------------------------------------------------------------


class Refusal(NamedTuple):
    """An error as it goes on the wire.

    Args:
        code: what.
        message: text of a real broker, None where that sends none.
    """

    code: ErrorCode
    message: str | None


# -- topic configs ---------------------------------------------------------------------------------


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
