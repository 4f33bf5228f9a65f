"""The rack step of the sticky target when all members subscribe to the same topics.

Decides: which free partitions go to members in a rack of one of their replicas.
Never: gives a member more than its share; takes anything from anybody.
KIPs: 881.
"""

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Sequence
from operator import itemgetter

from kgroup.assignors.member import Member
from kgroup.assignors.sticky_places import Places

__all__ = ["give_near"]


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
