"""The target that both sticky assignors aim at: balanced first, then with the fewest moves.

Decides: which of two algorithms applies.
Never: withholds anything; that is the cooperative assignor's part.
KIPs: 54, 341.
"""

from collections.abc import Mapping, Sequence

from kgroup.assignors.claims import Holdings
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member
from kgroup.assignors.sticky_equal import plan_equal
from kgroup.assignors.sticky_unequal import plan_unequal

__all__ = ["plan_sticky"]


def plan_sticky(
    group: GroupSubscription, holdings: Holdings, walk: Sequence[Member] | None = None
) -> dict[str, Sequence[int]]:
    """Return member id -> indices of its partitions, in order, for every member of the group.

    Members that subscribe to nothing that exists take no part, and subscriptions are compared
    by the topics that exist: a pattern that matches nothing yet does not make a group unequal.

    Args:
        group: members, partitions and racks.
        holdings: who holds what now.
        walk: the members in the order that decides ties, None for the group's own order.
    """
    known = group.topics.keys()
    active = [m for m in (walk or group.members) if not known.isdisjoint(m.topics)]
    target: Mapping[str, Sequence[int]] = {}
    if active and all(len(each.members) == len(active) for each in group.audiences):
        target = plan_equal(group, holdings, active)
    elif active:
        target = plan_unequal(group, holdings, active)
    return {m.member_id: target.get(m.member_id, ()) for m in group.members}
