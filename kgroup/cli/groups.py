"""`kgroup groups`: what groups there are, their members, and removing members and groups.

Decides: what is shown of a group, and that one member that stays makes the exit code 1.
Never: asks a coordinator itself; `kgroup.net.group_description` and `group_admin` do.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeAlias

import typer

from kgroup.admin.groups import Eviction, delete_group, evict_members
from kgroup.cli.connecting import Common, perform
from kgroup.cli.marshal_hint import ClaimsOf, marshal_text
from kgroup.cli.tables import Cell, make_table, screen
from kgroup.cli.verbs import ask_first
from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError
from kgroup.net.cluster import Cluster
from kgroup.net.group_description import (
    GroupDescription,
    GroupListing,
    GroupMember,
    describe_known_group,
    list_groups,
)
from kgroup.types import TopicPartition
from kgroup.values import dataclass

Marshal: TypeAlias = Mapping[str, bool | None]
"""Of each group, whether it is a Marshal group; None when that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneGroup:
    """What `kgroup groups show` takes: the name of a group."""

    group: Annotated[str, typer.Argument(help="Name of the group.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evict:
    """What `kgroup groups evict` takes.

    Args:
        group: its name.
        instances: group instance ids of static members.
        members: member ids.
        reason: for the coordinator's log.
    """

    group: Annotated[str, typer.Argument(help="Name of the group.")]
    instances: Annotated[
        list[str] | None,
        typer.Option("--instance", metavar="ID", help="Static member; may be repeated."),
    ] = None
    members: Annotated[
        list[str] | None,
        typer.Option("--member", metavar="ID", help="Member by its id; may be repeated."),
    ] = None
    reason: Annotated[str, typer.Option(help="Told to the coordinator.")] = "kgroup groups evict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """What `kgroup groups delete` takes.

    Args:
        groups: their names.
        yes: whether nobody needs to be asked.
    """

    groups: Annotated[list[str], typer.Argument(metavar="GROUP", help="Groups to delete.")]
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False


def listing(common: Common) -> None:
    """List groups; exit code 1 when a broker could not be asked for all of its own."""
    claims = ClaimsOf.of(common)

    async def ask(cluster: Cluster) -> tuple[GroupListing, Marshal]:
        listing = await list_groups(cluster, timeout=common.timeout)
        return listing, await claims.look(cluster, listing.groups)

    found, marshal = perform(common, ask)
    if common.as_json:
        print(json.dumps([_group_json(group, marshal) for group in found.groups], indent=2))
    else:
        _show_listing(found, marshal)
    for node_id, error in sorted(found.errors.items()):
        screen(stderr=True).print(f"node {node_id}: {error}", markup=False)
    if found.errors:
        raise typer.Exit(1)


def show(asked: OneGroup, common: Common) -> None:
    """Show a group: its members, where they run, and what each is assigned."""
    claims = ClaimsOf.of(common)

    async def ask(cluster: Cluster) -> tuple[GroupDescription, Marshal]:
        try:
            group = await describe_known_group(cluster, asked.group, timeout=common.timeout)
        except BrokerError as error:
            raise await claims.explained(cluster, asked.group, error) from None
        return group, await claims.look(cluster, [group])

    group, marshal = perform(common, ask)
    if common.as_json:
        print(json.dumps(_described_json(group, marshal), indent=2))
    else:
        _show_group(group, marshal)


def evict(asked: Evict, common: Common) -> None:
    """Remove members, so that nobody waits for their sessions; exit code 1 when one stays."""
    if not asked.instances and not asked.members:
        raise typer.BadParameter("--instance or --member is needed: which member is to go?")
    fates = perform(common, lambda cluster: evict_from(cluster, asked, timeout=common.timeout))
    if common.as_json:
        print(json.dumps([_fate_json(fate) for fate in fates], indent=2))
    else:
        for fate in fates:
            print(f"{fate}: {_fate_text(asked.group, fate)}")
    if any(fate.error is not None for fate in fates):
        raise typer.Exit(1)


async def evict_from(cluster: Cluster, asked: Evict, *, timeout: float) -> tuple[Eviction, ...]:
    """Remove the members that are named, and say what became of each.

    Raises:
        BrokerError: there is no such group, or refused as a whole.
        TimeoutError: no answer in time; they may be removed.
    """
    leavers = [Eviction(group_instance_id=name) for name in dict.fromkeys(asked.instances or ())]
    leavers += [Eviction(member_id=name) for name in dict.fromkeys(asked.members or ())]
    await describe_known_group(cluster, asked.group, timeout=timeout)
    return await evict_members(cluster, asked.group, leavers, reason=asked.reason, timeout=timeout)


def delete(asked: Delete, common: Common) -> None:
    """Delete groups without members, and what they have committed."""

    async def check(cluster: Cluster) -> None:
        for name in asked.groups:
            await describe_known_group(cluster, name, timeout=common.timeout)

    async def carry_out(cluster: Cluster) -> None:
        for name in asked.groups:
            await delete_empty(cluster, name, timeout=common.timeout)
            if not common.as_json:
                print(f"deleted group {name}")

    perform(common, check)
    if not asked.yes:
        ask_first(f"Delete {', '.join(asked.groups)} and all committed offsets?")
    perform(common, carry_out)
    if common.as_json:
        print(json.dumps({"deleted": asked.groups}))


async def delete_empty(cluster: Cluster, group: str, *, timeout: float) -> None:
    """Delete a group; one that has members is left alone, and the error names the way out.

    Raises:
        BrokerError, TimeoutError: see `delete_group`.
    """
    try:
        await delete_group(cluster, group, timeout=timeout)
    except BrokerError as error:
        if error.code != ErrorCode.NON_EMPTY_GROUP:
            raise
        text = f"{group} has members: end them, or remove them with `kgroup groups evict {group}`"
        raise BrokerError(error.api, error.code, text) from None


# -- what is shown -------------------------------------------------------------------------


def _show_listing(found: GroupListing, marshal: Marshal) -> None:
    columns = ("group", "state", "members", "protocol type", "type", "assignor", "coordinator", "")
    rows = [
        (
            group.group_id,
            None if marshal[group.group_id] else group.state,
            None if group.members is None or marshal[group.group_id] else len(group.members),
            group.protocol_type,
            group.group_type.value,
            group.assignor,
            group.coordinator,
            marshal_text(group.group_id) if marshal[group.group_id] else "",
        )
        for group in found.groups
    ]
    screen().print(make_table(columns, rows) if rows else "no groups that you may see")


def _show_group(group: GroupDescription, marshal: Marshal) -> None:
    console = screen()
    facts = [group.state, f"{len(group.members or ())} members"]
    facts = [marshal_text(group.group_id)] if marshal[group.group_id] else facts
    facts += [] if marshal[group.group_id] else [f"{group.group_type.value} protocol"]
    facts += [f"assignor {group.assignor}"] if group.assignor else []
    title = f"{group.group_id}: {', '.join(facts)}, coordinator is node {group.coordinator}"
    console.print(title, markup=False, style="bold")
    if group.members:
        columns = ("member", "instance", "client", "host", "assigned")
        console.print(make_table(columns, [_member_row(member) for member in group.members]))


def _member_row(member: GroupMember) -> tuple[Cell, ...]:
    assigned = (
        None if member.partitions is None else partitions_in_words(member.partitions) or "nothing"
    )
    host = member.client_host.removeprefix("/")
    return member.member_id, member.group_instance_id, member.client_id, host, assigned


def partitions_in_words(partitions: Sequence[TopicPartition]) -> str:
    """Return partitions in few words: `orders 0-3 7, stock 1`."""
    numbers: dict[str, list[int]] = {}
    for tp in sorted(partitions):
        numbers.setdefault(tp.topic, []).append(tp.partition)
    return ", ".join(f"{topic} {_runs(each)}" for topic, each in numbers.items())


def _runs(numbers: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


def _group_json(group: GroupDescription, marshal: Marshal) -> dict[str, Any]:
    return {
        "group": group.group_id,
        "state": group.state,
        "type": group.group_type.value,
        "protocol_type": group.protocol_type,
        "assignor": group.assignor,
        "members": None if group.members is None else len(group.members),
        "coordinator": group.coordinator,
        "marshal": marshal[group.group_id],
    }


def _described_json(group: GroupDescription, marshal: Marshal) -> dict[str, Any]:
    members = [_member_json(member) for member in group.members or ()]
    return {**_group_json(group, marshal), "members": members}


def _member_json(member: GroupMember) -> dict[str, Any]:
    partitions = None
    if member.partitions is not None:
        partitions = [{"topic": tp.topic, "partition": tp.partition} for tp in member.partitions]
    return {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "topics": None if member.topics is None else list(member.topics),
        "assigned": partitions,
    }


def _fate_text(group: str, fate: Eviction) -> str:
    if fate.error is None:
        return "removed"
    if fate.error.code == ErrorCode.UNKNOWN_MEMBER_ID:
        return f"no member of {group}"
    return str(fate.error)


def _fate_json(fate: Eviction) -> dict[str, Any]:
    return {
        "member_id": fate.member_id,
        "group_instance_id": fate.group_instance_id,
        "removed": fate.error is None,
        "error": None if fate.error is None else str(fate.error),
    }
