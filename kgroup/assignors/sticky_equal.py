"""The sticky target when all members subscribe to the same topics: linear, and exact.

Decides: who keeps what, and who gets the rest, so that sizes differ by at most one and as few
partitions as possible leave their owner.
Never: gives back a partition whose rack does not suit its owner while another member's would
(as Java's leader decides); a partition that suits nobody's rack stays where it is.
KIPs: 54, 881.

With T partitions and N members everybody gets `least` = T // N, and T % N members one more.
1. Members, in order, keep what they may: `least` of theirs, or one more while there are such
   places left. They keep low partition numbers first, so that what moves is spread over topics.
2. What nobody keeps goes round the members that are short, near racks first, and then to members
   that have exactly `least`.
The order of step 1 decides ties only: which of equally loaded members keeps one more.
"""

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Sequence
from operator import itemgetter

from kgroup.assignors.claims import Holdings
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member
from kgroup.assignors.racks import group_racks_matter
from kgroup.types import TopicPartition
from kgroup.wire.classic_bytes import utf16_order

__all__ = ["plan_equal"]


def plan_equal(
    group: GroupSubscription, holdings: Holdings, walk: Sequence[Member]
) -> dict[str, list[TopicPartition]]:
    """Return member id -> its partitions.

    Args:
        group: partitions and racks.
        holdings: who holds what now.
        walk: the members that subscribe to something, in the order of step 1; all to the same.
    """
    racks = group_racks_matter(group)
    places = _Places(walk, len(group.partitions))
    for member, owned in zip(walk, _keepable(group, holdings, walk, racks=racks), strict=True):
        places.keep(member, owned)
    kept = {tp for tps in places.given.values() for tp in tps}
    free = [tp for tp in group.partitions if tp not in kept]
    population = Counter(member.rack for member in walk if member.rack is not None)
    if population:  # what few members are near to goes first
        free.sort(key=lambda tp: sum(population[rack] for rack in group.racks_of(tp)))
    places.sort()
    if racks:
        free = _give_near(group, places, free)
    places.give_rest(free)
    return places.given


def _keepable(
    group: GroupSubscription, holdings: Holdings, walk: Sequence[Member], *, racks: bool
) -> list[list[TopicPartition]]:
    """Return, per member, what it owns and may go on owning, low partition numbers first."""
    rack_of = {member.member_id: member.rack for member in walk}
    everybody = set(rack_of.values())
    owned: dict[str, list[TopicPartition]] = {member_id: [] for member_id in rack_of}
    for tp, member_id in holdings.owner.items():
        if member_id not in owned:
            continue
        if racks and rack_of[member_id] is not None:
            near = group.racks_of(tp)
            if rack_of[member_id] not in near and not near.isdisjoint(everybody):
                continue
        owned[member_id].append(tp)
    rank = {topic: index for index, topic in enumerate(group.topics)}
    for tps in owned.values():
        tps.sort(key=lambda tp: (tp.partition, rank[tp.topic]))
    return [owned[member.member_id] for member in walk]


class _Places:
    """How many partitions each member still gets: the two lists of members with room.

    `short` have fewer than `least`; `even` have exactly `least` and may be among the `larger`
    members that get one more.
    """

    def __init__(self, members: Sequence[Member], total: int) -> None:
        self.least, self.larger = divmod(total, len(members))
        self.most = self.least + 1 if self.larger else self.least
        self.full = 0
        self.short: list[Member] = []
        self.even: list[Member] = []
        self.given: dict[str, list[TopicPartition]] = {m.member_id: [] for m in members}

    def keep(self, member: Member, owned: list[TopicPartition]) -> None:
        """Let a member keep its share of what it owns."""
        if len(owned) < self.least:
            kept = owned
            self.short.append(member)
        elif len(owned) >= self.most and self.full < self.larger:
            kept = owned[: self.most]
            self.count_full()
        else:
            kept = owned[: self.least]
            if self.full < self.larger:
                self.even.append(member)
        self.given[member.member_id] = kept

    def count_full(self) -> None:
        """One more member has `most`; with the last of them nobody else may grow."""
        self.full += 1
        if self.full == self.larger:
            self.even.clear()

    def sort(self) -> None:
        """Put both lists into the order of member ids."""
        self.short.sort(key=lambda member: utf16_order(member.member_id))
        self.even.sort(key=lambda member: utf16_order(member.member_id))

    def give_rest(self, free: Sequence[TopicPartition]) -> None:
        """Deal out what is left, without racks."""
        short, even = deque(self.short), deque(self.even)
        for tp in free:
            member = short.popleft() if short else even.popleft()
            mine = self.given[member.member_id]
            mine.append(tp)
            if len(mine) < self.least:
                short.append(member)
            elif len(mine) == self.least:
                even.append(member)


def _give_near(
    group: GroupSubscription, places: _Places, free: Sequence[TopicPartition]
) -> list[TopicPartition]:
    """Give partitions to members that are near to them; return what is left."""
    short, even = _Ring(places.short), _Line(places.even)
    rest: list[TopicPartition] = []
    for tp in free:
        racks = group.racks_of(tp)
        member = short.next_near(racks)
        if member is not None:
            mine = places.given[member.member_id]
            mine.append(tp)
            if len(mine) < places.least:
                continue
            short.remove(member)
            if len(mine) < places.most and places.full < places.larger:
                even.append(member)
            continue
        member = even.take_near(racks)
        if member is None:
            rest.append(tp)
            continue
        places.given[member.member_id].append(tp)
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
        """Return who is left, in order."""
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
        """Return who is left, in order."""
        left = [entry for queue in self._waiting.values() for entry in queue]
        return [member for _, member in sorted(left, key=itemgetter(0))]
