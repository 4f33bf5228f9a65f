"""Runs for the audit: random good histories, and the ways a test breaks one.

A mutation changes what happened; afterwards the log is stamped and numbered anew, so that the
audit has to find the wrong itself and not the seam.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from random import Random

from kgroup.audit import Truth
from kgroup.journal import (
    Delivered,
    Entry,
    Event,
    MemberStopped,
    OwnershipStep,
    Phase,
    encode_entry,
)
from kgroup.types import ChangeKind, TopicPartition
from tests.audit.histories import History, Writer, tp

PARTITIONS = 3


def stamped(entries: Iterable[Entry]) -> list[Entry]:
    """Number and time entries by their place in the list."""
    seqs: dict[object, int] = {}
    fresh = []
    for place, entry in enumerate(entries):
        seq = seqs[entry.source] = seqs.get(entry.source, 0) + 1
        at = 100.0 + place / 1000
        where = f"{entry.source.member}-{entry.source.process}.jsonl:{seq}"
        fresh.append(replace(entry, seq=seq, at=at, wall=1e9 + at, where=where))
    return fresh


def write_logs(folder: Path, entries: Iterable[Entry]) -> None:
    """Write one file per member's life."""
    for entry in entries:
        path = folder / f"{entry.source.member}-{entry.source.process}.jsonl"
        with path.open("a", encoding="ascii") as log:
            log.write(encode_entry(entry) + "\n")


def truth(entries: Iterable[Entry]) -> Truth:
    """Return the bounds of the topic, as a broker would tell them after the run."""
    ends: dict[TopicPartition, int] = {}
    for entry in entries:
        if isinstance(entry.event, Delivered):
            here = entry.event.claim.tp
            ends[here] = max(entry.event.last + 1, ends.get(here, 0))
    return Truth(bounds={here: (0, end) for here, end in ends.items()})


