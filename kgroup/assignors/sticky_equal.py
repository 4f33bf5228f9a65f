"""The sticky target when all members subscribe to the same topics: linear, and exact.

Decides: what each member keeps and what it gets, so that sizes differ by at most one and as few
partitions as possible leave their owner.
Never: gives a member more than one partition more than another; works on anything but indices of
partitions (see `numbering`).
KIPs: 54, 881.

With T partitions and N members everybody gets `least` = T // N, and T % N members one more.
1. Members, in order, keep what they may: `least` of theirs, or one more while there are such
   places left. They keep low partition numbers first, so that what moves is spread over topics.
2. The rest goes round the members that are short, and then to members that have exactly `least`.
The order of step 1 decides ties only: which of equally loaded members keeps one more.
Where racks matter, step 1 lets go what a member is not near to, as Java's leader does, step 2
gives what is near first (`sticky_near`), and `sticky_rack_equal` improves what comes of that.
"""

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from itertools import compress
from operator import itemgetter

from kgroup.assignors.claims import SettledClaims
from kgroup.assignors.group import GroupSubscription, group_racks_matter
from kgroup.assignors.member import Member
from kgroup.assignors.sticky_balance import find_levels
from kgroup.assignors.sticky_census import Census, take_census
from kgroup.assignors.sticky_deal import deal
from kgroup.assignors.sticky_moves import SEARCH_LIMIT, settle_level
from kgroup.assignors.sticky_shares import Shares, Weights
from kgroup.wire.classic_bytes import utf16_order


class Places:
    """The members of a group whose subscriptions are equal, being served.

    Args:
        members: in the order in which they keep what they hold.
        total: number of partitions.

    Attributes:
        least: what everybody gets, so many partitions or one more.
        larger: how many members get one more.
        full: how many of those have it already.
        short, even: members with room.
        given: member id -> indices of its partitions so far.
    """

    def __init__(self, members: Sequence[Member], total: int) -> None:
        self.members = members
        self.least, self.larger = divmod(total, len(members))
        self.most = self.least + 1 if self.larger else self.least
        self.full = 0
        self.short: list[Member] = []
        self.even: list[Member] = []
        self.given: dict[str, Sequence[int]] = {m.member_id: () for m in members}

    def room_to_keep(self, count: int) -> int:
        """Return how many of so many partitions the next member may keep."""
        if count < self.least:
            return count
        if count >= self.most and self.full < self.larger:
            return self.most
        return self.least

    def keep(self, member: Member, kept: Sequence[int]) -> None:
        """Let a member keep what `room_to_keep` allows."""
        if len(kept) < self.least:
            self.short.append(member)
        elif len(kept) > self.least:
            self.count_full()
        elif self.full < self.larger:
            self.even.append(member)
        self.given[member.member_id] = list(kept) if kept else ()

    def count_full(self) -> None:
        """One more member has `most`; after the last of them no other may grow."""
        self.full += 1
        if self.full == self.larger:
            self.even.clear()

    def sort(self) -> None:
        """Put both lists into the order of member ids."""
        self.short.sort(key=lambda member: utf16_order(member.member_id))
        self.even.sort(key=lambda member: utf16_order(member.member_id))

    def give(self, member: Member, indices: Sequence[int]) -> int:
        """Give a member more; return how many it has then."""
        mine = self.given[member.member_id]
        if isinstance(mine, list):
            mine.extend(indices)
            return len(mine)
        # A member that begins with nothing may be dealt one range, and keeps it as such.
        self.given[member.member_id] = [*mine, *indices] if mine else indices
        return len(mine) + len(indices)

    def give_rest(self, free: Sequence[int]) -> None:
        """Deal out what is left: in turn to those that are short, then one each to the even.

        Between two moments at which somebody has enough, the turns of the others do not change,
        so each of them gets every n-th partition of that stretch at once.
        """
        at = 0
        while self.short and at < len(free):
            turns = self.least - max(len(self.given[m.member_id]) for m in self.short)
            stretch = free[at : at + turns * len(self.short)]
            at += len(stretch)
            waiting: list[Member] = []
            for place, member in enumerate(self.short):
                has = self.give(member, stretch[place :: len(self.short)])
                (waiting if has < self.least else self.even).append(member)
            self.short = waiting
        for member, index in zip(self.even, free[at:], strict=False):
            self.give(member, (index,))


# -- sticky near -----------------------------------------------------------------------------------


def give_near(places: Places, free: Sequence[int], near: Sequence[frozenset[str]]) -> Sequence[int]:
    """Give partitions to members that are near to them; return what is left.

    Args:
        places: the members and the room they have.
        free: indices in order. What few members are near to goes first.
        near: per index, the racks of the replicas.
    """
    population = Counter(member.rack for member in places.members if member.rack is not None)
    scarce = sorted(free, key=lambda index: sum(population[rack] for rack in near[index]))
    short, even = _Ring(places.short), _Line(places.even)
    rest: list[int] = []
    for index in scarce:
        member = short.next_near(near[index])
        if member is not None:
            if places.give(member, (index,)) < places.least:
                continue
            short.remove(member)
            if places.full < places.larger:
                even.append(member)
            continue
        member = even.take_near(near[index])
        if member is None:
            rest.append(index)
            continue
        places.give(member, (index,))
        places.count_full()
        if places.full == places.larger:
            even = _Line([])
    places.short, places.even = short.members(), even.members()
    return rest


