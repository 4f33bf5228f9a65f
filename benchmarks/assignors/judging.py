"""Whether an assignment is one, and how good it is.

Decides: complete, disjoint, for subscribers only; spread, balance and moves.
Never: trusts the client whose result it is; works on numbers of partitions alone.

Sizes are balanced when no member can pass a partition, through others who pass one each, to a
member with at least two fewer (Harvey, Ladner, Lovasz, Tamir: "Semi-matchings for bipartite
graphs and load balancing", 2006: then the sum of squares is least).
"""

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.assignors.scenarios import Scenario

NOBODY = -1


class WrongAssignmentError(Exception):
    """A result that is no assignment of its group."""


@dataclass(frozen=True, slots=True)
class Event:
    """What happened before the round.

    Args:
        previous: per member, the numbers of the partitions it was given last; None in a group
            that begins.
        leaver: place of the member that left since, None without.
    """

    previous: Sequence[Sequence[int]] | None = None
    leaver: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What a client's assignor returned.

    Args:
        given: per member of the scenario, the numbers of its partitions.
        withheld: number -> the member that gets it in the next round; None when the client
            does not tell what it holds back.
    """

    given: Sequence[Sequence[int]]
    withheld: dict[int, int] | None = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figures:
    """How good an assignment is.

    Args:
        smallest: partitions of the member with the fewest.
        largest: partitions of the member with the most.
        squares: sum of the squared sizes; the smaller, the better balanced.
        balanced: whether the sizes are the best there are; None when what is held back has no
            known receiver.
        moved: partitions taken from a member that is still there, None in a group that begins.
        withheld: partitions held back until the next round.
    """

    smallest: int
    largest: int
    squares: int
    balanced: bool | None
    moved: int | None
    withheld: int


def judge(scenario: Scenario, event: Event, result: Result, *, cooperative: bool) -> Figures:
    """Check a result and return its figures.

    Args:
        scenario: the group.
        event: what happened to it.
        result: of the assignor.
        cooperative: whether it may hold back what a member that is still there has.

    Raises:
        WrongAssignmentError: it gives what does not exist, twice, or to somebody who may not
            have it; or something to nobody.
    """
    present = [place for place in range(len(scenario.members)) if place != event.leaver]
    owner = _owners(scenario, event, result)
    before = _previous_owners(scenario, event)
    withheld = _left_out(scenario, present, owner)
    if withheld and not cooperative:
        raise WrongAssignmentError(f"{len(withheld)} partitions to nobody, first {withheld[0]}")
    for number in withheld:
        if before is None or before[number] == NOBODY:
            raise WrongAssignmentError(f"{number} is held back, but nobody has it")
    moved = None
    if before is not None:
        moved = sum(old not in {NOBODY, new} for old, new in zip(before, owner, strict=True))
    known = result.withheld
    if known is not None and sorted(known) != withheld:
        raise WrongAssignmentError("what is called withheld is not what nobody has")
    for number, receiver in (known or {}).items():
        owner[number] = receiver
    sizes = _sizes(scenario, owner)
    some = [sizes[place] for place in present]
    told = known is not None or not withheld
    return Figures(
        smallest=min(some),
        largest=max(some),
        squares=sum(size * size for size in some),
        balanced=_is_balanced(scenario, present, owner) if told else None,
        moved=moved,
        withheld=len(withheld),
    )


def _owners(scenario: Scenario, event: Event, result: Result) -> "array[int]":
    """Return the owner of each partition."""
    if len(result.given) != len(scenario.members):
        raise WrongAssignmentError(f"{len(result.given)} members instead of all")
    starts, total = scenario.starts, scenario.partitions
    owner = array("i", [NOBODY]) * total
    for place, numbers in enumerate(result.given):
        allowed = frozenset(scenario.topics_of(place))
        begin = end = 0
        for number in numbers:
            if not begin <= number < end:  # another topic than that of the one before
                begin, end = _span(starts, number, allowed, place)
            if owner[number] != NOBODY:
                raise WrongAssignmentError(f"{number} to {place} and to {owner[number]}")
            owner[number] = place
    if event.leaver is not None and result.given[event.leaver]:
        raise WrongAssignmentError("partitions to the member that left")
    return owner


def _span(starts: list[int], number: int, allowed: frozenset[int], place: int) -> tuple[int, int]:
    if not 0 <= number < starts[-1]:
        raise WrongAssignmentError(f"{number} to {place}, but there are {starts[-1]}")
    topic = bisect_right(starts, number) - 1
    if topic not in allowed:
        raise WrongAssignmentError(f"{number} to {place}, who does not subscribe to its topic")
    return starts[topic], starts[topic + 1]


def _previous_owners(scenario: Scenario, event: Event) -> "array[int] | None":
    """Return who had each partition, among the members that are still there."""
    if event.previous is None:
        return None
    owner = array("i", [NOBODY]) * scenario.partitions
    for place, numbers in enumerate(event.previous):
        if place != event.leaver:
            for number in numbers:
                owner[number] = place
    return owner


def _left_out(scenario: Scenario, present: Sequence[int], owner: "array[int]") -> list[int]:
    """Return the partitions that nobody has although somebody subscribes to their topic."""
    starts = scenario.starts
    wanted = {topic for place in present for topic in scenario.topics_of(place)}
    return [
        number
        for topic in sorted(wanted)
        for number in range(starts[topic], starts[topic + 1])
        if owner[number] == NOBODY
    ]


def _sizes(scenario: Scenario, owner: "array[int]") -> list[int]:
    sizes = [0] * (len(scenario.members) + 1)
    for place in owner:
        sizes[place] += 1  # nobody's end up in the last one
    return sizes[:-1]


def _is_balanced(scenario: Scenario, present: Sequence[int], owner: "array[int]") -> bool:
    """Whether no chain of members leads from a large to a small one.

    Backwards from the smallest member: whoever has a partition of a topic it subscribes to can
    pass one to it, and so on. Whom a smaller member has met need not be met again.
    """
    starts, sizes = scenario.starts, _sizes(scenario, owner)
    holders = [
        frozenset(owner[starts[topic] : starts[topic + 1]]) - {NOBODY}
        for topic in range(len(scenario.topics))
    ]
    met: set[int] = set()
    seen_topics: set[int] = set()
    for smallest in sorted(present, key=sizes.__getitem__):
        if smallest in met:
            continue
        met.add(smallest)
        queue = [smallest]
        while queue:
            topics = set(scenario.topics_of(queue.pop())) - seen_topics
            seen_topics |= topics
            able = frozenset().union(*(holders[topic] for topic in topics)) - met
            if any(sizes[place] > sizes[smallest] + 1 for place in able):
                return False
            met |= able
            queue.extend(able)
    return True
