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
from kgroup.spark.where import Named, Where
from kgroup.sync import Consumer
from kgroup.types import Backend

_DEFAULTS: Final[Mapping[str, object]] = MappingProxyType(
    {
        # The consumer's own list is eager: every round would wait for the running batch.
        "assignors": ("cooperative-sticky",),
        "client_id": "kgroup-spark",
        "enable_auto_commit": False,
        "max_poll_interval": 1800.0,
    }
)
_OF_WORKERS: Final[Mapping[str, object]] = MappingProxyType(
    {
        "client_id": "kgroup-spark",
        # A task hands its records on at once: what is ready for later only takes memory.
        "prefetch_max_bytes": 8 * 1024 * 1024,
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
    if member and given.get("backend") == Backend.MARSHAL.value:
        given["auto_offset_reset"] = _policy(options.starting)
    if not member:
        given = {name: each for name, each in given.items() if name not in _OF_MEMBERS}
    return ConsumerConfig.of(_revealed(given))


def _policy(starting: Where | None) -> str:
    """Return where a claim begins that nobody has had: it says so in the log, before it is read.

    Raises:
        ConfigError: no policy says it.
    """
    if starting is Named.EARLIEST:
        return "earliest"
    if starting in (None, Named.LATEST, Named.COMMITTED):
        return "latest"
    expected = (
        "earliest or latest in a group that claims by a log; `kgroup marshal set-positions` sets "
        "other positions"
    )
    raise ConfigError("startingOffsets", "offsets or times", expected)


def worker_consumer(options: SourceOptions) -> Consumer[bytes | None, bytes | None]:
    """Return this process's consumer for these options, entered; it is in no group.

    Raises:
        ConfigError, NoBrokerError: it cannot be made, or finds no broker.
    """
    given = {name: each for name, each in options.config.items() if name not in _OF_MEMBERS}
    given = {**_OF_WORKERS, **given, "max_poll_records": None}
    given["auto_offset_reset"] = "none" if options.fails_on_data_loss else "earliest"
    return _worker(os.getpid()).consumer(given)


def disconnect_worker() -> None:
    """End this process's consumer, if there is one. The next task makes another."""
    _worker(os.getpid()).close()


@lru_cache(maxsize=1)
def _worker(_process: int) -> "_Worker":
    """Return what this process keeps; a forked child has another id, and begins with nothing."""
    return _Worker()


class _Worker:
    """What a worker keeps between tasks: one consumer, of the options that were wanted last."""

    def __init__(self) -> None:
        self._kept: Consumer[bytes | None, bytes | None] | None = None
        self._options = ""

    def consumer(self, given: Mapping[str, object]) -> Consumer[bytes | None, bytes | None]:
        """Return the consumer of these options: the one that is kept, if it still works."""
        text = json.dumps(given, sort_keys=True)
        if self._kept is None or self._options != text or self._kept.failure is not None:
            self.close()
            made = Consumer[bytes | None, bytes | None](config=ConsumerConfig.of(_revealed(given)))
            made.__enter__()  # it lives longer than the task
            self._kept, self._options = made, text
        return self._kept

    def close(self) -> None:
        """Disconnect."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.__exit__(None, None, None)


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