class _Ring:
    """Members in a circle, asked in turn for one in any of some racks, without a scan."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._all = members
        self._left = {member.member_id: place for place, member in enumerate(members)}
        self._places: dict[str, list[int]] = {}
        for place, member in enumerate(members):
            if member.rack is not None:
                self._places.setdefault(member.rack, []).append(place)
        self._cursor = 0

    def next_near(self, racks: frozenset[str]) -> Member | None:
        """Return the first member at or after the cursor in one of the racks; move past it."""
        nearest: int | None = None
        for rack in racks:
            places = self._places.get(rack)
            if places:
                index = bisect_left(places, self._cursor)
                place = places[index] if index < len(places) else places[0] + len(self._all)
                nearest = place if nearest is None else min(nearest, place)
        if nearest is None:
            return None
        place = nearest % len(self._all)
        self._cursor = (place + 1) % len(self._all)
        return self._all[place]

    def remove(self, member: Member) -> None:
        """Take a member out of the circle."""
        place = self._left.pop(member.member_id)
        if member.rack is not None:
            places = self._places[member.rack]
            del places[bisect_left(places, place)]

    def members(self) -> list[Member]:
        """Return the members that are left, in order."""
        return [member for member in self._all if member.member_id in self._left]


class _Line:
    """Members in a line, from which the first one in any of some racks is taken."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._waiting: dict[str | None, deque[tuple[int, Member]]] = {}
        self._length = 0
        for member in members:
            self.append(member)

    def append(self, member: Member) -> None:
        """Add a member at the end."""
        self._waiting.setdefault(member.rack, deque()).append((self._length, member))
        self._length += 1

    def take_near(self, racks: frozenset[str]) -> Member | None:
        """Remove and return the first member in one of the racks."""
        queues = [queue for rack in racks if (queue := self._waiting.get(rack))]
        if not queues:
            return None
        return min(queues, key=lambda queue: queue[0][0]).popleft()[1]

    def members(self) -> list[Member]:
        """Return the members that are left, in order."""
        left = [entry for queue in self._waiting.values() for entry in queue]
        return [member for _, member in sorted(left, key=itemgetter(0))]


# -- sticky rack equal -----------------------------------------------------------------------------


def improve_racks(
    group: GroupSubscription,
    settled: SettledClaims,
    walk: Sequence[Member],
    given: Mapping[str, Sequence[int]],
    *,
    limit: int = SEARCH_LIMIT,
) -> Mapping[str, Sequence[int]]:
    """Return the nearest assignment with the fewest moves, or `given` itself if that is one.

    Args:
        group: partitions and racks, which matter (see `group_racks_matter`).
        settled: what members hold now.
        walk: the members that subscribe to something, all to the same, in the order of ties.
        given: member id -> indices of its partitions; everything to somebody of the walk, and
            as evenly as possible.
        limit: of the search, in arcs looked at; beyond it `given` is returned, unless what was
            found until then is better.

    Returns:
        Member id -> indices of its partitions, in order.
    """
    census = take_census(group, walk, racks=True)
    owned, own = census.owned(settled, walk)
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


# -- sticky equal ----------------------------------------------------------------------------------


def plan_equal(
    group: GroupSubscription, settled: SettledClaims, walk: Sequence[Member]
) -> Mapping[str, Sequence[int]]:
    """Return member id -> indices of its partitions, in order.

    Args:
        group: partitions and racks.
        settled: what members hold now.
        walk: the members that subscribe to something, in the order of step 1; all to the same.
    """
    near = group.replica_racks() if group_racks_matter(group) else None
    places = Places(walk, len(group.partitions))
    _keep(group, settled, places, near)
    free = _not_kept(places.given, len(group.partitions))
    places.sort()
    if near is not None:
        free = give_near(places, free, near)
    places.give_rest(free)
    target = {who: _in_order(indices) for who, indices in places.given.items()}
    return target if near is None else improve_racks(group, settled, walk, target)


def _keep(
    group: GroupSubscription,
    settled: SettledClaims,
    places: Places,
    near: Sequence[frozenset[str]] | None,
) -> None:
    """Let every member keep its share of what it holds: low partition numbers first."""
    numbers: Sequence[int] = ()
    for member in places.members:
        mine = settled.held.get(member.member_id, [])
        if near is not None and member.rack is not None:
            mine = [index for index in mine if member.rack in near[index]]
        room = places.room_to_keep(len(mine))
        if room < len(mine):
            numbers = numbers or group.partitions.partition_numbers()
            # indices are in the order of topics, and sorting is stable
            mine = sorted(sorted(mine), key=numbers.__getitem__)[:room]
        places.keep(member, mine)


def _not_kept(given: Mapping[str, Sequence[int]], count: int) -> Sequence[int]:
    """Return the indices that no member has, in order."""
    if not any(given.values()):
        return range(count)
    free = bytearray(b"\1") * count
    for indices in given.values():
        for index in indices:
            free[index] = 0
    return list(compress(range(count), free))


def _in_order(indices: Sequence[int]) -> Sequence[int]:
    return indices if isinstance(indices, range) else sorted(indices)
