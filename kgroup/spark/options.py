"""The options of `format("kgroup")`, as typed by a user of Spark.

Decides: which options there are, what each may be, and what becomes of Kafka's own options
(`kafka.*`, in Java's names and milliseconds) and of kgroup's (`kgroup.*`).
Never: reads a file or a variable (`connecting` does, for secrets); asks a broker.
Source: the options of Spark's own Kafka source, where they mean the same.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final

from kgroup.config import ConsumerConfig
from kgroup.config.text import meant
from kgroup.errors import ConfigError
from kgroup.spark.where import Named, Where, assigned, place
from kgroup.types import Backend, Subscription
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """Everything a query says about its source.

    Args:
        topics: names, a pattern, or exact partitions (batch only).
        starting: where to begin, None when that was not said.
        ending: where a batch read ends.
        most_rows: most offsets of one micro-batch, None for no bound.
        least_rows: a micro-batch waits until there are so many, None for no wait.
        longest_delay: the longest such wait, seconds.
        partitions_at_least: tasks of one batch, when there are rows enough.
        headers: whether there is a column of headers.
        fence: whether there is a column of what fences a partition's owner.
        fails_on_data_loss: whether records that are gone end the query.
        rejoins: whether a query goes on after its membership was lost.
        pushes_down: whether filters of a batch read narrow what is fetched.
        patience: longest wait of a task without news of a record, seconds.
        config: option of `ConsumerConfig` -> value; secrets may be references.
    """

    topics: Subscription
    starting: Where | None = None
    ending: Where = Named.LATEST
    most_rows: int | None = None
    least_rows: int | None = None
    longest_delay: float = 900.0
    partitions_at_least: int | None = None
    headers: bool = False
    fence: bool = False
    fails_on_data_loss: bool = True
    rejoins: bool = False
    pushes_down: bool = False
    patience: float = 120.0
    config: Mapping[str, object] = field(default_factory=dict, repr=False)

    @property
    def group_id(self) -> str | None:
        """The group the query is a member of, None for a query in none."""
        group_id = self.config.get("group_id")
        return None if group_id is None else str(group_id)

    @staticmethod
    def of(given: Mapping[str, str], *, streaming: bool) -> "SourceOptions":
        """Read the options of one query.

        Args:
            given: name -> text; case of names does not count.
            streaming: whether it is a streaming query.

        Raises:
            ConfigError: an option is unknown, cannot be used, or contradicts another. It names the
                option and what would do.
        """
        own, config = _split({name.lower(): str(value) for name, value in given.items()})
        _check_mode(own, streaming=streaming)
        made: dict[str, Any] = {}
        for name, text in own.items():
            if name in _PLAIN:
                target, read = _PLAIN[name]
                made[target] = read(_NAMES[name], text)
        starting = place(own, "starting")
        ending = place(own, "ending") or Named.LATEST
        if ending in (Named.EARLIEST, Named.COMMITTED):
            raise ConfigError("endingOffsets", str(ending), "latest, or offsets as JSON")
        if starting is Named.COMMITTED and "group_id" not in config:
            expected = "'kafka.group.id' beside it: the group that has committed"
            raise ConfigError("startingOffsets", "committed", expected)
        if made.get("fence") and config.get("backend") != Backend.MARSHAL.value:
            expected = "kgroup.backend=marshal beside it: a classic generation orders no owners"
            raise ConfigError("includeFence", "true", expected)
        return SourceOptions(
            topics=_topics(own, streaming=streaming),
            starting=starting,
            ending=ending,
            config=MappingProxyType(config),
            **made,
        )


# -- kinds of values -------------------------------------------------------------------------------


def _whole(name: str, text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise ConfigError(name, text, "a whole number of at least 1")
    return int(text)


def _flag(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ConfigError(name, text, "true or false")
    return text.lower() == "true"


def _milliseconds(name: str, text: str) -> float:
    if not text.strip().isdecimal():
        raise ConfigError(name, text, "milliseconds, a whole number")
    return int(text) / 1000


_UNITS: Final = MappingProxyType(
    {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
)


def _delay(name: str, text: str) -> float:
    found = re.fullmatch(r"\s*(\d+)\s*(ms|s|min|m|h|d)\s*", text.lower())
    if found is None:
        raise ConfigError(name, text, "a number with a unit, such as 90s or 15m")
    return int(found[1]) * _UNITS[found[2]]


def _on_fenced(name: str, text: str) -> bool:
    if text.lower() not in ("fail", "rejoin"):
        raise ConfigError(name, text, "fail or rejoin")
    return text.lower() == "rejoin"


_PLAIN: Final[Mapping[str, tuple[str, Callable[[str, str], object]]]] = MappingProxyType(
    {
        "maxoffsetspertrigger": ("most_rows", _whole),
        "minoffsetspertrigger": ("least_rows", _whole),
        "maxtriggerdelay": ("longest_delay", _delay),
        "minpartitions": ("partitions_at_least", _whole),
        "includeheaders": ("headers", _flag),
        "includefence": ("fence", _flag),
        "failondataloss": ("fails_on_data_loss", _flag),
        "onfenced": ("rejoins", _on_fenced),
        "pushdown": ("pushes_down", _flag),
        "kafkaconsumer.polltimeoutms": ("patience", _milliseconds),
    }
)
"""Option, lower case -> field, and what reads it."""

_OTHERS: Final = (
    "subscribe",
    "subscribePattern",
    "assign",
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "endingOffsets",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "includeHeaders",
    "includeFence",
    "failOnDataLoss",
    "onFenced",
    "pushdown",
    "journal",
    "kafkaConsumer.pollTimeoutMs",
)
_NAMES: Final[Mapping[str, str]] = MappingProxyType({name.lower(): name for name in _OTHERS})

_STREAMING_ONLY: Final = (
    "maxoffsetspertrigger", "minoffsetspertrigger", "maxtriggerdelay", "onfenced", "journal",
    "includefence",
)  # fmt: skip
_BATCH_ONLY: Final = (
    "assign", "endingoffsets", "endingtimestamp", "endingoffsetsbytimestamp", "pushdown",
)  # fmt: skip


def _check_mode(own: Mapping[str, str], *, streaming: bool) -> None:
    wrong = _BATCH_ONLY if streaming else _STREAMING_ONLY
    for name in own:
        if name in wrong:
            kind, other = ("streaming", "batch") if streaming else ("batch", "streaming")
            expected = f"no such option in a {kind} query: it is one of {other} queries"
            raise ConfigError(_NAMES[name], own[name], expected)


# -- topics and places -----------------------------------------------------------------------------


def _topics(own: Mapping[str, str], *, streaming: bool) -> Subscription:
    ways = ("subscribe", "subscribepattern") + (() if streaming else ("assign",))
    found = [name for name in ways if name in own]
    if len(found) != 1:
        expected = f"exactly one of {', '.join(_NAMES[name] for name in ways)}"
        given = " and ".join(_NAMES[name] for name in found) or None
        raise ConfigError("subscribe", given, expected)
    (way,) = found
    text = own[way]
    if way == "assign":
        return Subscription(partitions=assigned(text))
    if way == "subscribepattern":
        try:
            re.compile(text)
        except re.error as error:
            raise ConfigError("subscribePattern", text, f"a pattern: {error}") from None
        return Subscription(pattern=text)
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ConfigError("subscribe", text, "names of topics, with commas between")
    return Subscription(topics=names)


# -- what goes to the consumer ---------------------------------------------------------------------

_BY_JAVA: Final[Mapping[str, str]] = MappingProxyType(
    {
        each.metadata["kafka"]: each.name
        for each in reversed(fields(ConsumerConfig))
        if each.metadata["kafka"] is not None
    }
)
_ALSO: Final[Mapping[str, str]] = MappingProxyType({"group.protocol": "group_protocol"})
"""Names of ours as Kafka writes them -> how they are written here."""
_OURS: Final = frozenset(each.name for each in fields(ConsumerConfig))

REFUSED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "auto_offset_reset": "startingOffsets instead, which says where a query begins",
        "enable_auto_commit": "no such option: what is in the sink is committed, and nothing else",
        "auto_commit_interval": "no such option: commits follow the sink",
        "guarantee": "at_least_once, the default: a batch that is run again would break the other",
        "ports": "no such option",
        "ssl_context": "files instead: ssl_cafile, ssl_certfile, ssl_keyfile",
        "sasl_oauth_token": "no function: a query is described by text",
        "sasl_oauth_extensions": "no function: a query is described by text",
        "on_deserialize_error": "no such option: keys and values are bytes",
        "max_poll_records": "maxOffsetsPerTrigger instead",
        "done_at": "no such option: what is in the sink is done",
        "pattern_on": "no such option: the driver finds the topics of a pattern",
        "stay_with_partition": "no such option",
        "isolated_heartbeats": "no such option: handlers do not run in the member's process",
    }
)
"""Options of the consumer that a query does not have -> what is said instead."""
_FOREIGN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "groupidprefix": "kafka.group.id, which makes the query a member of that group",
        "kafka.key.deserializer": "no such option: keys are bytes, and Spark casts them",
        "kafka.value.deserializer": "no such option: values are bytes, and Spark casts them",
        "kafka.sasl.jaas.config": "kgroup.sasl_username and kgroup.sasl_password",
    }
)


def _split(given: Mapping[str, str]) -> tuple[dict[str, str], dict[str, object]]:
    """Return the source's own options, and those of the consumer by their names there."""
    own: dict[str, str] = {}
    config: dict[str, object] = {}
    for name, text in given.items():
        if name in _FOREIGN:
            raise ConfigError(name, text, _FOREIGN[name])
        if name.startswith("kafka."):
            target = _BY_JAVA.get(name.removeprefix("kafka."))
            scaled = name.endswith(".ms")
        elif name.startswith("kgroup."):
            target, scaled = name.removeprefix("kgroup."), False
            target = _ALSO.get(target, target)
            target = target if target in _OURS else None
        elif name in _NAMES:
            if name == "journal":
                config["journal"] = text
            own[name] = text
            continue
        else:
            target, scaled = None, False
        if target is None:
            raise ConfigError(name, "(not shown)", "a known option", nearest=_nearest(name))
        if target in REFUSED:
            raise ConfigError(name, text, REFUSED[target])
        config[target] = _consumers(name, target, text, scaled=scaled)
    return own, config


def _consumers(name: str, target: str, text: str, *, scaled: bool) -> object:
    if scaled:
        return _milliseconds(name, text)
    if text.startswith(("env:", "file:")):
        return text
    try:
        return meant(target, text)
    except ConfigError as error:
        raise ConfigError(name, error.value, error.expected) from None


def _nearest(name: str) -> str | None:
    known = {
        **_NAMES,
        **{f"kafka.{each}": f"kafka.{each}" for each in _BY_JAVA},
        **{f"kgroup.{each}": f"kgroup.{each}" for each in _OURS},
    }
    found = get_close_matches(name, known, n=1)
    return known[found[0]] if found else None
