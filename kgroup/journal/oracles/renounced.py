"""What a member has said itself to have lost, before its listener heard of it.

Decides: of which generations a member has claimed nothing any more.
Never: says whether somebody else may own it; S2 does. That nothing is delivered, or gained, before
the loss is told, S9 judges.
KIPs: 792.

1. on_assigned is slow, or another call is; 2. the member is removed, and joins anew: its JoinGroup
names no generation and lists nothing, and on_lost waits for the listener; 3. the round gives the
partition to another; 4. the member fails, or is closed, and the listener is broken off: it stops
without a word about what was lost.
"""

from typing import ClassVar

from kgroup.journal.events import Entry, Event, GenerationEntered, JoinIssued, Source
from kgroup.journal.periods import Ending, Period

__all__ = ["Renounced"]

_Generation = tuple[str | None, int | None]


class Renounced:
    """Follows what JoinGroups say of generations before; show it entries in order of time."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset({GenerationEntered, JoinIssued})
    """Events it follows; no other needs to be shown."""

    __slots__ = ("_entered", "_over")

    def __init__(self) -> None:
        self._entered: dict[Source, set[_Generation]] = {}
        self._over: dict[Source, set[_Generation]] = {}

    def observe(self, entry: Entry) -> None:
        """Take one entry."""
        match entry.event:
            case GenerationEntered(member_id=member_id, generation_id=generation_id):
                generation = (member_id, generation_id)
                self._entered.setdefault(entry.source, set()).add(generation)
                self._over.get(entry.source, set()).discard(generation)  # it is given once more
            case JoinIssued(generation_id=None, owned=()):
                over = self._over.setdefault(entry.source, set())
                over |= self._entered.pop(entry.source, set())
            case _:
                pass

    def covers(self, period: Period) -> bool:
        """Tell whether a member stopped that had said to have lost what it still held."""
        generation = (period.member_id, period.generation_id)
        return period.ending is Ending.STOPPED and generation in self._over.get(period.source, ())
