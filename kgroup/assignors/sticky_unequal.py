"""The sticky target when members subscribe to different topics: the best there is.

Decides: first the balance, the least sum of squared sizes; then as few partitions as possible
taken from an owner; then as many as possible near their replicas, when racks matter. Each is
exact: it is the optimum of a flow of least cost.
Never: gives up balance for a kept partition, or a kept partition for a rack; works on anything
but counts until the end (`sticky_census`: who and what is alike; `sticky_balance`: how many each;
`sticky_moves`: of what; `sticky_deal`: which ones).
KIPs: 54, 881.
"""

from collections.abc import Sequence

from kgroup.assignors.claims import Holdings
from kgroup.assignors.group import GroupSubscription, group_racks_matter
from kgroup.assignors.member import Member
from kgroup.assignors.sticky_balance import find_levels
from kgroup.assignors.sticky_census import take_census
from kgroup.assignors.sticky_deal import deal
from kgroup.assignors.sticky_moves import SEARCH_LIMIT, settle_level
from kgroup.assignors.sticky_shares import Shares, Weights

__all__ = ["plan_unequal"]


def plan_unequal(
    group: GroupSubscription,
    holdings: Holdings,
    walk: Sequence[Member],
    *,
    limit: int = SEARCH_LIMIT,
) -> dict[str, list[int]]:
    """Return member id -> indices of its partitions, in order.

    Args:
        group: partitions, subscribers and racks.
        holdings: who holds what now.
        walk: the members that subscribe to something, in the order that decides ties.
        limit: of the search for the fewest moves, in arcs looked at. Beyond it the result is as
            balanced, but may move more than necessary.
    """
    census = take_census(group, walk, racks=group_racks_matter(group))
    owned, own = census.owned(holdings, walk)
    weights = Weights(move=len(group.partitions) + 1, far=1)
    shares: list[Shares] = []
    for level in find_levels(census):
        shares.append(settle_level(census, level, own, weights, limit))
        limit -= shares[-1].looked
    given = deal(group, census, owned, shares)
    return {member.member_id: given[place] for place, member in enumerate(walk)}
