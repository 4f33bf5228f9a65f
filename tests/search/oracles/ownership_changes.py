"""B1 and B2: a listener hears what is taken before what is added, and of each in turn.

B1: what a round takes away is given back, or lost, before what it adds is assigned.
B2: per partition assigned and exactly one of revoked or lost alternate, each with both edges.

Decides: whether the changes of ownership that a listener hears of make sense to the application.
Never: judges how it is called; `listener_calls` does.
"""

from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import Entry, Event, GenerationEntered, OwnershipStep, Phase, Source
from kgroup.types import ChangeKind, Claim, TopicPartition
from tests.search.oracles import excuses


class OwnershipAlternates:
    """B2: assigned, then revoked or lost, then assigned again."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset({OwnershipStep})

    __slots__ = ("_edges", "_held")

    def __init__(self) -> None:
        self._held: dict[tuple[Source, TopicPartition], tuple[Claim, Entry]] = {}
        self._edges: dict[tuple[Source, Claim, ChangeKind], Entry] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if not isinstance(event, OwnershipStep):
            return ()
        if event.phase is Phase.BEGIN:
            step = self._take if event.kind is ChangeKind.ASSIGNED else self._give
        else:
            step = self._close
        return tuple(v for claim in event.claims for v in step(entry, event, claim))

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing: what is open belongs to a member that was killed or still runs."""
        return ()

    def _take(self, entry: Entry, event: OwnershipStep, claim: Claim) -> tuple[Violation, ...]:
        held = self._held.get((entry.source, claim.tp))
        self._held[entry.source, claim.tp] = (claim, entry)
        self._edges[entry.source, claim, event.kind] = entry
        if held is None:
            return ()
        text = f"{claim} is assigned to {entry.source}, which still holds {held[0]}"
        return (Violation("B2", text, (held[1], entry), claim.tp),)

    def _give(self, entry: Entry, event: OwnershipStep, claim: Claim) -> tuple[Violation, ...]:
        held = self._held.pop((entry.source, claim.tp), None)
        self._edges[entry.source, claim, event.kind] = entry
        if held is not None and held[0] == claim:
            return ()
        text = f"{claim} is {event.kind.value} at {entry.source}, which does not hold it"
        proofs = (entry,) if held is None else (held[1], entry)
        return (Violation("B2", text, proofs, claim.tp),)

    def _close(self, entry: Entry, event: OwnershipStep, claim: Claim) -> tuple[Violation, ...]:
        if self._edges.pop((entry.source, claim, event.kind), None) is not None:
            return ()
        text = f"{claim}: {event.kind.value} ends at {entry.source} without having begun"
        return (Violation("B2", text, (entry,), claim.tp),)


class TakenBeforeAdded:
    """B1: what an eager round takes away goes before what it adds comes."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset({GenerationEntered, OwnershipStep})

    __slots__ = ("_added", "_rounds")

    def __init__(self) -> None:
        self._rounds: dict[Source, GenerationEntered] = {}
        self._added: dict[Source, Entry] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if isinstance(event, GenerationEntered):
            self._rounds[entry.source] = event
            self._added.pop(entry.source, None)
        elif isinstance(event, OwnershipStep) and event.phase is Phase.BEGIN and event.claims:
            if event.kind is not ChangeKind.ASSIGNED:
                return self._taken(entry, event)
            entered = self._rounds.get(entry.source)
            if entered is None or excuses.adds_at_once(entered.protocol):
                return ()
            if not excuses.added_by_an_earlier_round(event, entered):
                self._added[entry.source] = entry
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _taken(self, entry: Entry, event: OwnershipStep) -> tuple[Violation, ...]:
        added = self._added.get(entry.source)
        entered = self._rounds.get(entry.source)
        if added is None or entered is None:
            return ()
        return tuple(
            Violation(
                "B1",
                f"{claim} is {event.kind.value} at {entry.source} after the round that took it "
                "away had added partitions",
                (added, entry),
                claim.tp,
            )
            for claim in event.claims
            if claim.tp not in entered.assignment
        )
