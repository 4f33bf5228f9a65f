"""What a member has said itself to have lost, before its listener heard of it.

Decides: of which generations a member has claimed nothing any more.
Never: says whether somebody else may own it; S2 does. That nothing is delivered, or gained, before
the loss is told, S9 judges.
KIPs: 792.

1. on_assigned is slow, or another call is; 2. the member is removed, and joins anew: its JoinGroup
names no generation and lists nothing, and on_lost waits for the listener; 3. the round gives the
partition to another; 4. the member fails, or is closed, and the listener is broken off: it stops
without a word about what was lost.
Who fetches or commits after it has said so has lost nothing: its word counts no more.
"""

from typing import ClassVar

from kgroup.journal.events import (
    CommitStage,
    CommitStep,
    Entry,
    Event,
    FetchIssued,
    GenerationEntered,
    JoinIssued,
    Source,
)
from kgroup.journal.periods import Ending, Period, PeriodKey

__all__ = ["Renounced"]

_Generation = tuple[str | None, int | None]


class Renounced:
    """Follows what JoinGroups say of generations before; show it entries in order of time."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {CommitStep, FetchIssued, GenerationEntered, JoinIssued}
    )
    """Events it follows; no other needs to be shown."""

    __slots__ = ("_acted", "_entered", "_over")

    def __init__(self) -> None:
        self._entered: dict[Source, set[_Generation]] = {}
        self._over: dict[Source, dict[_Generation, int]] = {}
        self._acted: dict[PeriodKey, int] = {}

    def observe(self, entry: Entry) -> None:
        """Take one entry."""
        match entry.event:
            case GenerationEntered(member_id=member_id, generation_id=generation_id):
                generation = (member_id, generation_id)
                self._entered.setdefault(entry.source, set()).add(generation)
                self._over.get(entry.source, {}).pop(generation, None)  # it is given once more
            case JoinIssued(generation_id=None, owned=()):
                over = self._over.setdefault(entry.source, {})
                over |= dict.fromkeys(self._entered.pop(entry.source, ()), entry.seq)
            case FetchIssued(claim=claim) | CommitStep(stage=CommitStage.REQUESTED, claim=claim):
                self._acted[entry.source, claim] = entry.seq
            case _:
                pass

    def covers(self, period: Period) -> bool:
        """Tell whether a member stopped that had said to have lost what it still held.

        Who asked anything of the partition after it had said so has not lost it.
        """
        generation = (period.member_id, period.generation_id)
        said = self._over.get(period.source, {}).get(generation)
        if said is None or period.ending is not Ending.STOPPED:
            return False
        return self._acted.get(period.key, said) <= said
