"""C1, C3 and C7: by the coordinator's own order, commits form one line, and new owners read it.

C1: an accepted commit names the generation of the latest stored round.
C3: accepted offsets of a partition do not decrease, unless its position was moved on purpose.
C7: what a new owner reads is not below what stood when the partition was assigned to it, and was
    stored.
What an administrator stores or deletes begins a new line.

Decides: whether the accepted commits of a partition form one line, under the right generations.
Never: believes a member about what was accepted; what it was told is `outcomes`' business.
"""

from dataclasses import dataclass
from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import (
    CommitStored,
    Entry,
    Event,
    FaultStep,
    OffsetRead,
    OwnershipStep,
    Phase,
    PositionMoved,
    RoundStored,
)
from kgroup.journal.faults import KEPT
from kgroup.journal.periods import PeriodKey
from kgroup.types import ChangeKind, TopicPartition
from tests.search.oracles import excuses


@dataclass(slots=True)
class _Line:
    """The commits of one partition.

    Args:
        entry: the latest one.
        offset: what stands, None when it was deleted.
        moved_to: lowest target of moves that may still let it decrease.
        overtaken: decreases so far that a commit kept on its way has explained.
    """

    entry: Entry
    offset: int | None
    moved_to: int | None = None
    overtaken: int = 0


class StoredCommits:
    """C1, C3 and C7: ground truth."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {CommitStored, FaultStep, RoundStored, PositionMoved, OffsetRead, OwnershipStep}
    )

    __slots__ = ("_floors", "_kept_on_the_way", "_lines", "_rounds")

    def __init__(self) -> None:
        self._rounds: dict[str | None, Entry] = {}
        self._lines: dict[TopicPartition, _Line] = {}
        self._floors: dict[PeriodKey, Entry] = {}
        self._kept_on_the_way = 0

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        match entry.event:
            case CommitStored() as stored:
                return (*self._generation(entry, stored), *self._stored(entry, stored))
            case FaultStep(phase=Phase.BEGIN, fault=fault):
                self._kept_on_the_way += fault in KEPT
            case RoundStored():
                self._rounds[entry.source.group] = entry
            case PositionMoved(claim=claim, offset=offset):
                line = self._lines.get(claim.tp)
                if line is not None:
                    line.moved_to = offset if line.moved_to is None else min(offset, line.moved_to)
            case OffsetRead() as read:
                return self._read(entry, read)
            case OwnershipStep() as step:
                self._moved(entry, step)
            case _:
                pass
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _moved(self, entry: Entry, step: OwnershipStep) -> None:
        if step.kind is ChangeKind.ASSIGNED and step.phase is Phase.BEGIN:
            for claim in step.claims:
                if claim.tp in self._lines:
                    self._floors[entry.source, claim] = self._lines[claim.tp].entry
        elif step.kind is not ChangeKind.ASSIGNED and step.phase is Phase.END:
            for claim in step.claims:
                self._floors.pop((entry.source, claim), None)

    def _generation(self, entry: Entry, stored: CommitStored) -> tuple[Violation, ...]:
        stood = self._rounds.get(entry.source.group)
        if stood is None or stored.member_id is None:
            return ()
        assert isinstance(stood.event, RoundStored)
        named, newest = stored.generation_id, stood.event.generation_id
        if named in (None, newest) or excuses.joined_after_the_stored_round(named, newest):
            return ()
        text = (
            f"{stored.tp}: {stored.offset} of {stored.member_id} was accepted under generation "
            f"{stored.generation_id} in generation {stood.event.generation_id}"
        )
        return (Violation("C1", text, (stood, entry), stored.tp),)

    def _stored(self, entry: Entry, stored: CommitStored) -> tuple[Violation, ...]:
        tp, offset = stored.tp, stored.offset
        line = self._lines.get(tp)
        if line is None or offset is None or stored.member_id is None:
            self._lines[tp] = _Line(entry, offset)
            if line is not None:
                self._lower(tp, entry)
            return ()
        before, stood = line.entry, line.offset
        line.entry, line.offset = entry, offset
        if stood is None or offset >= stood:
            return ()
        self._lower(tp, entry)
        moved_to, line.moved_to = line.moved_to, None
        if excuses.moved_back_on_purpose(offset, moved_to):
            return ()
        if excuses.kept_on_the_way(line.overtaken, self._kept_on_the_way):
            line.overtaken += 1
            return ()
        text = f"{tp}: {offset} of {stored.member_id} was accepted after {stood}"
        return (Violation("C3", text, (before, entry), tp),)

    def _lower(self, tp: TopicPartition, entry: Entry) -> None:
        """Let readers find what stands now, although it is lower than what they could expect."""
        for key in [key for key in self._floors if key[1].tp == tp]:
            self._floors[key] = entry

    def _read(self, entry: Entry, read: OffsetRead) -> tuple[Violation, ...]:
        tp = read.claim.tp
        line, floor = self._lines.get(tp), self._floors.get((entry.source, read.claim))
        if line is None or floor is None:
            return ()
        assert isinstance(floor.event, CommitStored)
        least = floor.event.offset
        if least is None or (read.offset is not None and read.offset >= least):
            if read.offset is None or line.offset is None or read.offset <= line.offset:
                return ()
            why, proof = f"only {line.offset} was stored", line.entry
        else:
            why, proof = f"{least} was stored before the claim", floor
        text = f"{tp}: {entry.source} read the committed offset {read.offset}, but {why}"
        return (Violation("C7", text, (proof, entry), tp),)
