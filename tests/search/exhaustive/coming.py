"""What comes of things at the coordinator, by number, each computed once.

Decides: nothing; `counter` drives the broker. Every coordinator, answer and memory has a number, so
that a search compares numbers only.
Never: looks at processes.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

from kgroup.membership.events import GroupRequest
from kgroup.membership.group_description import Remembered
from tests.search.exhaustive.canon import key_of
from tests.search.exhaustive.coordinator import Coordinator
from tests.search.exhaustive.counter import Counter, Served, assigned_count, remembered
from tests.search.exhaustive.local import Interned, Result
from tests.search.exhaustive.process import Answer, Given, Known
from tests.search.exhaustive.scope import Fault, Scope


@dataclass(frozen=True, slots=True)
class Came:
    """What came of something at the coordinator, by number; see `Served`.

    Args:
        coordinator: the coordinator now.
        given: the answer to the request.
        replies: (slot, answer) to parked requests.
        shift: what has to be added to every generation elsewhere.
    """

    coordinator: int
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
    coordinators: Interned[Coordinator] = field(
        default_factory=lambda: Interned(lambda coordinator: coordinator)
    )
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
            number: of the coordinator.
            slot: of the process.
            call: number of the process and place of the call, which name the request.
            asked: node id and request.
            used: member ids that are in use.
        """
        coordinator = self.coordinators.values[number]
        key = ("arrives", number, slot, *call, used)
        (came,) = self._come(key, lambda: [self._counter.serve(coordinator, slot, *asked, used)])
        return came

    def orphan_arrives(self, number: int, place: int, used: frozenset[str]) -> Came:
        """Let a request of a closed connection arrive."""
        coordinator = self.coordinators.values[number]
        orphan = coordinator.orphans[place]
        key = ("orphan", number, place, used)
        (came,) = self._come(key, lambda: [self._counter.orphan_arrives(coordinator, orphan, used)])
        return came

    # -- time and mishaps ----------------------------------------------------------------------

    def later(self, number: int) -> tuple[Came, ...]:
        """Let a tick pass; one result for each order of timers that makes a difference."""
        coordinator = self.coordinators.values[number]
        return self._come(("later", number), lambda: self._counter.later(coordinator))

    def upset(self, number: int, kind: Fault) -> Came:
        """Let the coordinator give the group up."""
        coordinator = self.coordinators.values[number]
        (came,) = self._come((kind.value, number), lambda: [self._counter.upset(coordinator, kind)])
        return came

    def left(self, number: int, slot: int, result: Result) -> int:
        """Note what a process left behind; returns the number of the coordinator then."""
        if not result.orphans and not result.let_go:
            return number
        orphans = result.orphans if self.scope.late_requests else ()
        key = (number, slot, result.let_go, orphans)
        after = self._left.get(key)
        if after is None:
            coordinator = self.coordinators.values[number]
            gone = result.let_go
            after = self.coordinators.number(
                self._counter.abandon(coordinator, slot, orphans, gone=gone)
            )
            self._left[key] = after
        return after

    # -- what it says of itself ----------------------------------------------------------------

    def remembered(self, number: int, slot: int, *, recall: bool) -> Known:
        """Return what a group that stands knows of a static member, if it is asked."""
        coordinator = self.coordinators.values[number]
        known = remembered(coordinator, self.scope.client_id(slot)) if recall else None
        return Known(self._memories.number(known), known)

    def assigned_count(self, number: int) -> int | None:
        """Return how many partitions a group that stands has assigned."""
        return assigned_count(self.coordinators.values[number])

    def ids(self, number: int) -> frozenset[str]:
        """Return the member ids it knows."""
        coordinator = self.coordinators.values[number]
        ids: set[str] = set()
        for room in (coordinator.room, coordinator.stored):
            if room is not None:
                ids |= {seat.member_id for seat in room.seats} | room.pending
        ids |= {getattr(orphan.request, "member_id", "") for orphan in coordinator.orphans}
        return frozenset(ids)

    # -- numbers -------------------------------------------------------------------------------

    def _come(self, key: Hashable, make: Callable[[], Iterable[Served]]) -> tuple[Came, ...]:
        known = self._came.get(key)
        if known is None:
            known = self._came[key] = tuple(
                Came(
                    self.coordinators.number(served.coordinator),
                    self._given(served.answer),
                    tuple((slot, self._given(answer)) for slot, answer in served.replies),
                    served.shift,
                )
                for served in make()
            )
        return known

    def _given(self, answer: Answer | None) -> Given:
        return Given(self._answers.number(answer), answer)
