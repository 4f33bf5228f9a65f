"""Which process is struck, at which moment, on how many brokers.

Decides: the names of the cells. On one broker the leader is the coordinator: one victim.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Final

from kgroup.words import Word


class Victim(Word):
    """What is ended by SIGKILL."""

    PROGRAM = "program"
    DRIVER = "driver"
    READER = "reader"
    EXECUTOR = "executor"
    WORKER = "worker"
    LEADER = "leader"
    COORDINATOR = "coordinator"
    BROKER = "broker"

    @property
    def is_broker(self) -> bool:
        return self in (Victim.LEADER, Victim.COORDINATOR, Victim.BROKER)

    @property
    def ends_the_query(self) -> bool:
        return self in (Victim.PROGRAM, Victim.DRIVER, Victim.READER)


class Moment(Word):
    """When it is struck."""

    IDLE = "idle"
    MID_BATCH = "mid-batch"
    BETWEEN = "between"
    MID_REBALANCE = "mid-rebalance"


SIZES: Final = {"one": 1, "three": 3}
"""Word -> brokers."""

WHAT: Final = {
    Victim.PROGRAM: "the Python program of the query",
    Victim.DRIVER: "the JVM of the driver",
    Victim.READER: "the Python process of the reader, where the member lives",
    Victim.EXECUTOR: "an executor's JVM, with the workers that hang on it",
    Victim.WORKER: "all Python workers, at work or in the pool; without any, their daemon",
    Victim.LEADER: "a broker that leads partitions of the topic, and not the group",
    Victim.COORDINATOR: "the broker that coordinates the group, and leads no partition",
    Victim.BROKER: "the only broker: leader and coordinator in one",
}

WHEN: Final = {
    Moment.IDLE: "all is committed, and nothing is written",
    Moment.MID_BATCH: "tasks have rows of a batch that is not in the sink",
    Moment.BETWEEN: "a batch is in the sink, and not committed",
    Moment.MID_REBALANCE: "another member has joined, and its share hangs on the running batch",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One square of the matrix."""

    victim: Victim
    moment: Moment
    size: str

    @property
    def name(self) -> str:
        return f"{self.victim.value}/{self.moment.value}/{self.size}"

    @property
    def brokers(self) -> int:
        return SIZES[self.size]

    @property
    def master(self) -> str:
        """Spark's; in `local` there is no executor to kill."""
        return "local-cluster[2,1,1024]" if self.victim is Victim.EXECUTOR else "local[2,4]"


def cells() -> Iterator[Cell]:
    """Yield all cells, those of one cluster after another."""
    for size in SIZES:
        for victim in Victim:
            alone = victim is Victim.BROKER
            if size == "one" and victim in (Victim.LEADER, Victim.COORDINATOR):
                continue
            if alone and size != "one":
                continue
            for moment in Moment:
                yield Cell(victim, moment, size)


def chosen(patterns: Sequence[str]) -> list[Cell]:
    """Return the cells that some words name: whole names, parts of names, or patterns.

    Raises:
        ValueError: a word names none.
    """
    if not patterns:
        return list(cells())
    for pattern in patterns:
        if not any(_is_named(cell, pattern) for cell in cells()):
            raise ValueError(f"no cell is named by {pattern!r}; --list lists them")
    return [cell for cell in cells() if any(_is_named(cell, each) for each in patterns)]


def _is_named(cell: Cell, pattern: str) -> bool:
    parts = cell.name.split("/")
    wanted = pattern.split("/")
    if len(wanted) == len(parts):
        return all(map(fnmatch, parts, wanted))
    return all(any(fnmatch(part, each) for part in parts) for each in wanted)
