"""D8: positions never jump silently.

D8: a fetch asks for the offset after the last fetch, after the last delivery, or where the
    committed offset, the reset policy, a seek or a check of the log put it. After
    OFFSET_OUT_OF_RANGE or a diverging epoch nothing else moves it.

Decides: whether each fetch goes on from where the claim stands.
Never: judges records; a jump between fetches is seen here even where offsets are missing (D2
cannot tell it from records that consumers do not see).
"""

from dataclasses import dataclass
from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import (
    Delivered,
    Entry,
    Event,
    FetchAnswered,
    FetchIssued,
    OffsetRead,
    PositionMoved,
    Source,
)
from kgroup.types import Claim


@dataclass(slots=True)
class _Place:
    """Where one claim may go on.

    Args:
        fetched: offset after what was fetched last.
        delivered: offset after what was delivered last, or where it was put.
        entry: what says so.
    """

    fetched: int
    delivered: int
    entry: Entry


class NoSilentJump:
    """D8: where fetches begin."""

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset(
        {Delivered, FetchAnswered, FetchIssued, OffsetRead, PositionMoved}
    )

    __slots__ = ("_places",)

    def __init__(self) -> None:
        self._places: dict[Source, dict[Claim, _Place]] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        places = self._places.get(entry.source)
        if places is None:
            places = self._places[entry.source] = {}
        event = entry.event
        if isinstance(event, FetchIssued):
            return self._issued(places, entry, event)
        if isinstance(event, FetchAnswered):
            place = places.get(event.claim)
            if place is not None and event.offset in (place.fetched, place.delivered):
                place.fetched, place.entry = event.next_offset, entry
        elif isinstance(event, Delivered):
            place = places.get(event.claim)
            if place is not None:
                place.delivered = event.last + 1
        elif isinstance(event, (OffsetRead, PositionMoved)) and event.offset is not None:
            places[event.claim] = _Place(event.offset, event.offset, entry)
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    @staticmethod
    def _issued(
        places: dict[Claim, _Place], entry: Entry, event: FetchIssued
    ) -> tuple[Violation, ...]:
        place = places.get(event.claim)
        if place is None:
            places[event.claim] = _Place(event.offset, event.offset, entry)
            return ()
        if event.offset in (place.fetched, place.delivered):
            return ()
        text = (
            f"{event.claim}: {entry.source} fetches from {event.offset}, but it stands at "
            f"{place.delivered} and has fetched up to {place.fetched}"
        )
        former = place.entry
        place.fetched, place.entry = event.offset, entry
        return (Violation("D8", text, (former, entry), event.claim.tp),)
