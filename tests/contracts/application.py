"""The application beside a backend: it polls, hears of every change, and settles it.

Written against `GroupBackend` only. It keeps every change and its time on the harness' clock; the
guarantees are judged on these.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import anyio

from kgroup.backends.backend import GroupBackend
from kgroup.net.ports import Clock
from kgroup.types import ChangeKind, Claim, OwnershipChange, TopicPartition

Listener = Callable[[OwnershipChange], Awaitable[None]]

_LOOK = 0.02
"""Seconds between two looks at a condition; more when it may take long."""


async def no_listener(_change: OwnershipChange) -> None:
    """Return at once."""


@dataclass(slots=True, eq=False)
class Heard:
    """One change, with the time it came and the time it was settled (None: not yet)."""

    change: OwnershipChange
    heard_at: float
    settled_at: float | None = None


class Application:
    """One member's application.

    Args:
        backend: of the member.
        clock: of the harness.
        poll_interval: seconds between two polls.
        listener: called with each change before it is settled.
    """

    def __init__(
        self, backend: GroupBackend, clock: Clock, *, poll_interval: float, listener: Listener
    ) -> None:
        self.backend = backend
        self.heard: list[Heard] = []
        self.listener = listener
        self.polls = True
        self._clock = clock
        self._poll_interval = poll_interval

    async def run(self) -> None:
        """Settle changes, one by one, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._poll)
            while True:
                change = await self.backend.next_change()
                heard = Heard(change, self._clock())
                self.heard.append(heard)
                await self.listener(change)
                self.backend.settled(change)
                heard.settled_at = self._clock()

    async def _poll(self) -> None:
        while True:
            if self.polls:
                self.backend.note_poll()
            await anyio.sleep(self._poll_interval)

    # -- reading ---------------------------------------------------------------------------

    def of_kind(self, *kinds: ChangeKind) -> list[Heard]:
        """Return the changes of some kinds."""
        return [heard for heard in self.heard if heard.change.kind in kinds]

    def gained(self) -> list[Claim]:
        """Return every claim it was ever given, in order."""
        return [claim for heard in self.heard for claim in heard.change.added]

    def ended(self) -> list[Claim]:
        """Return every claim that ended, in order."""
        return [claim for heard in self.heard for claim in heard.change.removed]

    def claim(self, tp: TopicPartition) -> Claim:
        """Return the present claim of a partition it owns."""
        return next(claim for claim in self.backend.membership.claims if claim.tp == tp)

    def settled(self) -> frozenset[TopicPartition]:
        """Return what it owns, empty while a change is not settled."""
        membership = self.backend.membership
        busy = any(heard.settled_at is None for heard in self.heard)
        usable = all(self.backend.may_deliver(claim) for claim in membership.claims)
        return frozenset() if busy or not usable else membership.partitions

    def periods(self) -> list[tuple[TopicPartition, float, float]]:
        """Return partition, begin and end of every period of ownership.

        A period begins when its change comes, and ends when on_revoked has returned, or when a
        loss comes.
        """
        begun: dict[Claim, float] = {}
        found = []
        for heard in self.heard:
            lost = heard.change.kind is ChangeKind.LOST
            end = heard.heard_at if lost else heard.settled_at
            for claim in heard.change.removed:
                start = begun.pop(claim)
                found.append((claim.tp, start, float("inf") if end is None else end))
            begun.update(dict.fromkeys(heard.change.added, heard.heard_at))
        return [*found, *((claim.tp, at, float("inf")) for claim, at in begun.items())]


def overlaps(applications: Mapping[str, Application]) -> list[str]:
    """Describe every pair of periods of one partition that overlap; none is what is promised."""
    by_partition: dict[TopicPartition, list[tuple[float, float, str]]] = defaultdict(list)
    for name, application in applications.items():
        for tp, begin, end in application.periods():
            by_partition[tp].append((begin, end, name))
    return [
        f"{tp}: {one[2]} until {one[1]:.3f}, {other[2]} from {other[0]:.3f}"
        for tp, periods in by_partition.items()
        for one, other in pairwise(sorted(periods))
        if other[0] < one[1]
    ]


async def until(condition: Callable[[], object], within: float, what: str) -> None:
    """Wait until a condition holds.

    Raises:
        TimeoutError: it does not within so many seconds.
    """
    with anyio.move_on_after(within):
        while not condition():  # noqa: ASYNC110 - a condition of any backend rings no bell
            await anyio.sleep(max(_LOOK, within / 200))
        return
    raise TimeoutError(f"not within {within:g} s: {what}")
