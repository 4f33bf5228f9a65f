"""The sticky target when all members subscribe to the same topics: linear, and exact.

Decides: who keeps what, and who gets the rest, so that sizes differ by at most one and as few
partitions as possible leave their owner.
Never: works on anything but indices of partitions (see `numbering`); deals with racks (see
`sticky_near`), except that it lets go what a member is not near to, as Java's leader does.
KIPs: 54, 881.

With T partitions and N members everybody gets `least` = T // N, and T % N members one more.
1. Members, in order, keep what they may: `least` of theirs, or one more while there are such
   places left. They keep low partition numbers first, so that what moves is spread over topics.
2. What nobody keeps goes round the members that are short, near racks first, and then to members
   that have exactly `least`.
The order of step 1 decides ties only: which of equally loaded members keeps one more.
"""

from collections.abc import Mapping, Sequence
from itertools import compress

from kgroup.assignors.claims import Holdings
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member
from kgroup.assignors.racks import group_racks_matter
from kgroup.assignors.sticky_near import give_near
from kgroup.assignors.sticky_places import Places

__all__ = ["plan_equal"]


def plan_equal(
    group: GroupSubscription, holdings: Holdings, walk: Sequence[Member]
) -> dict[str, Sequence[int]]:
    """Return member id -> indices of its partitions, in order.

    Args:
        group: partitions and racks.
        holdings: who holds what now.
        walk: the members that subscribe to something, in the order of step 1; all to the same.
    """
    near = group.replica_racks() if group_racks_matter(group) else None
    places = Places(walk, len(group.partitions))
    _keep(group, holdings, places, near)
    free = _not_kept(places.given, len(group.partitions))
    places.sort()
    if near is not None:
        free = give_near(places, free, near)
    places.give_rest(free)
    return {who: _in_order(indices) for who, indices in places.given.items()}


def _keep(
    group: GroupSubscription,
    holdings: Holdings,
    places: Places,
    near: Sequence[frozenset[str]] | None,
) -> None:
    """Let every member keep its share of what it holds: low partition numbers first."""
    racks = {member.rack for member in places.members}
    numbers: Sequence[int] = ()
    for member in places.members:
        mine = holdings.held.get(member.member_id, [])
        if near is not None and member.rack is not None:
            mine = [i for i in mine if member.rack in near[i] or near[i].isdisjoint(racks)]
        room = places.room_to_keep(len(mine))
        if room < len(mine):
            numbers = numbers or group.partitions.partition_numbers()
            # indices are in the order of topics, and sorting is stable
            mine = sorted(sorted(mine), key=numbers.__getitem__)[:room]
        places.keep(member, mine)


def _not_kept(given: Mapping[str, Sequence[int]], count: int) -> Sequence[int]:
    """Return the indices that nobody has, in order."""
    if not any(given.values()):
        return range(count)
    free = bytearray(b"\1") * count
    for indices in given.values():
        for index in indices:
            free[index] = 0
    return list(compress(range(count), free))


def _in_order(indices: Sequence[int]) -> Sequence[int]:
    return indices if isinstance(indices, range) else sorted(indices)
