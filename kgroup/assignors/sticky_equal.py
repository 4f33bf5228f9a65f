"""The sticky target when all members subscribe to the same topics: linear, and exact.

Decides: who keeps what, and who gets the rest, so that sizes differ by at most one and as few
partitions as possible leave their owner.
Never: works on anything but indices of partitions (see `numbering`).
KIPs: 54, 881.

With T partitions and N members everybody gets `least` = T // N, and T % N members one more.
1. Members, in order, keep what they may: `least` of theirs, or one more while there are such
   places left. They keep low partition numbers first, so that what moves is spread over topics.
2. What nobody keeps goes round the members that are short, and then to members that have exactly
   `least`.
The order of step 1 decides ties only: which of equally loaded members keeps one more.
Where racks matter, step 1 lets go what a member is not near to, as Java's leader does, step 2
gives what is near first (`sticky_near`), and `sticky_rack_equal` improves what comes of that.
"""

from collections.abc import Mapping, Sequence
from itertools import compress

from kgroup.assignors.claims import Holdings
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member
from kgroup.assignors.racks import group_racks_matter
from kgroup.assignors.sticky_near import give_near
from kgroup.assignors.sticky_places import Places
from kgroup.assignors.sticky_rack_equal import improve_racks

__all__ = ["plan_equal"]


def plan_equal(
    group: GroupSubscription, holdings: Holdings, walk: Sequence[Member]
) -> Mapping[str, Sequence[int]]:
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
    target = {who: _in_order(indices) for who, indices in places.given.items()}
    return target if near is None else improve_racks(group, holdings, walk, target)


def _keep(
    group: GroupSubscription,
    holdings: Holdings,
    places: Places,
    near: Sequence[frozenset[str]] | None,
) -> None:
    """Let every member keep its share of what it holds: low partition numbers first."""
    numbers: Sequence[int] = ()
    for member in places.members:
        mine = holdings.held.get(member.member_id, [])
        if near is not None and member.rack is not None:
            mine = [index for index in mine if member.rack in near[index]]
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
