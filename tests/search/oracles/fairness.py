"""L10: no partition starves.

L10: with k claims held, one that has records waiting is served within 2k turns. A turn is a run
    of deliveries of one claim, of as many records as a poll may hand out. Not k turns: each poll
    begins one claim further, so that after b, c, d, a come c, d, a, b.

Decides: whether partitions that have records waiting are served in turn.
Never: judges an application that names the partitions it reads.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import (
    Delivered,
    Entry,
    Event,
    FetchAnswered,
    GenerationEntered,
    OwnershipStep,
    PauseCause,
    Paused,
    Phase,
    PositionMoved,
    Resumed,
    Source,
)
from kgroup.types import ChangeKind, Claim, TopicPartition
from tests.search.oracles import excuses


@dataclass(slots=True)
class _Waiting:
    """A claim with records to deliver.

    Args:
        entry: what brought them.
        end: offset after the last of them.
        turn: number of the turn in which they came.
        most: claims that were held at once since then, at most.
    """

    entry: Entry
    end: int
    turn: int
    most: int


@dataclass(slots=True)
class _Turns:
    """One member's deliveries.

    Args:
        number: of the present turn.
        claim: whose turn it is.
        records: delivered in it.
        held: the claims it owns.
        waiting: those with records to deliver that are not paused.
        paused: those that are, each with why.
        given: partitions of the newest generation, None before one was entered.
    """

    number: int = 0
    claim: Claim | None = None
    records: int = 0
    held: dict[Claim, None] = field(default_factory=dict)
    waiting: dict[Claim, _Waiting] = field(default_factory=dict)
    paused: dict[tuple[Claim, PauseCause], None] = field(default_factory=dict)
    given: frozenset[TopicPartition] | None = None


class ServedInTurn:
    """L10: turns.

    Args:
        max_records: records that one poll may hand out; more of one claim count as two turns.
        spare: turns forgiven, e.g. those of a poll that was under way.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {Delivered, FetchAnswered, GenerationEntered, OwnershipStep}
        | {Paused, PositionMoved, Resumed}
    )

    __slots__ = ("_max_records", "_spare", "_turns")

    def __init__(self, max_records: int = 500, *, spare: int = 1) -> None:
        self._max_records = max_records
        self._spare = spare
        self._turns: dict[Source, _Turns] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        turns = self._turns.get(entry.source)
        if turns is None:
            turns = self._turns[entry.source] = _Turns()
        if isinstance(event, Delivered):
            return self._delivered(turns, entry, event)
        if isinstance(event, FetchAnswered):
            _brought(turns, entry, event)
        elif isinstance(event, OwnershipStep):
            _owned(turns, event)
        elif isinstance(event, GenerationEntered):
            _taken(turns, event)
        elif isinstance(event, PositionMoved):
            turns.waiting.pop(event.claim, None)
        elif isinstance(event, (Paused, Resumed)):
            _paused(turns, event)
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _delivered(self, turns: _Turns, entry: Entry, event: Delivered) -> tuple[Violation, ...]:
        claim = event.claim
        if turns.claim != claim or turns.records + event.count > self._max_records:
            turns.number, turns.claim, turns.records = turns.number + 1, claim, 0
        turns.records += event.count
        waited = turns.waiting.get(claim)
        if waited is not None and event.last + 1 >= waited.end:
            del turns.waiting[claim]
        elif waited is not None:
            waited.turn, waited.most = turns.number, len(turns.held)
        if len(turns.waiting) < 1 + (waited is not None):
            return ()
        return self._starved(turns, entry)

    def _starved(self, turns: _Turns, entry: Entry) -> tuple[Violation, ...]:
        found = []
        for claim, waited in tuple(turns.waiting.items()):
            if turns.number - waited.turn <= 2 * waited.most + self._spare:
                continue
            del turns.waiting[claim]
            text = (
                f"{claim}: {entry.source} has records to deliver, but had "
                f"{turns.number - waited.turn} turns of others; it holds {waited.most} claims"
            )
            found.append(Violation("L10", text, (waited.entry, entry), claim.tp))
        return tuple(found)


def _brought(turns: _Turns, entry: Entry, event: FetchAnswered) -> None:
    rests = excuses.paused_meanwhile(event.claim, turns.paused)
    served = event.claim in turns.held and not rests
    if event.next_offset <= event.offset or not served:
        return
    waited = turns.waiting.get(event.claim)
    if waited is None:
        turns.waiting[event.claim] = _Waiting(
            entry, event.next_offset, turns.number, len(turns.held)
        )
    else:
        waited.end = event.next_offset


def _paused(turns: _Turns, event: Paused | Resumed) -> None:
    """Expect nothing of what is paused: it may be thrown away; what comes after counts anew."""
    for claim in event.claims:
        turns.waiting.pop(claim, None)
        if isinstance(event, Paused):
            turns.paused[claim, event.cause] = None
        else:
            turns.paused.pop((claim, event.cause), None)


def _taken(turns: _Turns, event: GenerationEntered) -> None:
    """Expect nothing of what the round took away."""
    turns.given = given = frozenset(event.assignment)
    taken = excuses.taken_before_it_was_assigned
    for claim in [claim for claim in turns.held if taken(claim.tp, given)]:
        del turns.held[claim]
        turns.waiting.pop(claim, None)


def _owned(turns: _Turns, event: OwnershipStep) -> None:
    for claim in event.claims:
        if event.kind is not ChangeKind.ASSIGNED:
            turns.held.pop(claim, None)
            turns.waiting.pop(claim, None)
            for cause in PauseCause:
                turns.paused.pop((claim, cause), None)
        elif event.phase is Phase.END:
            by_hand = event.generation_id is None
            if by_hand or not excuses.taken_before_it_was_assigned(claim.tp, turns.given):
                turns.held[claim] = None
    for waited in turns.waiting.values():
        waited.most = max(waited.most, len(turns.held))
