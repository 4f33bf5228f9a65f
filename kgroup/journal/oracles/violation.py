"""What an oracle is: entries in, broken promises out.

Decides: the shape of a violation and of an oracle.
Never: says which rules there are.

Entries come in one order: that of time, merged over all members. An oracle keeps state in memory
bounded by members, partitions and ownership periods, never by records.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from kgroup.journal.events import Entry
from kgroup.types import TopicPartition

__all__ = ["Oracle", "Violation", "judge"]


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise, with what proves it.

    Args:
        rule: its id, as in the catalogue of properties (`docs/event-log.md`).
        text: what happened, with its numbers.
        entries: the entries that prove it, in order of time.
        tp: the partition it is about, None when it is about a member.
    """

    rule: str
    text: str
    entries: tuple[Entry, ...]
    tp: TopicPartition | None = None


class Oracle(Protocol):
    """Watches one history; each entry is shown once, in order of time."""

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry and return what it breaks."""
        ...

    def finish(self) -> tuple[Violation, ...]:
        """Return what only the end of the history shows; called once."""
        ...


def judge(oracles: Iterable[Oracle], entries: Iterable[Entry]) -> tuple[Violation, ...]:
    """Show a whole history to some oracles and return everything they find, in order."""
    watching = tuple(oracles)
    found: list[Violation] = []
    for entry in entries:
        for oracle in watching:
            found.extend(oracle.observe(entry))
    for oracle in watching:
        found.extend(oracle.finish())
    return tuple(found)
