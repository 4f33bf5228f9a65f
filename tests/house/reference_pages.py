"""The pages of `docs/reference`: which public name stands where.

Decides: the order of pages and names, and Kafka's name of each option.
Never: says what a name does; its docstring does.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from enum import Enum
from functools import cache, partial
from types import MappingProxyType
from typing import Final

import griffe

from kgroup.config import ConsumerConfig
from tests.house.reference import (
    Documented,
    arguments,
    calls,
    cell,
    describe,
    found,
    load,
    table,
)

_HEAD: Final = """\
# {title}

This page is written by `make docs` out of the docstrings; a test compares the two.
"""

_CALLS: Final = (
    ("Reading", "ReadingCalls"),
    ("Its own offsets", "OffsetCalls"),
    ("Logs and topics", "LogCalls"),
    ("The group", "GroupCalls"),
    ("Entering and closing", "Life"),
)

_BLOCKING: Final = (
    "sync.batch.Batch",
    "sync.batch.RecordIterator",
    "sync.batch.BatchIterator",
    "sync.batch.MembershipIterator",
)
_HEARING: Final = (
    "sync.api.AssignedListener",
    "sync.api.RevokedListener",
    "sync.api.LostListener",
)

_MARSHAL: Final = (
    "admin.marshal.verbs.MarshalAdmin",
    "admin.marshal.watching.GroupChanges",
    "admin.marshal.watching.GroupChange",
    "admin.marshal.watching.GroupChangeKind",
)
_RECORDS: Final = ("consumer.reads.record.Record", "consumer.reads.record.raw")
_HANDED_OUT: Final = (
    "consumer.reads.batch.Batch",
    "consumer.reads.iterators.BatchIterator",
    "consumer.reads.iterators.RecordIterator",
    "consumer.api.MembershipStream",
)
_COLUMNS: Final = (
    "consumer.buffer.chunk.Segment",
    "wire.records.columns.RecordColumns",
    "wire.records.header.TimestampType",
)
_LISTENER: Final = (
    "consumer.api.Listener",
    "consumer.api.AssignedListener",
    "consumer.api.RevokedListener",
    "consumer.api.LostListener",
    "types.OwnershipChange",
    "types.ChangeKind",
    "types.Cause",
    "types.Claim",
)

_PROCESSING: Final = (
    "processing.processor.Processor",
    "processing.processor.Drain",
    *(
        f"processing.choices.{name}"
        for name in (
            "AtLeastOnce",
            "AutoCommit",
            "InParallel",
            "AtMostOnce",
            "EffectivelyOnce",
            "Per",
            "Order",
            "Raise",
            "Wait",
            "Evict",
            "Relinquish",
            "Requeue",
            "DeadLetter",
        )
    ),
    "processing.sqlite.SqliteStore",
    "processing.postgres.PostgresStore",
    "processing.yielding.YieldingAssignor",
    "processing.store.Store",
    "processing.store.Hold",
    "processing.locks.Locked",
    "processing.locks.per_partition",
    "processing.locks.per_key",
    "processing.locks.ExternalLock",
    "processing.locks.Grant",
    "processing.sqlite_lock.SqliteLock",
    "processing.redis_lock.RedisLock",
    "processing.reports.Report",
    "processing.reports.ReportKind",
)

_HEALTH: Final = (
    "observe.health.Monitor",
    "observe.health.Limits",
    "observe.stalls.StallLimits",
    "observe.health.Health",
    "observe.stalls.Stall",
    "observe.stalls.StallKind",
    "observe.health.StallStream",
    "observe.health_server.serving",
    "observe.vitals.Vitals",
    "observe.vitals.Part",
    "observe.vitals.Pulse",
)

_ASSIGNORS: Final = (
    "assignors.api.Assignor",
    "assignors.api.UserDataAssignor",
    "assignors.api.LastAssignment",
    "assignors.group.GroupSubscription",
    "assignors.group.Audience",
    "assignors.assignment.Draft",
    "assignors.member.Member",
    "assignors.member.PartitionRacks",
    "assignors.assignment.GroupAssignment",
    "assignors.leader.divide",
    "assignors.verify.verify",
    "types.RebalanceProtocol",
    "config.plugins.found_assignors",
    "assignors.registry.FoundAssignor",
)
_CONFORMANCE: Final = (
    "assignors.conformance.kit.suite",
    "assignors.conformance.kit.run",
    "assignors.conformance.promises.Claims",
    "assignors.conformance.report.Report",
    "assignors.conformance.report.Outcome",
    "assignors.conformance.report.Status",
)
_BUILT_IN: Final = (
    "assignors.range.RangeAssignor",
    "assignors.roundrobin.RoundRobinAssignor",
    "assignors.sticky.StickyAssignor",
    "assignors.cooperative_sticky.CooperativeStickyAssignor",
)

_BROKER: Final = (
    "testing.broker.inprocess.InProcessBroker",
    "testing.broker.settings.BrokerSettings",
)
_HANDLES: Final = (
    "testing.broker.inprocess.Served",
    "testing.broker.handles_group.GroupHandle",
    "testing.broker.group_view.GroupView",
    "testing.broker.group_view.MemberView",
    "testing.broker.handles.PartitionHandle",
    "testing.broker.handles.StoredRecord",
    "testing.broker.handles.NodeHandle",
    "testing.broker.server.faults.Answers",
    "testing.broker.server.misdeeds.Rule",
    "testing.broker.server.misdeeds.Held",
    "testing.broker.server.misdeeds.HeldRequests",
    "testing.broker.server.switchboard.Arrival",
)
_VIRTUAL: Final = (
    "testing.virtual_time.virtual_backend",
    "testing.virtual_time.virtual_ports",
)


@cache
def source() -> griffe.Module:
    """Return kgroup as griffe reads it, once."""
    return load()


def _named(path: str) -> Documented:
    return found(source(), path)


def _consumer() -> str:
    blocks = [describe(_named("consumer.api.Consumer"), inherited=False)]
    for title, path in _CALLS:
        blocks += [f"## {title}", calls(_named(f"consumer.api.{path}"))]
    return "\n\n".join(blocks)


def _sync() -> str:
    blocks = [describe(_named("sync.api.Consumer"), inherited=False)]
    for title, path in _CALLS:
        blocks += [f"## {title}", calls(_named(f"sync.api.{path}"))]
    return "\n\n".join((*blocks, _each(*_BLOCKING, made=False), _each(*_HEARING)))


def _each(*paths: str, made: bool = True) -> str:
    return "\n\n".join(describe(_named(path), made=made) for path in paths)


def _batches() -> str:
    return "\n\n".join(
        (_each(*_RECORDS), _each(*_HANDED_OUT, made=False), _each(*_COLUMNS, made=False))
    )


def _all_of(module: str, *, without: Collection[str] = ()) -> str:
    paths = [f"{module}.{name}" for name in source()[module].exports or ()]
    return _each(*(path for path in paths if path not in without))


def _testing() -> str:
    return "\n\n".join((_each(*_BROKER), _each(*_HANDLES, made=False), _each(*_VIRTUAL)))


def _errors() -> str:
    """The tree first, then each error in alphabetical order."""
    named = {name: _named(f"errors.{name}") for name in source()["errors"].exports or ()}
    bases = {
        str(name): [str(base) for base in error.bases]
        for name, error in named.items()
        if isinstance(error, griffe.Class)
    }
    tree = "\n".join(_branch("KGroupError", bases, 0))
    return f"```text\n{tree}\n```\n\n{_all_of('errors')}"


def _branch(name: str, bases: Mapping[str, list[str]], depth: int) -> list[str]:
    lines = [f"{'    ' * depth}{name}"]
    for kind in sorted(kind for kind, above in bases.items() if above[:1] == [name]):
        lines += _branch(kind, bases, depth + 1)
    return lines


def _options() -> str:
    """One row per option: the spelling it takes, its default, what it is for, Kafka's name."""
    config = _named("config.consumer_config.ConsumerConfig")
    meanings = {each.name: each.description for each in arguments(config)}
    spellings = {
        name: option.annotation
        for name, option in _named("config.options.ConsumerOptions").members.items()
        if isinstance(option, griffe.Attribute)
    }
    rows = {
        option.name: (
            f"`{option.name}`",
            f"`{cell(spellings[option.name])}`",
            f"`{cell(_shown_value(option.default))}`",
            cell(meanings[option.name]),
            f"`{kafka}`" if (kafka := option.metadata["kafka"]) else "",
        )
        for option in fields(ConsumerConfig)
    }
    heads = ("option", "type", "default", "meaning", "in Kafka's consumer")
    lead = (
        "Each is a keyword of `Consumer` and of `ConsumerConfig`. `Duration` is seconds as a float "
        "or a `timedelta`; sizes are bytes. From a goal to options: [tuning](../how-to/tuning.md)."
    )
    parts = [lead]
    for purpose, names in _by_purpose(list(rows)).items():
        parts += [f"## {purpose}", table(heads, [rows[name] for name in names])]
    there = "config.consumer_config.ConsumerConfig"
    return "\n\n".join((*parts, _each(f"{there}.of", f"{there}.doubts")))


_PURPOSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "bootstrap_servers": "Where the brokers are, and who you are",
        "session_timeout": "Membership and rebalances",
        "auto_offset_reset": "Where reading begins, and what is committed",
        "on_deserialize_error": "What is handed out, and when it is done",
        "fetch_min_bytes": "Fetching and memory",
        "request_timeout": "Requests and connections",
        "metadata_max_age": "Topics",
        "backend": "Marshal groups",
        "security_protocol": "TLS and SASL",
        "journal": "Event log, and tests",
    }
)
"""First option of each purpose -> the purpose; the others follow in the order of the class."""

_ELSEWHERE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "max_poll_records": "on_deserialize_error",
        "stay_with_partition": "on_deserialize_error",
        "done_at": "on_deserialize_error",
        "check_crcs": "fetch_min_bytes",
        "max_decompressed_bytes": "fetch_min_bytes",
    }
)
"""Option -> the purpose it stands under, where that is not the one it follows in the class."""


def _by_purpose(options: list[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {purpose: [] for purpose in _PURPOSES.values()}
    purpose = ""
    for name in options:
        purpose = _PURPOSES.get(name, purpose)
        groups[_PURPOSES.get(_ELSEWHERE.get(name, ""), purpose)].append(name)
    return groups


def _shown_value(default: object) -> str:
    if isinstance(default, Enum):
        return repr(default.value if isinstance(default.value, str) else default.name.lower())
    return repr(default)


def _types() -> str:
    return _all_of("types", without={*_LISTENER, *_ASSIGNORS})


_CONTENTS: Final[Mapping[str, tuple[str, Callable[[], str]]]] = MappingProxyType(
    {
        "consumer.md": ("The consumer", _consumer),
        "sync.md": ("The blocking consumer", _sync),
        "config.md": ("Options", _options),
        "records.md": ("Records and batches", _batches),
        "listener.md": ("The listener", partial(_each, *_LISTENER)),
        "types.md": ("Types", _types),
        "errors.md": ("Errors", _errors),
        "processing.md": ("Processing records", partial(_each, *_PROCESSING)),
        "health.md": ("Health and stalls", partial(_each, *_HEALTH)),
        "marshal.md": ("Marshal groups from outside", partial(_each, *_MARSHAL)),
        "assignors.md": ("Assignors", partial(_each, *_ASSIGNORS, *_CONFORMANCE, *_BUILT_IN)),
        "testing.md": ("A Kafka for tests", _testing),
    }
)


def _page(title: str, body: Callable[[], str]) -> str:
    return f"{_HEAD.format(title=title)}\n{body()}\n"


def _index() -> str:
    rows = "\n".join(f"- [{title}]({name})" for name, (title, _) in _CONTENTS.items())
    return f"{_HEAD.format(title='Reference')}\n{rows}\n"


PAGES: Final[Mapping[str, Callable[[], str]]] = MappingProxyType(
    {
        "README.md": _index,
        **{name: partial(_page, title, body) for name, (title, body) in _CONTENTS.items()},
    }
)
"""File below `docs/reference` -> what writes it."""
