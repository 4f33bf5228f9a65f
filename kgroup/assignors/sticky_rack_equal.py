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
from kgroup.assignors.sticky_shares import Weights

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
    best = deal(group, census, owned, shares)
    now = [given.get(member.member_id, ()) for member in walk]
    if _cost(census, weights, owned, best) >= _cost(census, weights, owned, now):
        return given
    return {member.member_id: best[place] for place, member in enumerate(walk)}


def _cost(
    census: Census,
    weights: Weights,
    owned: Sequence[Sequence[int]],
    given: Sequence[Sequence[int]],
) -> int:
    """Return what an assignment costs: by member, what is far and what it loses."""
    owner = [-1] * len(census.class_of)
    for member, indices in enumerate(owned):
        for index in indices:
            owner[index] = member
    far = lost = 0
    for member, indices in enumerate(given):
        rack = census.rack_of[member]
        counts = census.count(indices).items()
        far += sum(count for number, count in counts if rack not in census.near[number])
        lost += len(owned[member]) - sum(owner[index] == member for index in indices)
    return weights.far * far + weights.move * lost
