"""An entry: one event with the stamp that lets logs of many processes merge.

Decides: what a stamp is.
Never: makes one; a sink does, it has the clocks.
"""

from typing import NamedTuple

from kgroup.journal.events.vocabulary import Event
from kgroup.values import dataclass


class Source(NamedTuple):
    """The writer of a log: one consumer in one life of one process.

    A tuple, since oracles look members up at each entry: it is hashed without a call of Python's.

    Args:
        host: name of the machine's clock; entries of equal hosts are ordered by `at`.
        process: one life of one process, e.g. its id and its start; a restart has another.
        member: label of the consumer, unique within the process; kept over restarts.
        group: name of the group, None for a consumer without one.
    """

    host: str
    process: str
    member: str
    group: str | None = None

    def __str__(self) -> str:
        return f"{self.member}@{self.process}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One event with its stamp; logs of many processes merge by it.

    Args:
        source: the writer.
        seq: number of the entry, rising by one within its source.
        at: seconds on the machine's monotonic clock.
        wall: seconds since the epoch.
        event: what happened.
        where: `file:line` it was read from, "" when it never was in a file.
    """

    source: Source
    seq: int
    at: float
    wall: float
    event: Event
    where: str = ""

    def __str__(self) -> str:
        place = self.where or f"{self.source} #{self.seq}"
        return f"{place} {self.event}"
