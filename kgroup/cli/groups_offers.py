"""`kgroup groups offers`: what the members of a live group list, and whether a plan would work.

Decides: how a plan is written on a command line, and that what blocks makes the exit code 1.
Never: joins the group, or changes anything about it; see `kgroup.admin.offers`.
KIPs: 429 (from eager to cooperative), 848 (from lists of assignors to none).
"""

import json
from collections.abc import Sequence
from enum import Enum
from typing import Annotated, Any

import typer

from kgroup.admin.moving import obstacles_to_moving
from kgroup.admin.obstacles import Obstacle, Weight, find_obstacles
from kgroup.admin.offers import GroupOffers, MemberOffers, describe_offers
from kgroup.admin.offers_text import offers_in_words
from kgroup.cli.connecting import Common, perform
from kgroup.net.cluster import Cluster
from kgroup.values import dataclass


class To(Enum):
    """The protocol that members are to speak."""

    CONSUMER = "consumer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """What `kgroup groups offers` takes.

    Args:
        group: its name.
        steps: lists of assignors, names with commas between, in the order of the restarts.
        to: the protocol that members are to speak after their restart, None for theirs.
    """

    group: Annotated[str, typer.Argument(help="Name of the group.")]
    steps: Annotated[
        list[str] | None,
        typer.Option(
            "--next",
            metavar="NAME,...",
            help="Assignors that all members are to be restarted with, one by one; may be "
            "repeated, in the order of the restarts.",
        ),
    ] = None
    to: Annotated[
        To | None,
        typer.Option(
            "--to",
            metavar="consumer",
            help="Judge a change to the protocol of KIP-848, one member after the other.",
        ),
    ] = None


def offers(asked: Offers, common: Common) -> None:
    """Show which assignors a group's members list, as far as it can be known, and judge a plan.

    Exit code 1 when something blocks.
    """
    plan = plan_of(asked.steps or ())
    if plan and asked.to is not None:
        raise typer.BadParameter("--to and --next are two plans; members of KIP-848 have no list")

    async def look(cluster: Cluster) -> tuple[GroupOffers, tuple[Obstacle, ...]]:
        return await judge(cluster, asked.group, plan, to=asked.to, timeout=common.timeout)

    found, obstacles = perform(common, look)
    if common.as_json:
        print(json.dumps(offers_json(found, obstacles), indent=2))
    else:
        print(offers_in_words(found, obstacles))
    if any(each.weight is Weight.BLOCKS for each in obstacles):
        raise typer.Exit(1)


def plan_of(steps: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the lists that are meant by `a,b`.

    Raises:
        BadParameter: a list without a name.
    """
    plan = tuple(tuple(filter(None, map(str.strip, step.split(",")))) for step in steps)
    if not all(plan):
        raise typer.BadParameter("--next takes names of assignors, with commas between")
    return plan


async def judge(
    cluster: Cluster,
    group: str,
    plan: Sequence[Sequence[str]] = (),
    *,
    to: To | None = None,
    timeout: float,
) -> tuple[GroupOffers, tuple[Obstacle, ...]]:
    """Return what is known of a group, and what stands in the way of a plan for it.

    Raises:
        BrokerError, TimeoutError: see `describe_offers`.
    """
    first = plan[0] if plan else ()
    found = await describe_offers(cluster, group, ask=first, timeout=timeout)
    if to is To.CONSUMER:
        return found, obstacles_to_moving(found)
    return found, find_obstacles(found, *plan)


def offers_json(found: GroupOffers, obstacles: Sequence[Obstacle]) -> dict[str, Any]:
    """Return what is known as JSON; what is not known is null."""
    group = found.group
    return {
        "group": group.group_id,
        "state": group.state,
        "type": group.group_type.value,
        "assignor": group.assignor,
        "common": sorted(found.common),
        "not_common": sorted(found.not_common),
        "refusal": None if found.refusal is None else str(found.refusal),
        "members": [_member_json(each) for each in found.members],
        "obstacles": [
            {
                "kind": each.kind.name,
                "weight": each.weight.value,
                "step": each.step,
                "members": list(each.members),
                "text": each.text,
            }
            for each in obstacles
        ],
    }


def _member_json(one: MemberOffers) -> dict[str, Any]:
    return {
        "member_id": one.member.member_id,
        "group_instance_id": one.member.group_instance_id,
        "client_id": one.member.client_id,
        "lists": sorted(one.offers),
        "lacks": sorted(one.lacks),
        "rebalances": None if one.protocol is None else one.protocol.value,
        "subscription": one.version,
        "kept": None if one.version is None else one.kept,
    }
