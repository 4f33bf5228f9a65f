"""Event logs of many groups: some plainly well, some well with a history, some broken."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from random import Random

from kgroup.journal import Entry, Source, encode_entry
from kgroup.types import ChangeKind
from tests.audit.histories import History, Writer, tp
from tests.audit.runs import (
    Mutation,
    RandomRun,
    deliver_after_the_end,
    double_one_delivery,
    own_at_once,
    remove_one_record,
    swap_two_deliveries,
)

MUTATIONS: tuple[Mutation, ...] = (
    deliver_after_the_end,
    double_one_delivery,
    own_at_once,
    remove_one_record,
    swap_two_deliveries,
)


class PlainRun:
    """A group in which partitions move between members that all start and stop."""

    endings: tuple[ChangeKind, ...] = (ChangeKind.REVOKED, ChangeKind.LOST)

    def __init__(self, random: Random) -> None:
        self.random = random
        self.history = History()
        self.members = [self.history.member(f"m{number}") for number in range(3)]
        self.ends = dict.fromkeys(range(random.randint(1, 3)), random.choice([0, 0, 40]))

    def go(self) -> list[Entry]:
        for member in self.members:
            member.start()
        for generation in range(1, self.random.randint(2, 5)):
            self.generation(generation)
        for member in self.members:
            member.stop()
        return self.history.entries

    def generation(self, number: int) -> None:
        given = {partition: self.random.choice(self.members) for partition in self.ends}
        for member in self.members:
            member.join(number, *(p for p, owner in given.items() if owner is member))
        for partition, owner in given.items():
            owner.assign(partition, offset=self.ends[partition])
        for partition, owner in given.items():
            self.read(partition, owner)
        for partition, owner in given.items():
            owner.end(self.random.choice(self.endings), partition)

    def read(self, partition: int, owner: Writer) -> None:
        for _ in range(self.random.randint(1, 4)):
            owner.deliver(partition, self.random.randint(1, 9))
            self.history.wait(self.random.random())
        owner.commit(partition)
        self.ends[partition] = owner.positions[tp(partition)]


def recorded(random: Random) -> tuple[str, list[Entry]]:
    """Return one group and what it is: plain, well, or broken in one way."""
    kind = random.randrange(4)
    if kind == 0:
        return "plain", PlainRun(random).go()
    if kind == 1:
        mutation = random.choice(MUTATIONS)
        made = PlainRun(random).go()
        return mutation.__name__, _mutated(made, mutation, random)
    run = RandomRun(random).go(random.randint(5, 30))
    return (
        ("well", run) if kind == 2 else ("broken", _mutated(run, random.choice(MUTATIONS), random))
    )


def _mutated(entries: list[Entry], mutation: Mutation, random: Random) -> list[Entry]:
    try:
        return mutation(entries, random)
    except IndexError:  # it has nothing of what would be broken
        return double_one_delivery(entries, random)


def write_group(folder: Path, group: str, entries: Iterable[Entry]) -> None:
    """Write one file for each life of a member."""
    by_source: dict[Source, list[Entry]] = {}
    for entry in entries:
        by_source.setdefault(entry.source, []).append(entry)
    for source, those in by_source.items():
        write_whole(folder, group, those, f"-{source.member}-{source.process}")


def write_whole(folder: Path, group: str, entries: Iterable[Entry], more: str = "") -> Path:
    """Write entries as one file, in their order; return its path."""
    path = folder / f"{group}{more}.jsonl"
    path.write_text(text_of(entries, group), encoding="ascii")
    return path


def text_of(entries: Iterable[Entry], group: str) -> str:
    """Return entries as lines of a group."""
    return "".join(
        encode_entry(replace(entry, source=entry.source._replace(group=group))) + "\n"
        for entry in entries
    )
