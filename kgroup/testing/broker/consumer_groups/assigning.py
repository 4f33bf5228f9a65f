"""The assignors of the coordinator: `uniform` and `range`.

Decides: who is to have which partition. `uniform` keeps what members have as far as shares stay
even; `range` gives each member neighbours, topic by topic.
Never: asks who has a partition at present; a target may be ahead of that.
KIPs: 848.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from kgroup.values import dataclass

Place: TypeAlias = tuple[bytes, int]
"""A partition as KIP-848 names it: topic id and number."""
Target: TypeAlias = dict[str, frozenset[Place]]
"""Member id -> what it is to have."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What an assignor knows of one member.

    Args:
        topics: ids of the topics it asks for that exist.
        has: its part of the target before.
        order: by what `range` sorts members: the instance id, else the member id.
    """

    topics: frozenset[bytes]
    has: frozenset[Place]
    order: str


def uniform(counts: Mapping[bytes, int], wishes: Mapping[str, Wish]) -> Target:
    """Share partitions evenly, and move as few as that takes.

    Args:
        counts: topic id -> number of partitions.
        wishes: by member id.
    """
    given: dict[str, set[Place]] = {member_id: set() for member_id in wishes}
    free = {(topic_id, number) for topic_id, count in counts.items() for number in range(count)}
    for member_id, wish in sorted(wishes.items()):
        kept = {place for place in wish.has & free if place[0] in wish.topics}
        given[member_id] |= kept
        free -= kept
    for place in sorted(free):
        takers = [each for each, wish in wishes.items() if place[0] in wish.topics]
        if takers:
            given[_least(given, takers)].add(place)
    while _level(given, wishes):
        pass
    return {member_id: frozenset(places) for member_id, places in given.items()}


def _least(given: Mapping[str, set[Place]], takers: list[str]) -> str:
    return min(takers, key=lambda member_id: (len(given[member_id]), member_id))


def _level(given: dict[str, set[Place]], wishes: Mapping[str, Wish]) -> bool:
    """Move one partition from who has more to who has at least two fewer; False without one."""
    for giver in sorted(given, key=lambda each: (-len(given[each]), each)):
        for place in sorted(given[giver], reverse=True):
            takers = [
                each
                for each, wish in wishes.items()
                if place[0] in wish.topics and len(given[each]) < len(given[giver]) - 1
            ]
            if takers:
                given[giver].remove(place)
                given[_least(given, takers)].add(place)
                return True
    return False


def ranges(counts: Mapping[bytes, int], wishes: Mapping[str, Wish]) -> Target:
    """Give each member of a topic a run of neighbours, the first ones one more.

    Args:
        counts: topic id -> number of partitions.
        wishes: by member id.
    """
    given: dict[str, set[Place]] = {member_id: set() for member_id in wishes}
    for topic_id, count in counts.items():
        takers = [each for each, wish in wishes.items() if topic_id in wish.topics]
        takers.sort(key=lambda member_id: wishes[member_id].order)
        start = 0
        for at, member_id in enumerate(takers):
            share = count // len(takers) + (at < count % len(takers))
            given[member_id] |= {(topic_id, number) for number in range(start, start + share)}
            start += share
    return {member_id: frozenset(places) for member_id, places in given.items()}


Assignor: TypeAlias = Callable[[Mapping[bytes, int], Mapping[str, Wish]], Target]

ASSIGNORS: Final[Mapping[str, Assignor]] = MappingProxyType({"uniform": uniform, "range": ranges})
"""By the name that members ask for; the first is the default."""
