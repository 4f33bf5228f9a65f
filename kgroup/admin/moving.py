"""What stands in the way when the members of a group are to speak the protocol of KIP-848.

Decides: what of a group lets its coordinator refuse the first member of that protocol, and what is
different once it is in.
Never: asks anybody; all it knows is in `GroupOffers`. The brokers' migration policy is not among
it: a client cannot ask for it, unless it may describe their configs.
KIPs: 848, 1099 (which protocol a member speaks).

Members are replaced one by one. With the first one of the new protocol the coordinator divides for
all of them, so it must be able to do without the group's assignor.
"""

from collections.abc import Iterator
from typing import Final

from kgroup.admin.obstacles import Obstacle, ObstacleKind, Weight, find_obstacles, member_ids
from kgroup.admin.offers import GroupOffers
from kgroup.net.group_description import GroupType

_STILL_MATTER: Final = frozenset(
    {
        ObstacleKind.OTHER_TYPE,
        ObstacleKind.NOT_SETTLED,
        ObstacleKind.UNREADABLE,
        ObstacleKind.STATIC_MEMBERS,
        ObstacleKind.DIFFERENT_TOPICS,
        ObstacleKind.BOTH_PROTOCOLS,
    }
)
"""Obstacles in any group; the others are about lists of assignors, which nobody has then."""

_COORDINATORS: Final = frozenset({"uniform", "range"})


def obstacles_to_moving(offers: GroupOffers) -> tuple[Obstacle, ...]:
    """Return what stands in the way of members with `group_protocol="consumer"`, gravest first.

    Args:
        offers: of the live group; of one that has moved already, nothing of it blocks.
    """
    kept = (each for each in find_obstacles(offers) if each.kind in _STILL_MATTER)
    found = [*kept, *_of_the_assignor(offers)]
    order = list(Weight)
    return tuple(sorted(found, key=lambda each: order.index(each.weight)))


def _of_the_assignor(offers: GroupOffers) -> Iterator[Obstacle]:
    group = offers.group
    if group.group_type is not GroupType.CLASSIC or not offers.has_lists:
        return
    if customs := [one for one in offers.members if one.member.user_data]:
        yield Obstacle(
            ObstacleKind.USER_DATA,
            Weight.BLOCKS,
            f"the assignor in use, {group.assignor!r}, sends data of its own to members, which the "
            "coordinator cannot: it refuses members of the other protocol (GROUP_ID_NOT_FOUND). "
            "Restart all members with an assignor such as 'cooperative-sticky' first",
            member_ids(customs),
        )
    elif group.assignor is not None and group.assignor not in _COORDINATORS:
        yield Obstacle(
            ObstacleKind.OTHER_ASSIGNOR,
            Weight.NOTE,
            f"the assignor in use, {group.assignor!r}, is not asked any more: the coordinator "
            "divides, by server_assignor 'uniform' or 'range', or one that its brokers were given",
        )
