"""`kgroup marshal release`, `pause`, `resume` and `set-positions`: what changes a group.

Decides: what the words of a command line mean, and that anything not done makes the exit code 1.
Never: writes to the log itself; `kgroup.admin.marshal` does.
"""

import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, TypeVar

import typer

from kgroup.admin.marshal.claim_log import ClaimLog
from kgroup.admin.marshal.pauses import (
    PausePlan,
    pause_group,
    plan_pause,
    release_keys,
    resume,
)
from kgroup.admin.marshal.positions import (
    Asked,
    plan_positions,
    set_positions,
)
from kgroup.admin.marshal.settings import (
    AdminSettings,
    admin_name,
    check_kept_pause,
)
from kgroup.cli.connecting import Common, perform
from kgroup.cli.marshal import Log, Scope, with_desk
from kgroup.cli.marshal_targets import Targets, find_targets, read_targets
from kgroup.cli.tables import make_table, screen
from kgroup.marshal.admin import KeyMove, Stage
from kgroup.marshal.survey import Holder
from kgroup.net.cluster import Cluster
from kgroup.net.ports import system_ports
from kgroup.types import TopicPartition
from kgroup.values import dataclass

T = TypeVar("T")

_AdminName = Annotated[
    str | None,
    typer.Option(
        "--client-id",
        metavar="ID",
        help="Name of the caller: a pause binds everybody else in the group. By default a name "
        "that nobody else has; a call under an earlier name goes on with what that one left.",
    ),
]


_DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would change.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pausing:
    """What `kgroup marshal pause` takes.

    Args:
        seconds: how long.
        dry_run: whether nothing is written.
        client_id: name of the caller; None for a name that nobody else has.
    """

    seconds: Annotated[
        float,
        typer.Option(
            "--for",
            metavar="SECONDS",
            help="How long; beyond 3000 the command runs on, to renew it.",
        ),
    ] = 600.0
    dry_run: _DryRun = False
    client_id: _AdminName = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Releasing:
    """What `kgroup marshal release` takes.

    Args:
        patience: seconds to wait for members to let go.
        dry_run: whether nothing is written.
        client_id: name of the caller; None for a name that nobody else has.
    """

    patience: Annotated[
        float, typer.Option(min=1, help="Seconds to wait for members to let go.")
    ] = 150.0
    dry_run: _DryRun = False
    client_id: _AdminName = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resuming:
    """What `kgroup marshal resume` takes.

    Args:
        dry_run: whether nothing is written.
    """

    dry_run: _DryRun = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What `kgroup marshal set-positions` takes beside its targets.

    Args:
        pause: of the group, seconds; renewed while needed.
        patience: seconds to wait for members to let go.
        dry_run: whether nothing is written.
        client_id: name of the caller; None for a name that nobody else has.
    """

    pause: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="Of the group; renewed while it is needed."),
    ] = 60.0
    patience: Annotated[
        float, typer.Option(min=1, help="Seconds to wait for members to let go.")
    ] = 300.0
    dry_run: _DryRun = False
    client_id: _AdminName = None


def pause(asked: Pausing, scope: Scope, log: Log, common: Common) -> None:
    """Pause a group: its members let go of all keys, and nobody claims any."""
    check_kept_pause(asked.seconds)
    work = _At(scope, log, common, _named(asked.client_id))
    if asked.dry_run:
        work.show_plan(f"would be paused for {asked.seconds:g} s")
        return

    async def write(claim_log: ClaimLog) -> tuple[int, ...]:
        numbers = claim_log.places(scope.names)
        await pause_group(claim_log, numbers, asked.seconds, _say)
        return numbers

    numbers = work.do(write)
    text = f"group {scope.group} is paused for {asked.seconds:g} s by {work.client_id}"
    found = {"paused": asked.seconds, "client_id": work.client_id}
    work.tell(text, {**found, "coordination_partitions": list(numbers)})


def resume_group(asked: Resuming, scope: Scope, log: Log, common: Common) -> None:
    """End the pause of a group, also one of another administrator."""
    work = _At(scope, log, common)
    if asked.dry_run:
        work.show_plan("would go on")
        return
    numbers = work.do(lambda claim_log: resume(claim_log, claim_log.places(scope.names)))
    text = f"group {scope.group} goes on" if numbers else f"group {scope.group} was not paused"
    work.tell(text, {"resumed": bool(numbers), "coordination_partitions": list(numbers)})


def release(asked: Releasing, scope: Scope, log: Log, common: Common) -> None:
    """Have all members let go of their keys, by a short pause; then they claim again."""
    work = _At(scope, log, common, _named(asked.client_id))
    if asked.dry_run:
        work.show_plan("would let go of its keys, and claim again")
        return

    async def write(claim_log: ClaimLog) -> list[Holder]:
        return await release_keys(
            claim_log, claim_log.places(scope.names), scope.names, asked.patience, _say
        )

    left = work.do(write)
    text = f"group {scope.group} has let go of its keys, and claims again"
    work.tell(
        None if left else text, {"released": not left, "left": [_holder_json(h) for h in left]}
    )
    for each in left:
        text = f"{each.tp} is still claimed by {each.client_id}/{each.instance_id}"
        screen(stderr=True).print(text, markup=False)
    if left:
        raise typer.Exit(1)


def positions(targets: Targets, asked: Setting, scope: Scope, log: Log, common: Common) -> None:
    """Set positions of a group whose members run or not; keys not set make the exit code 1."""
    name = log.topic(common)
    limits = Asked(asked.pause, asked.patience)
    wanted = read_targets(targets, scope, now=time.time())
    settings = AdminSettings(scope.group, _named(asked.client_id), name, common.timeout)

    async def work(cluster: Cluster) -> tuple[KeyMove, ...]:
        found = await find_targets(cluster, wanted, scope, timeout=common.timeout)
        change = partial(_planned if asked.dry_run else _set, found, limits)
        return await with_desk(cluster, settings, None, change)

    moves = perform(common, work)
    if common.as_json:
        print(json.dumps(_moves_json(moves, dry_run=asked.dry_run), indent=2))
    else:
        _show_moves(moves, dry_run=asked.dry_run)
    if not asked.dry_run and any(move.stage is not Stage.SET for move in moves):
        raise typer.Exit(1)


async def _planned(
    targets: Mapping[TopicPartition, int], _: Asked, claim_log: ClaimLog
) -> tuple[KeyMove, ...]:
    return tuple((await plan_positions(claim_log, targets)).values())


async def _set(
    targets: Mapping[TopicPartition, int], limits: Asked, claim_log: ClaimLog
) -> tuple[KeyMove, ...]:
    return await set_positions(claim_log, targets, limits, _say)


@dataclass(frozen=True, slots=True)
class _At:
    """Where a verb does its work, and how it tells of it."""

    scope: Scope
    log: Log
    common: Common
    client_id: str = "kgroup-admin"

    def do(self, work: Callable[[ClaimLog], Awaitable[T]]) -> T:
        settings = AdminSettings(
            self.scope.group, self.client_id, self.log.topic(self.common), self.common.timeout
        )
        return perform(self.common, lambda cluster: with_desk(cluster, settings, None, work))

    def show_plan(self, would: str) -> None:
        """Say what a verb would change, and which client has what now."""
        names = self.scope.names

        async def look(claim_log: ClaimLog) -> PausePlan:
            return plan_pause(claim_log, claim_log.places(names), names)

        plan = self.do(look)
        now = f"it is paused for another {plan.left:.0f} s" if plan.left else "it is not paused"
        keys = [
            f"{each.tp} is claimed by {each.client_id}/{each.instance_id}" for each in plan.held
        ]
        lines = [f"group {self.scope.group} {would}; now {now}", *(keys or ["nobody has a key"])]
        found = {
            "dry_run": True,
            "coordination_partitions": list(plan.numbers),
            "paused_for": round(plan.left, 1),
            "held": [_holder_json(each) for each in plan.held],
        }
        self.tell("\n".join(lines), found)

    def tell(self, text: str | None, found: Mapping[str, Any]) -> None:
        if self.common.as_json:
            print(json.dumps({"group": self.scope.group, **found}))
        elif text is not None:
            screen().print(text, markup=False)


def _named(client_id: str | None) -> str:
    return admin_name(system_ports().dice) if client_id is None else client_id


def _say(text: str) -> None:
    """Tell of progress beside the answer."""
    screen(stderr=True).print(text, markup=False)


# -- what is shown -------------------------------------------------------------------------


def _show_moves(moves: Sequence[KeyMove], *, dry_run: bool) -> None:
    columns = ("partition", "was", "would be" if dry_run else "wanted", "", "")
    rows = [
        (
            str(move.tp),
            move.former,
            move.target,
            _change(move) if dry_run else move.stage.value,
            move.reason,
        )
        for move in moves
    ]
    screen().print(make_table(columns, rows))


def _change(move: KeyMove) -> str:
    if move.former is None:
        return "first position"
    return f"{move.target - move.former:+d}"


def _moves_json(moves: Sequence[KeyMove], *, dry_run: bool) -> list[dict[str, Any]]:
    return [
        {
            "topic": move.tp.topic,
            "partition": move.tp.partition,
            "former": move.former,
            "target": move.target,
            "result": "planned" if dry_run else move.stage.name.lower(),
            "reason": move.reason or None,
        }
        for move in moves
    ]


def _holder_json(holder: Holder) -> dict[str, Any]:
    return {
        "topic": holder.tp.topic,
        "partition": holder.tp.partition,
        "client_id": holder.client_id,
        "instance_id": holder.instance_id,
        "until": holder.until,
    }
