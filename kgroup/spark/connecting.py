"""The options of the consumer that a query's options make.

Decides: the defaults of a query; that secrets come from files and variables of the process that
connects.
Never: loads a consumer: three processes of Python check options before a query begins.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from kgroup.config import ConsumerConfig
from kgroup.errors import ConfigError
from kgroup.spark.options import SourceOptions
from kgroup.spark.where import Named, Where
from kgroup.types import Backend, GroupProtocol

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
OF_MEMBERS: Final = frozenset(
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
        "group_protocol",
        "heartbeat_interval",
        "journal",
        "lease_margin",
        "marshal_heartbeat_interval",
        "max_claims",
        "max_poll_interval",
        "max_uncommitted",
        "rebalance_timeout",
        "server_assignor",
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
    if _coordinator_divides(given) and "assignors" not in options.config:
        del given["assignors"]
    if member and given.get("backend") == Backend.MARSHAL.value:
        given["auto_offset_reset"] = _policy(options.starting)
    if not member:
        given = {name: each for name, each in given.items() if name not in OF_MEMBERS}
    return ConsumerConfig.of(revealed(given))


def _coordinator_divides(given: Mapping[str, object]) -> bool:
    """Tell whether no list of assignors is asked (KIP-848).

    Raises:
        ConfigError: a query leaves the choice of the protocol to the brokers.
    """
    protocol = given.get("group_protocol", GroupProtocol.CLASSIC)
    if protocol in (GroupProtocol.AUTO, GroupProtocol.AUTO.value):
        # Its members are cooperative where they are classic: that is an option of one protocol.
        raise ConfigError("kafka.group.protocol", "auto", "classic or consumer")
    return protocol in (GroupProtocol.CONSUMER, GroupProtocol.CONSUMER.value)


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


def check(options: SourceOptions) -> None:
    """Refuse options that the consumer refuses, before anything is begun.

    Raises:
        ConfigError: an option contradicts another, or cannot be used.
    """
    driver_config(options, member=options.group_id is not None)


def worker_config(options: SourceOptions) -> dict[str, object]:
    """Return the consumer's options in a worker, secrets not yet read; it is in no group."""
    given = {name: each for name, each in options.config.items() if name not in OF_MEMBERS}
    given = {**_OF_WORKERS, **given, "max_poll_records": None}
    given["auto_offset_reset"] = "none" if options.fails_on_data_loss else "earliest"
    return given


def revealed(given: Mapping[str, object]) -> dict[str, object]:
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