class RandomRun:
    """A group that does random, right things."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.history = History()
        self.committed = dict.fromkeys(range(PARTITIONS), 0)
        self.owners: dict[int, Writer] = {}
        self.members: list[Writer] = []
        self.generation = 0
        self.born = 0
        first = self.newcomer()
        self.newcomer()
        for partition in range(PARTITIONS):
            self.give(partition, first)

    def newcomer(self) -> Writer:
        self.born += 1
        member = self.history.member(f"m{self.born}")
        member.start()
        self.members.append(member)
        return member

    def give(self, partition: int, member: Writer) -> None:
        self.generation += 1
        member.enter(self.generation, partition)
        member.assign(partition, offset=self.committed[partition])
        self.owners[partition] = member

    def deliver(self, partition: int) -> None:
        self.owners[partition].deliver(partition, self.random.randint(1, 5))

    def commit(self, partition: int) -> None:
        owner = self.owners[partition]
        owner.commit(partition)
        self.committed[partition] = owner.positions[tp(partition)]

    def move(self, partition: int) -> None:
        owner = self.owners[partition]
        self.commit(partition)
        owner.revoke(partition)
        self.give(partition, self.random.choice([m for m in self.members if m is not owner]))

    def remove(self, partition: int, *, killed: bool) -> None:
        """Kill the owner, or let it lose its membership; the others take over."""
        gone = self.owners[partition]
        self.members.remove(gone)
        if len(self.members) < 2:
            self.newcomer()
        orphans = [p for p, owner in self.owners.items() if owner is gone]
        if killed:
            self.history.fault("SIGKILL", gone.source.member)
        else:
            gone.lose(*orphans)
        for orphan in orphans:
            self.give(orphan, self.random.choice(self.members))

    def go(self, steps: int) -> list[Entry]:
        for _ in range(steps):
            partition = self.random.randrange(PARTITIONS)
            match self.random.randrange(12):
                case 0:
                    self.move(partition)
                case 1:
                    self.remove(partition, killed=True)
                case 2:
                    self.remove(partition, killed=False)
                case 3 | 4 | 5:
                    self.commit(partition)
                case _:
                    self.deliver(partition)
        for partition in range(PARTITIONS):
            self.deliver(partition)
            self.deliver(partition)
            self.move(partition)
        return stamped(self.history.entries)


# -- mutations: each breaks a good history in one way --------------------------------------

Mutation = Callable[[list[Entry], Random], list[Entry]]


def _with(entry: Entry, event: Event) -> Entry:
    return replace(entry, event=event)


def _deliveries(entries: list[Entry]) -> list[tuple[int, Delivered]]:
    return [(n, e.event) for n, e in enumerate(entries) if isinstance(e.event, Delivered)]


def remove_one_record(entries: list[Entry], random: Random) -> list[Entry]:
    """Take away one record that was delivered exactly once."""
    seen: dict[tuple[TopicPartition, int], int] = {}
    for _, event in _deliveries(entries):
        for offset in range(event.first, event.last + 1):
            seen[event.claim.tp, offset] = seen.get((event.claim.tp, offset), 0) + 1
    number, event, offset = random.choice(
        [
            (number, event, offset)
            for number, event in _deliveries(entries)
            for offset in range(event.first, event.last + 1)
            if seen[event.claim.tp, offset] == 1
        ]
    )
    pieces = [
        _with(entries[number], Delivered(event.claim, first, last, last - first + 1))
        for first, last in ((event.first, offset - 1), (offset + 1, event.last))
        if first <= last
    ]
    return stamped([*entries[:number], *pieces, *entries[number + 1 :]])


def double_one_delivery(entries: list[Entry], random: Random) -> list[Entry]:
    number, _ = random.choice(_deliveries(entries))
    return stamped([*entries[: number + 1], *entries[number:]])


def deliver_after_the_end(entries: list[Entry], random: Random) -> list[Entry]:
    """Deliver one record more, right after a revocation or a loss."""
    number, entry, event = random.choice(
        [
            (number, entry, entry.event)
            for number, entry in enumerate(entries)
            if isinstance(entry.event, OwnershipStep)
            and entry.event.phase is Phase.END
            and entry.event.kind is not ChangeKind.ASSIGNED
        ]
    )
    claim = random.choice(event.claims)
    offset = max(
        (e.last + 1 for _, e in _deliveries(entries[:number]) if e.claim == claim), default=0
    )
    late = _with(entry, Delivered(claim, offset, offset, 1))
    return stamped([*entries[: number + 1], late, *entries[number + 1 :]])


def own_at_once(entries: list[Entry], random: Random) -> list[Entry]:
    """Let a revocation begin and end only after the next owner's assignment has."""
    handovers: list[tuple[int, int]] = []
    for number, entry in enumerate(entries):
        event = entry.event
        if not isinstance(event, OwnershipStep) or event.phase is not Phase.END:
            continue
        if event.kind is ChangeKind.REVOKED:
            tps = {claim.tp for claim in event.claims}
            takers = (n for n in range(number, len(entries)) if _takes(entries[n], tps))
            later = next(takers, number)
            if later > number and not _stops(entries[number:later], entry):
                handovers.append((number, later))
    number, later = random.choice(handovers)
    ended = entries[number]
    assert isinstance(ended.event, OwnershipStep)
    begin = replace(ended.event, phase=Phase.BEGIN)
    moved = [each for each in entries[:number] if each.source == ended.source][::-1]
    began = next(each for each in moved if each.event == begin)
    kept = [each for each in entries[: later + 1] if each is not began and each is not ended]
    return stamped([*kept, began, ended, *entries[later + 1 :]])


def _stops(entries: list[Entry], of: Entry) -> bool:
    return any(isinstance(e.event, MemberStopped) and e.source == of.source for e in entries)


def _takes(entry: Entry, tps: set[TopicPartition]) -> bool:
    event = entry.event
    return (
        isinstance(event, OwnershipStep)
        and event.kind is ChangeKind.ASSIGNED
        and event.phase is Phase.END
        and not tps.isdisjoint(claim.tp for claim in event.claims)
    )


def swap_two_deliveries(entries: list[Entry], random: Random) -> list[Entry]:
    """Exchange two neighbouring deliveries of one claim."""
    last: dict[object, int] = {}
    pairs = []
    for number, event in _deliveries(entries):
        key = (entries[number].source, event.claim)
        if key in last:
            pairs.append((last[key], number))
        last[key] = number
    a, b = random.choice(pairs)
    swapped = list(entries)
    swapped[a], swapped[b] = (
        _with(entries[a], entries[b].event),
        _with(entries[b], entries[a].event),
    )
    return stamped(swapped)
