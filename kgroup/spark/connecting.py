"""The options of the consumer that a query's options make, and a worker's connections.

Decides: the defaults of a query; that secrets come from files and variables of the process that
connects; that a worker keeps one consumer for all tasks with the same options.
Never: joins a group in a worker.
"""

import json
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from kgroup.config import ConsumerConfig
from kgroup.errors import ConfigError
from kgroup.spark.options import SourceOptions
from kgroup.sync import Consumer

_DEFAULTS: Final[Mapping[str, object]] = MappingProxyType(
    {
        # The consumer's own list is eager: every round would wait for the running batch.
        "assignors": ("cooperative-sticky",),
        "client_id": "kgroup-spark",
        "enable_auto_commit": False,
        "max_poll_interval": 1800.0,
    }
)
_OF_MEMBERS: Final = frozenset(
    {
        "assignors",
        "backend",
        "claim_entire_topic",
        "claim_policy",
        "compat",
        "coordination_topic",
        "fast_reclaim",
        "group_id",
        "group_instance_id",
        "heartbeat_interval",
        "journal",
        "lease_margin",
        "marshal_heartbeat_interval",
        "max_claims",
        "max_poll_interval",
        "max_uncommitted",
        "rebalance_timeout",
        "session_timeout",
    }
)
"""Options that only a member has."""


def driver_config(options: SourceOptions, *, member: bool) -> ConsumerConfig:
    """Return the consumer's options on the driver's side.

    Args:
        options: of the query.
        member: whether there is a group.

    Raises:
        ConfigError: an option cannot be used, or a secret cannot be read.
    """
    given = {**_DEFAULTS, **options.config}
    if not member:
        given = {name: each for name, each in given.items() if name not in _OF_MEMBERS}
    return ConsumerConfig.of(_revealed(given))


def worker_consumer(options: SourceOptions) -> Consumer[bytes | None, bytes | None]:
    """Return this process's consumer for these options, entered; it is in no group.

    Raises:
        ConfigError, NoBrokerError: it cannot be made, or finds no broker.
    """
    given = {name: each for name, each in options.config.items() if name not in _OF_MEMBERS}
    given["auto_offset_reset"] = "none" if options.fails_on_data_loss else "earliest"
    given.update(client_id=given.get("client_id", "kgroup-spark"), max_poll_records=None)
    text = json.dumps(given, sort_keys=True)
    consumer = _consumer(os.getpid(), text)
    if consumer.failure is not None:
        _consumer.cache_clear()
        consumer = _consumer(os.getpid(), text)
    return consumer


@lru_cache(maxsize=1)
def _consumer(_process: int, text: str) -> Consumer[bytes | None, bytes | None]:
    """Make the consumer of a worker; a forked child has another process id, so it makes its own."""
    consumer = Consumer(config=ConsumerConfig.of(_revealed(json.loads(text))))
    consumer.__enter__()  # it lives as long as the worker
    return consumer


def _revealed(given: Mapping[str, object]) -> dict[str, object]:
    """Put what files and variables hold in the place of `file:...` and `env:...`."""
    return {name: _value(name, each) for name, each in given.items()}


def _value(name: str, given: object) -> object:
    kind, colon, where = given.partition(":") if isinstance(given, str) else ("", "", "")
    if not colon or kind not in ("env", "file"):
        return given
    if kind == "env":
        if where not in os.environ:
            expected = "the name of a variable that is set where the query runs"
            raise ConfigError(name, given, expected)
        return os.environ[where]
    try:
        return Path(where).read_text(encoding="utf-8").strip()
    except OSError as error:
        expected = f"a file that can be read where the query runs ({error.strerror})"
        raise ConfigError(name, given, expected) from None
