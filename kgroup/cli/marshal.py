"""`kgroup marshal init`, `state` and `watch`: the coordination topic, and what its log says.

Decides: what is asked for, and the exit codes.
Never: changes what a group has; `kgroup.cli.marshal_admin` has the verbs that do.
"""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Final, TypeVar

import typer

from kgroup.admin.marshal.claim_log import ClaimLog, claim_log
from kgroup.admin.marshal.settings import AdminSettings, SetUp, set_up
from kgroup.admin.marshal.verbs import MarshalAdmin
from kgroup.admin.marshal.watching import GroupChange, GroupChangeKind
from kgroup.cli.connecting import Common, consumer_config, perform, unwrapped
from kgroup.cli.marshal_shown import (
    State,
    set_up_json,
    set_up_lines,
    show_state,
    state_json,
    state_of,
)
from kgroup.cli.printing import on_one_line
from kgroup.cli.tables import screen
from kgroup.net.cluster import Cluster
from kgroup.values import dataclass

_MS: Final = 1000


def change_line(change: GroupChange) -> str:
    """Return the line for a person."""
    where = "group" if change.tp is None else str(change.tp)
    if change.kind is GroupChangeKind.LOST:
        where = f"coordination partition {change.partition}"
    words = [_at(change.time), where, change.kind.value]
    words += [f"by {change.client}"] if change.client else []
    words += [f"from {change.former}"] if change.former else []
    words += [f"at offset {change.offset}"] if change.offset is not None else []
    words += [f"epoch {change.epoch}"] if change.epoch is not None else []
    words += [f"until {_at(change.until)}"] if change.until is not None else []
    words += [change.reason] if change.reason else []
    return on_one_line("  ".join((words[0], " ".join(words[1:]))))


def change_json(change: GroupChange) -> dict[str, Any]:
    """Return the line for a program; times are milliseconds since the epoch."""
    tp = change.tp
    return {
        "what": change.kind.value.replace(" ", "_"),
        "coordination_partition": change.partition,
        "time": None if change.time < 0 else change.time,
        "topic": None if tp is None else tp.topic,
        "partition": None if tp is None else tp.partition,
        "client": change.client,
        "former": change.former,
        "epoch": change.epoch,
        "offset": change.offset,
        "until": change.until,
        "reason": change.reason,
    }


def _at(time: int) -> str:
    if time < 0:
        return "-"
    try:
        moment = datetime.fromtimestamp(time / _MS, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{time}ms"
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time % _MS:03}Z"


# -- marshal ---------------------------------------------------------------------------------------


T = TypeVar("T")

_NO_GROUP: Final = "kgroup-admin"
"""Nobody's group: what is read then is shown of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Which log of claims is meant.

    Args:
        coordination_topic: its topic; None for that of the file of --config, or `__marshal`.
    """

    coordination_topic: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Topic of the log of claims; __marshal by default."),
    ] = None

    def topic(self, common: Common) -> str:
        """Return its name."""
        return self.coordination_topic or consumer_config(common).coordination_topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Init:
    """What `kgroup marshal init` takes.

    Args:
        partitions: of a new topic.
        dry_run: whether nothing is made.
    """

    partitions: Annotated[
        int,
        typer.Option(min=1, help="Of a new topic; cannot be changed without stopping all members."),
    ] = 16
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be made.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What `kgroup marshal state` takes.

    Args:
        group: only this one; None for all.
        topics: only their keys; None for all.
        whole: whether the log is read from its first record.
        digest: whether a hash of what is known is shown, to be compared with another reader's.
    """

    group: Annotated[str | None, typer.Argument(help="Only this group.")] = None
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", metavar="NAME", help="Only this topic; may be repeated."),
    ] = None
    whole: Annotated[
        bool, typer.Option("--whole", help="Read the whole log, not its last hour.")
    ] = False
    digest: Annotated[
        bool, typer.Option("--digest", help="Show a hash of each coordination partition's state.")
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which keys of which group are meant.

    Args:
        group: its name.
        topics: only their keys; None for all.
    """

    group: Annotated[str, typer.Argument(help="Name of the group.")]
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", metavar="NAME", help="Only this topic; may be repeated."),
    ] = None

    @property
    def names(self) -> frozenset[str] | None:
        """The topics as a set, None for all."""
        return frozenset(self.topics) if self.topics else None


def init(asked: Init, log: Log, common: Common) -> None:
    """Make the coordination topic, or look whether the one that is there is fit."""
    name = log.topic(common)

    async def work(cluster: Cluster) -> SetUp:
        return await set_up(
            cluster, name, asked.partitions, dry_run=asked.dry_run, timeout=common.timeout
        )

    done = perform(common, work)
    if common.as_json:
        print(json.dumps(set_up_json(done, dry_run=asked.dry_run), indent=2))
        return
    for line in set_up_lines(done, dry_run=asked.dry_run):
        screen().print(line, markup=False)
    for warning in () if done.check is None else done.check.warnings:
        screen(stderr=True).print(f"warning: {warning.text}", markup=False)


async def with_desk(
    cluster: Cluster,
    settings: AdminSettings,
    topics: frozenset[str] | None,
    work: Callable[[ClaimLog], Awaitable[T]],
) -> T:
    """Do some work at the log of claims."""
    async with claim_log(cluster, settings, topics) as place:
        return await work(place)


def state(asked: Shown, log: Log, common: Common) -> None:
    """Show which client owns what, as the log of claims says."""
    name = log.topic(common)
    found = perform(common, partial(look, asked=asked, name=name, timeout=common.timeout))
    if common.as_json:
        print(json.dumps(state_json(found, digests=asked.digest), indent=2))
    else:
        show_state(found, digests=asked.digest)


async def look(cluster: Cluster, asked: Shown, name: str, timeout: float) -> State:
    """Read the log, and what the groups in it have committed.

    Raises:
        CoordinationTopicError, BrokerError, TimeoutError: it cannot be read.
    """
    group = asked.group or _NO_GROUP
    settings = AdminSettings(group, topic=name, timeout=timeout, whole=asked.whole)
    topics = frozenset(asked.topics) if asked.topics else None
    read = partial(state_of, group=asked.group, topics=topics)
    return await with_desk(cluster, settings, topics, read)


def watch(scope: Scope, log: Log, common: Common) -> None:
    """Print a line for each claim, takeover, release and pause of a group, until Ctrl-C."""
    more = {"coordination_topic": log.topic(common)}
    config = consumer_config(common, group_id=scope.group, more=more)
    admin = MarshalAdmin(config, timeout=common.timeout)

    async def play() -> None:
        async with admin.watch(scope.names) as changes:
            if not common.as_json:
                text = f"watching group {scope.group} in {config.coordination_topic}; Ctrl-C ends"
                screen(stderr=True).print(text, markup=False)
            async for change in changes:
                _as_json(change) if common.as_json else _as_line(change)

    unwrapped(play)


def _as_line(change: GroupChange) -> None:
    screen().print(change_line(change), markup=False)


def _as_json(change: GroupChange) -> None:
    print(json.dumps(change_json(change)), flush=True)
