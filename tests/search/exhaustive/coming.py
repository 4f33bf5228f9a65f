"""What comes of things at the coordinator, by number, each computed once.

Decides: nothing; `counter` drives the broker. Every desk, answer and memory has a number, so that a
search compares numbers only.
Never: looks at processes.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

from kgroup.membership.described import Remembered
from kgroup.membership.events import GroupRequest
from tests.search.exhaustive.canon import key_of
from tests.search.exhaustive.counter import Counter, Served, assigned_count, remembered
from tests.search.exhaustive.desk import Desk
from tests.search.exhaustive.local import Interned, Result
from tests.search.exhaustive.process import Answer, Given, Known
from tests.search.exhaustive.scope import Fault, Scope

__all__ = ["Came", "Coming"]


@dataclass(frozen=True, slots=True)
class Came:
    """What came of something at the coordinator, by number; see `Served`.

    Args:
        desk: the coordinator now.
        given: the answer to the request.
        replies: (slot, answer) to parked requests.
        shift: what has to be added to every generation elsewhere.
    """

    desk: int
    given: Given
    replies: tuple[tuple[int, Given], ...]
    shift: int


@dataclass(slots=True)
class Coming:
    """All coordinators that were met, and what may become of each.

    Args:
        scope: settings.
    """

    scope: Scope
    desks: Interned[Desk] = field(default_factory=lambda: Interned(lambda desk: desk))
    _counter: Counter = field(init=False)
    _came: dict[Hashable, tuple[Came, ...]] = field(default_factory=dict)
    _left: dict[Hashable, int] = field(default_factory=dict)
    _memories: Interned[Remembered | None] = field(default_factory=lambda: Interned(key_of))
    _answers: Interned[Answer | None] = field(default_factory=lambda: Interned(key_of))

    def __post_init__(self) -> None:
        self._counter = Counter(self.scope)

    # -- requests ------------------------------------------------------------------------------

    def arrives(
        self,
        number: int,
        slot: int,
        call: tuple[int, int],
        asked: tuple[int, GroupRequest],
        used: frozenset[str],
    ) -> Came:
        """Let a request arrive.

        Args:
            number: of the desk.
            slot: of the process.
            call: number of the process and place of the call, which name the request.
            asked: node id and request.
            used: member ids that are in use.
        """
        desk = self.desks.values[number]
        key = ("arrives", number, slot, *call, used)
        (came,) = self._come(key, lambda: [self._counter.serve(desk, slot, *asked, used)])
        return came

    def orphan_arrives(self, number: int, place: int, used: frozenset[str]) -> Came:
        """Let a request of a closed connection arrive."""
        desk = self.desks.values[number]
        orphan = desk.orphans[place]
        key = ("orphan", number, place, used)
        (came,) = self._come(key, lambda: [self._counter.orphan_arrives(desk, orphan, used)])
        return came

    # -- time and mishaps ----------------------------------------------------------------------

    def later(self, number: int) -> tuple[Came, ...]:
        """Let a tick pass; one result for each order of timers that makes a difference."""
        desk = self.desks.values[number]
        return self._come(("later", number), lambda: self._counter.later(desk))

    def upset(self, number: int, kind: Fault) -> Came:
        """Let the coordinator give the group up."""
        desk = self.desks.values[number]
        (came,) = self._come((kind.value, number), lambda: [self._counter.upset(desk, kind)])
        return came

    def left(self, number: int, slot: int, result: Result) -> int:
        """Note what a process left behind; returns the number of the desk then."""
        if not result.orphans and not result.let_go:
            return number
        orphans = result.orphans if self.scope.late_requests else ()
        key = (number, slot, result.let_go, orphans)
        after = self._left.get(key)
        if after is None:
            desk = self.desks.values[number]
            gone = result.let_go
            after = self.desks.number(self._counter.abandon(desk, slot, orphans, gone=gone))
            self._left[key] = after
        return after

    # -- what it says of itself ----------------------------------------------------------------

    def remembered(self, number: int, slot: int, *, recall: bool) -> Known:
        """Return what a group that stands knows of a static member, if it is asked."""
        desk = self.desks.values[number]
        known = remembered(desk, self.scope.client_id(slot)) if recall else None
        return Known(self._memories.number(known), known)

    def assigned_count(self, number: int) -> int | None:
        """Return how many partitions a group that stands has assigned."""
        return assigned_count(self.desks.values[number])

    def ids(self, number: int) -> frozenset[str]:
        """Return the member ids it knows."""
        desk = self.desks.values[number]
        ids: set[str] = set()
        for room in (desk.room, desk.stored):
            if room is not None:
                ids |= {seat.member_id for seat in room.seats} | room.pending
        ids |= {getattr(orphan.request, "member_id", "") for orphan in desk.orphans}
        return frozenset(ids)

    # -- numbers -------------------------------------------------------------------------------

    def _come(self, key: Hashable, make: Callable[[], Iterable[Served]]) -> tuple[Came, ...]:
        known = self._came.get(key)
        if known is None:
            known = self._came[key] = tuple(
                Came(
                    self.desks.number(served.desk),
                    self._given(served.answer),
                    tuple((slot, self._given(answer)) for slot, answer in served.replies),
                    served.shift,
                )
                for served in make()
            )
        return known

    def _given(self, answer: Answer | None) -> Given:
        return Given(self._answers.number(answer), answer)
