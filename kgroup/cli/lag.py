"""`kgroup lag`: how far a group is behind, once or watched.

Decides: what is shown of each partition, and how fast things change between two looks.
Never: asks a broker itself; `kgroup.admin.groups` does.
"""

import json
from collections.abc import Callable
from contextlib import ExitStack
from typing import Annotated, Any, Protocol

import anyio
import typer
from rich.console import Group
from rich.live import Live
from rich.text import Text

from kgroup.admin.groups import GroupLag, PartitionLag, group_lag
from kgroup.cli.connecting import Common, perform
from kgroup.cli.marshal_hint import ClaimsOf, marshal_text
from kgroup.cli.tables import Cell, make_table, screen
from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError
from kgroup.net.cluster import Cluster
from kgroup.types import TopicPartition
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What `kgroup lag` takes.

    Args:
        group: its name.
        topics: only these, with all their partitions.
        watch: whether to look again and again.
        interval: seconds between two looks.
    """

    group: Annotated[str, typer.Argument(help="Name of the group.")]
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", metavar="NAME", help="Only this topic; may be repeated."),
    ] = None
    watch: Annotated[bool, typer.Option("--watch", help="Look again and again.")] = False
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 2.0


@dataclass(frozen=True, slots=True)
class Look:
    """What was found at one moment, and how it changes.

    Args:
        found: the group and its partitions.
        at: seconds on a clock that never goes back.
        before: the look before, None for the first.
        marshal: whether it is a Marshal group, None when that is not known.
    """

    found: GroupLag
    at: float
    before: "Look | None" = None
    marshal: bool | None = False

    def rates(self, tp: TopicPartition) -> tuple[float, float] | None:
        """Return records written and records committed per second, None when not known."""
        old = None if self.before is None else self.before.row(tp)
        new = self.row(tp)
        if self.before is None or old is None or new is None or self.at <= self.before.at:
            return None
        if old.end is None or new.end is None or old.committed is None or new.committed is None:
            return None
        passed = self.at - self.before.at
        read = new.committed.offset - old.committed.offset
        return (new.end - old.end) / passed, read / passed

    def row(self, tp: TopicPartition) -> PartitionLag | None:
        """Return what was found of a partition, None for nothing."""
        return next((row for row in self.found.partitions if row.tp == tp), None)


class Show(Protocol):
    """Shows one look."""

    def __call__(self, look: Look, /) -> object: ...


def lag(asked: Asked, common: Common) -> None:
    """Show how far a group is behind, partition by partition; a failed partition says why."""
    with ExitStack() as stack:
        show = _shower(asked, common, stack)
        claims, timeout = ClaimsOf.of(common), common.timeout
        perform(common, lambda cluster: watch(cluster, asked, show, claims, timeout=timeout))


def _shower(asked: Asked, common: Common, stack: ExitStack) -> Show:
    if common.as_json:
        indent = None if asked.watch else 2
        return lambda look: print(json.dumps(lag_json(look), indent=indent), flush=True)
    console = screen()
    if not asked.watch or not console.is_terminal:
        return lambda look: console.print(lag_table(look))
    live = stack.enter_context(Live(console=console, auto_refresh=False))
    return lambda look: live.update(lag_table(look), refresh=True)


async def watch(
    cluster: Cluster, asked: Asked, show: Show, claims: ClaimsOf, *, timeout: float
) -> None:
    """Look and show: once, or again and again until cancelled.

    While watching, a look that fails is skipped as long as an earlier one worked, and a group
    that is not there is waited for, which is said once.

    Raises:
        BrokerError, TimeoutError: see `group_lag`.
    """
    clock: Callable[[], float] = cluster.ports.clock
    look: Look | None = None
    waiting = False
    while True:
        began = clock()
        try:
            topics = asked.topics or ()
            found = await group_lag(cluster, asked.group, topics=topics, timeout=timeout)
            marshal = (await claims.look(cluster, [found.group]))[asked.group]
        except TimeoutError:
            if look is None or not asked.watch:
                raise
        except BrokerError as error:
            if error.code != ErrorCode.GROUP_ID_NOT_FOUND or not asked.watch:
                raise await claims.explained(cluster, asked.group, error) from None
            look = None
            if not waiting:
                explained_by = await claims.explained(cluster, asked.group, error)
                screen(stderr=True).print(f"{explained_by.message}; waiting for it", markup=False)
            waiting = True
        else:
            waiting = False
            previous = None if look is None else Look(look.found, look.at)
            look = Look(found, clock(), previous, marshal)
            show(look)
        if not asked.watch:
            return
        await anyio.sleep(max(asked.interval - (clock() - began), 0.0))


# -- what is shown -------------------------------------------------------------------------


def lag_table(look: Look) -> Group:
    """Return the table of one look, with totals below."""
    found = look.found
    members = found.group.members or ()
    said = f"{found.group.state}, {len(members)} members"
    said = marshal_text(found.group.group_id) if look.marshal else said
    title = f"{found.group.group_id}: {said}"
    columns = ["partition", "committed", "end", "lag", "owner", "metadata", ""]
    if look.before is not None:
        columns[4:4] = ["written/s", "read/s"]
    rows = [_row(look, row) for row in found.partitions]
    missing = f", {found.unknown} not known" if found.unknown else ""
    total = f"total lag {found.total} in {len(found.partitions)} partitions{missing}"
    if not rows:
        total = "the group has committed nothing and owns nothing"
    return Group(Text(title, style="bold"), make_table(columns, rows), Text(total))


def _row(look: Look, row: PartitionLag) -> list[Cell]:
    committed = row.committed
    cells: list[Cell] = [str(row.tp), None if committed is None else committed.offset]
    cells += [row.end, row.lag]
    if look.before is not None:
        rates = look.rates(row.tp)
        cells += [None, None] if rates is None else [f"{rate:.1f}" for rate in rates]
    cells += [_owner(row), committed.metadata or None if committed is not None else None]
    return [*cells, "" if row.error is None else Text(str(row.error), style="red")]


def _owner(row: PartitionLag) -> str | None:
    if row.owner is None:
        return None
    static = row.owner.group_instance_id
    return f"{row.owner.client_id} ({static})" if static else row.owner.client_id


def lag_json(look: Look) -> dict[str, Any]:
    """Return one look for programs."""
    found = look.found
    return {
        "group": found.group.group_id,
        "state": found.group.state,
        "marshal": look.marshal,
        "lag": found.total,
        "unknown": found.unknown,
        "partitions": [_row_json(look, row) for row in found.partitions],
    }


def _row_json(look: Look, row: PartitionLag) -> dict[str, Any]:
    owner, committed, rates = row.owner, row.committed, look.rates(row.tp)
    return {
        "topic": row.tp.topic,
        "partition": row.tp.partition,
        "committed": None if committed is None else committed.offset,
        "leader_epoch": None if committed is None else committed.leader_epoch,
        "metadata": None if committed is None else committed.metadata,
        "end": row.end,
        "lag": row.lag,
        "written_per_second": None if rates is None else round(rates[0], 3),
        "read_per_second": None if rates is None else round(rates[1], 3),
        "member_id": None if owner is None else owner.member_id,
        "group_instance_id": None if owner is None else owner.group_instance_id,
        "client_id": None if owner is None else owner.client_id,
        "error": None if row.error is None else str(row.error),
    }
