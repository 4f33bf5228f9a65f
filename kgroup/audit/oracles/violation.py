"""What an oracle is: entries in, broken promises out.

Decides: the shape of a violation and of an oracle.
Never: says which rules there are.

Entries come in one order: that of time, merged over all members. An oracle keeps state in memory
bounded by members, partitions and ownership periods, never by records.
"""

from dataclasses import dataclass
from typing import Protocol

from kgroup.journal.events import Entry
from kgroup.types import TopicPartition

__all__ = ["Oracle", "Violation"]


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise, with what proves it.

    Args:
        rule: its id, as in the catalogue of properties (`docs/event-log.md`).
        text: what happened, with its numbers.
        entries: the entries that prove it, in order of time.
        tp: the partition it is about, None when it is about a member.
        oracle: name of the oracle that found it, empty when it was given none; see `Watch`.
    """

    rule: str
    text: str
    entries: tuple[Entry, ...]
    tp: TopicPartition | None = None
    oracle: str = ""


class Oracle(Protocol):
    """Watches one history; each entry is shown once, in order of time.

    An oracle that looks at few kinds of events names them in a class attribute
    `KINDS: ClassVar[frozenset[type[Event]]]`, and `Watch` spares it the others; likewise `APIS`
    for requests and answers.
    """

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry and return what it breaks."""
        ...

    def finish(self) -> tuple[Violation, ...]:
        """Return what only the end of the history shows; called once."""
        ...
