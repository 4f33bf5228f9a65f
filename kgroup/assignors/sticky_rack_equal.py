"""Racks where all members subscribe to the same: an assignment is improved until nothing is left.

Decides: whether a given assignment, Java's, can be nearer to the replicas, or as near with fewer
moves; if so, which one is as near as possible, and among these moves least.
Never: touches an assignment that is the best already; gives a member more than one partition more
than another; makes anything worse than it was given, not even when the search hits its limit.
KIPs: 54, 881.

An undisturbed group keeps everything: once everybody owns what it was given here, that is as near
as it gets, moves nothing, and is the only assignment that does so.
"""

from collections.abc import Mapping, Sequence

from kgroup.assignors.claims import Holdings
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member
from kgroup.assignors.sticky_balance import find_levels
from kgroup.assignors.sticky_census import Census, take_census
from kgroup.assignors.sticky_deal import deal
from kgroup.assignors.sticky_moves import SEARCH_LIMIT, settle_level
from kgroup.assignors.sticky_shares import Shares, Weights

__all__ = ["improve_racks"]


def improve_racks(
    group: GroupSubscription,
    holdings: Holdings,
    walk: Sequence[Member],
    given: Mapping[str, Sequence[int]],
    *,
    limit: int = SEARCH_LIMIT,
) -> Mapping[str, Sequence[int]]:
    """Return the nearest assignment with the fewest moves, or `given` itself if that is one.

    Args:
        group: partitions and racks, which matter (see `group_racks_matter`).
        holdings: who holds what now.
        walk: the members that subscribe to something, all to the same, in the order of ties.
        given: member id -> indices of its partitions; everything to somebody of the walk, and
            as evenly as possible.
        limit: of the search, in arcs looked at; beyond it `given` is returned, unless what was
            found until then is better.

    Returns:
        Member id -> indices of its partitions, in order.
    """
    census = take_census(group, walk, racks=True)
    owned, own = census.owned(holdings, walk)
    weights = Weights(move=1, far=len(group.partitions) + 1)
    shares = [settle_level(census, level, own, weights, limit) for level in find_levels(census)]
    now = [given.get(member.member_id, ()) for member in walk]
    if _found(census, weights, own, shares) >= _given(census, weights, owned, now):
        return given
    best = deal(group, census, owned, shares)
    return {member.member_id: best[place] for place, member in enumerate(walk)}


def _found(
    census: Census,
    weights: Weights,
    own: Sequence[Mapping[int, int]],
    shares: Sequence[Shares],
) -> int:
    """Return what shares cost: what is far, and what members lose of what they own."""
    far, lost = 0, sum(sum(counts.values()) for counts in own)
    for each in shares:
        far += each.far(census)
        lost -= sum(sum(kept.values()) for kept in each.kept.values())
    return weights.far * far + weights.move * lost


def _given(
    census: Census,
    weights: Weights,
    owned: Sequence[Sequence[int]],
    given: Sequence[Sequence[int]],
) -> int:
    """Return what an assignment costs."""
    far = lost = 0
    for member, indices in enumerate(given):
        rack = census.rack_of[member]
        counts = census.count(indices).items()
        far += sum(count for number, count in counts if rack not in census.near[number])
        if owned[member] != indices:
            lost += len(set(owned[member]).difference(indices))
    return weights.far * far + weights.move * lost
