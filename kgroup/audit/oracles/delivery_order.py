"""D2 and D3: within one claim records come in order, without gaps, from the right place.

Decides: whether each delivery starts where the claim stands.
Never: compares different claims.

D2: offsets strictly increase and skip only what consumers cannot see.
D3: the first delivery of a claim starts at the committed offset that was read, or where the reset
    policy or a seek put it.
"""

from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import (
    Delivered,
    Entry,
    Event,
    MemberStarted,
    OffsetRead,
    PositionMoved,
    Source,
)
from kgroup.journal.periods import PeriodKey
from kgroup.values import dataclass


@dataclass(slots=True)
class _Position:
    """Where a claim stands.

    Args:
        offset: the next offset, None when nothing is committed and no policy has spoken.
        entry: what put it there.
        delivered: whether a delivery did.
    """

    offset: int | None
    entry: Entry
    delivered: bool


class DeliveryOrder:
    """D2 and D3: each claim is delivered from its position on.

    Args:
        sparse: topics with offsets that consumers do not see (transactions, compaction).
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {Delivered, MemberStarted, OffsetRead, PositionMoved}
    )

    ONE_PARTITION: ClassVar[bool] = True
    __slots__ = ("_foreign", "_positions", "_sparse")

    def __init__(self, sparse: frozenset[str] = frozenset()) -> None:
        self._sparse = sparse
        self._foreign: set[Source] = set()
        self._positions: dict[PeriodKey, _Position] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        event = entry.event
        if isinstance(event, Delivered):
            return self._delivered(entry, event)
        match event:
            case OffsetRead(claim=claim, offset=offset):
                known = self._positions.get((entry.source, claim))
                if known is None or not known.delivered:
                    self._positions[entry.source, claim] = _Position(offset, entry, delivered=False)
            case MemberStarted(client=str()):
                self._foreign.add(entry.source)
            case PositionMoved(claim=claim, offset=target):
                self._positions[entry.source, claim] = _Position(target, entry, delivered=False)
            case _:
                pass
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _delivered(self, entry: Entry, event: Delivered) -> tuple[Violation, ...]:
        key = (entry.source, event.claim)
        known = self._positions.get(key)
        self._positions[key] = _Position(event.last + 1, entry, delivered=True)
        span = event.last - event.first + 1
        if known is not None and event.first == known.offset and event.count == span:
            return ()
        return (*self._start(entry, event, known), *self._inside(entry, event))

    def _start(
        self, entry: Entry, event: Delivered, known: _Position | None
    ) -> tuple[Violation, ...]:
        claim, first = event.claim, event.first
        if known is None and entry.source in self._foreign:
            return ()  # another client's log does not tell where its claims begin
        if known is None or known.offset is None:
            text = f"{claim}: {entry.source} delivered {first} before its position was known"
            proofs = (entry,) if known is None else (known.entry, entry)
            return (Violation("D3", text, proofs, claim.tp),)
        if first == known.offset or (first > known.offset and claim.tp.topic in self._sparse):
            return ()
        far = abs(first - known.offset)
        what = "back" if first < known.offset else "skipped"
        text = f"{claim}: {entry.source} delivered {first} at position {known.offset}: {far} {what}"
        rule = "D2" if known.delivered else "D3"
        return (Violation(rule, text, (known.entry, entry), claim.tp),)

    def _inside(self, entry: Entry, event: Delivered) -> tuple[Violation, ...]:
        span = event.last - event.first + 1
        if event.count == span or (0 < event.count < span and event.claim.tp.topic in self._sparse):
            return ()
        text = (
            f"{event.claim}: {event.count} records delivered for the {span} offsets from "
            f"{event.first} to {event.last}"
        )
        return (Violation("D2", text, (entry,), event.claim.tp),)
