"""What an assignment is worth, in numbers.

Decides: what counts as a move, how balance is measured, and which rack matches were possible.
Never: assigns; knows which assignor it measures.
KIPs: 54 (moves), 881 (racks).

A *move* is a partition whose owner is still in the group and no longer owns it; papers and posts
call it a swap. A partition whose owner has left has to move whatever the assignor does, so it is
counted apart.
"""

from collections.abc import Mapping, Sequence
from math import sqrt

from kgroup.assignors.simulator.population import Population
from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.wire.partition_runs import runs_of

Owned = Mapping[str, Sequence[TopicPartition]]
"""Member id -> what it owns."""

Owners = Mapping[str, Sequence[str | None]]
"""Topic -> the owner of each of its partitions, None without one."""


@dataclass(frozen=True, slots=True)
class Balance:
    """How evenly partitions are spread over members.

    Args:
        fewest: partitions of the member with the fewest, 0 without members.
        most: partitions of the member with the most.
        deviation: standard deviation of all members' counts (of the population, not a sample).
        sum_of_squares: of all members' counts; the balance is best where it is least.
    """

    fewest: int
    most: int
    deviation: float
    sum_of_squares: int


@dataclass(frozen=True, slots=True)
class RackMatches:
    """How many partitions are read from a replica in the rack of their reader.

    Args:
        matched: partitions with a replica in their owner's rack.
        possible: partitions with a replica in the rack of some subscriber.
    """

    matched: int
    possible: int


def owners(population: Population, owned: Owned) -> Owners:
    """Return the owner of each partition."""
    found: dict[str, list[str | None]] = {
        name: [None] * topic.partitions for name, topic in population.topics.items()
    }
    for member_id, partitions in owned.items():
        for topic, numbers in runs_of(partitions):
            by_number = found[topic]
            for number in numbers:
                by_number[number] = member_id
    return found


def balance(population: Population, owned: Owned) -> Balance:
    """Return how evenly the partitions are spread."""
    counts = [len(owned.get(member_id, ())) for member_id in population.members]
    if not counts:
        return Balance(0, 0, 0.0, 0)
    squares = sum(count * count for count in counts)
    # In whole numbers up to the root: floats would make an even spread look uneven.
    variance = (squares * len(counts) - sum(counts) ** 2) / len(counts) ** 2
    return Balance(min(counts), max(counts), sqrt(variance), squares)


def count_moves(population: Population, before: Owners, after: Owners) -> tuple[int, int]:
    """Return how many partitions were taken from living members, and how many others were given.

    Args:
        population: the members that are there.
        before: the owners then; partitions that came to be since are missing.
        after: the owners now.
    """
    moved = placed = 0
    for topic, now in after.items():
        old = before.get(topic, ())
        if list(old) == now:
            continue
        for number, owner in enumerate(now):
            earlier = old[number] if number < len(old) else None
            if earlier is not None and earlier in population.members:
                moved += owner != earlier
            elif owner is not None:
                placed += 1
    return moved, placed


def rack_matches(population: Population, after: Owners) -> RackMatches | None:
    """Return how many partitions are near to their owners; None where no racks are known."""
    members = population.members.values()
    if not any(member.rack for member in members) or not any(
        topic.racks for topic in population.topics.values()
    ):
        return None
    matched = possible = 0
    for name, by_number in after.items():
        reachable = {member.rack for member in members if name in member.topics} - {None}
        for racks, owner in zip(population.topics[name].racks, by_number, strict=False):
            possible += not reachable.isdisjoint(racks)
            rack = None if owner is None else population.members[owner].rack
            matched += rack is not None and rack in racks
    return RackMatches(matched, possible)
