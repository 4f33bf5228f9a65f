"""Long runs of a plain group, each with one fault whose kind and place are known.

Decides: the faults. Each is made by a seed, and its lines are numbered anew.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from types import MappingProxyType
from typing import Final

from kgroup.journal import CommitStage, Delivered, Entry, OwnershipStep, Phase
from kgroup.types import ChangeKind
from tests.audit.histories import Writer, tp
from tests.audit.runs import stamped
from tests.spark.fleet import PlainRun


class LongRun(PlainRun):
    """A plain group that goes on until it has logged enough.

    Args:
        random: chance.
        lines: that it logs, about.
    """

    def __init__(self, random: Random, lines: int) -> None:
        super().__init__(random)
        self.lines = lines

    def go(self) -> list[Entry]:
        for member in self.members:
            member.start()
        generation = 0
        while len(self.history.entries) < self.lines:
            generation += 1
            self.generation(generation)
        for member in self.members:
            member.stop()
        return stamped(self.history.entries)

    def read(self, partition: int, owner: Writer) -> None:
        for _ in range(self.random.randint(3, 40)):
            owner.deliver(partition, self.random.randint(1, 9))
        owner.commit(partition)
        self.ends[partition] = owner.positions[tp(partition)]


class RunThatGoesBack(LongRun):
    """One owner commits a lower offset before it gives a partition up; the next begins there."""

    endings = (ChangeKind.REVOKED,)
    left = 2

    def read(self, partition: int, owner: Writer) -> None:
        super().read(partition, owner)
        self.left -= 1
        if self.left == 0:
            self.ends[partition] -= 2
            owner.commits += 1
            owner.commit_step(CommitStage.OK, partition, offset=self.ends[partition])


@dataclass(frozen=True, slots=True)
class Planted:
    """A group with a fault.

    Args:
        entries: what its members logged.
        kind: of the problem an audit reports.
        count: that it reports.
        line: one that proves it.
    """

    entries: list[Entry]
    kind: str
    count: int
    line: int


def lost(random: Random, lines: int) -> Planted:
    """A delivery is missing."""
    entries = LongRun(random, lines).go()
    number, after = random.choice(_pairs(entries))
    gone = _delivered(entries[number])
    return Planted(stamped(_without(entries, number)), "lost", gone.count, after)


def doubled(random: Random, lines: int) -> Planted:
    """A delivery comes twice."""
    entries = LongRun(random, lines).go()
    number, _ = random.choice(_pairs(entries))
    count = _delivered(entries[number]).count
    again = [*entries[: number + 1], *entries[number:]]
    return Planted(stamped(again), "duplicated", count, number + 2)


def zombie(random: Random, lines: int) -> Planted:
    """A member delivers a record after it has given the partition up, and nobody else does."""
    entries = LongRun(random, lines).go()
    number = random.choice([n for n, each in enumerate(entries) if _gives_up(each)][:-6])
    event = entries[number].event
    assert isinstance(event, OwnershipStep)
    claim = event.claims[0]
    end = max(
        each.event.last + 1
        for each in entries[:number]
        if isinstance(each.event, Delivered) and each.event.claim == claim
    )
    late = replace(entries[number], event=Delivered(claim, end, end, 1))
    with_it = [*entries[: number + 1], late, *entries[number + 1 :]]
    return Planted(stamped(with_it), "delivered without owning", 1, number + 2)


def overlap(random: Random, lines: int) -> Planted:
    """A member says that it gave a partition up only after the next one has it."""
    entries = LongRun(random, lines).go()
    number, taken = random.choice(_handovers(entries))
    begun = next(
        n
        for n in range(number - 1, -1, -1)
        if entries[n].source == entries[number].source
        and isinstance(entries[n].event, OwnershipStep)
    )
    moved = (begun, number)
    kept = [each for n, each in enumerate(entries[: taken + 1]) if n not in moved]
    late = [*kept, *(entries[n] for n in moved), *entries[taken + 1 :]]
    return Planted(stamped(late), "owned by two at once", 1, len(kept))


def going_back(random: Random, lines: int) -> Planted:
    """A commit goes back before the partition is handed over."""
    entries = RunThatGoesBack(random, lines).go()
    back = next(
        n
        for n, each in enumerate(entries)
        if n
        and each.event.KIND == entries[n - 1].event.KIND == "commit"
        and each.event != entries[n - 1].event
        and getattr(each.event, "offset", 0) < getattr(entries[n - 1].event, "offset", 0)
    )
    claim = getattr(entries[back].event, "claim", None)
    assert claim is not None
    again = next(
        n
        for n, each in enumerate(entries)
        if n > back and isinstance(each.event, Delivered) and each.event.claim.tp == claim.tp
    )
    return Planted(entries, "duplicated", 2, again + 1)


FAULTS: Final[Mapping[str, Callable[[Random, int], Planted]]] = MappingProxyType(
    {each.__name__: each for each in (lost, doubled, zombie, overlap, going_back)}
)


def _delivered(entry: Entry) -> Delivered:
    assert isinstance(entry.event, Delivered)
    return entry.event


def _pairs(entries: list[Entry]) -> list[tuple[int, int]]:
    """Return neighbouring deliveries of one claim."""
    last: dict[object, int] = {}
    pairs = []
    for number, entry in enumerate(entries):
        if isinstance(entry.event, Delivered):
            key = entry.source, entry.event.claim
            if key in last:
                pairs.append((last[key], number))
            last[key] = number
    return pairs


def _without(entries: list[Entry], number: int) -> list[Entry]:
    return [*entries[:number], *entries[number + 1 :]]


def _gives_up(entry: Entry) -> bool:
    event = entry.event
    return (
        isinstance(event, OwnershipStep)
        and event.phase is Phase.END
        and event.kind is not ChangeKind.ASSIGNED
    )


def _handovers(entries: list[Entry]) -> list[tuple[int, int]]:
    """Return where a revocation ends and where another member's next assignment of it does."""
    found = []
    for number, entry in enumerate(entries):
        event = entry.event
        if not (_gives_up(entry) and isinstance(event, OwnershipStep)):
            continue
        if event.kind is ChangeKind.REVOKED:
            taken = next(
                (n for n in range(number, len(entries)) if _takes(entries[n], event)), None
            )
            if taken is not None and entries[taken].source != entry.source:
                found.append((number, taken))
    return found


def _takes(entry: Entry, given: OwnershipStep) -> bool:
    event = entry.event
    return (
        isinstance(event, OwnershipStep)
        and event.kind is ChangeKind.ASSIGNED
        and event.phase is Phase.END
        and event.claims[0].tp == given.claims[0].tp
    )
