"""The target that both sticky assignors aim at: balanced first, then with the fewest moves.

Decides: which of two algorithms applies.
Never: withholds anything; that is the cooperative assignor's part.
KIPs: 54, 341.
"""

from collections.abc import Mapping, Sequence

from kgroup.assignors.claims import SettledClaims
from kgroup.assignors.group import GroupSubscription, group_racks_matter
from kgroup.assignors.member import Member
from kgroup.assignors.sticky_balance import find_levels
from kgroup.assignors.sticky_census import take_census
from kgroup.assignors.sticky_deal import deal
from kgroup.assignors.sticky_equal import plan_equal
from kgroup.assignors.sticky_moves import SEARCH_LIMIT, settle_level
from kgroup.assignors.sticky_shares import Shares, Weights


def plan_unequal(
    group: GroupSubscription,
    settled: SettledClaims,
    walk: Sequence[Member],
    *,
    limit: int = SEARCH_LIMIT,
) -> dict[str, list[int]]:
    """Return member id -> indices of its partitions, in order.

    Args:
        group: partitions, subscribers and racks.
        settled: what members hold now.
        walk: the members that subscribe to something, in the order that decides ties.
        limit: of the search for the fewest moves, in arcs looked at. Beyond it the result is as
            balanced, but may move more than necessary.
    """
    census = take_census(group, walk, racks=group_racks_matter(group))
    owned, own = census.owned(settled, walk)
    weights = Weights(move=len(group.partitions) + 1, far=1)
    shares: list[Shares] = []
    for level in find_levels(census):
        shares.append(settle_level(census, level, own, weights, limit))
        limit -= shares[-1].looked
    given = deal(group, census, owned, shares)
    return {member.member_id: given[place] for place, member in enumerate(walk)}


def plan_sticky(
    group: GroupSubscription, settled: SettledClaims, walk: Sequence[Member] | None = None
) -> dict[str, Sequence[int]]:
    """Return member id -> indices of its partitions, in order, for every member of the group.

    Members that subscribe to nothing that exists take no part, and subscriptions are compared
    by the topics that exist: a pattern that matches nothing yet does not make a group unequal.

    Args:
        group: members, partitions and racks.
        settled: what members hold now.
        walk: the members in the order that decides ties, None for the group's own order.
    """
    known = group.topics.keys()
    active = [m for m in (walk or group.members) if not known.isdisjoint(m.topics)]
    target: Mapping[str, Sequence[int]] = {}
    if active and all(len(each.members) == len(active) for each in group.audiences):
        target = plan_equal(group, settled, active)
    elif active:
        target = plan_unequal(group, settled, active)
    return {m.member_id: target.get(m.member_id, ()) for m in group.members}
