"""Holding back: the bound on what is handed out of a partition beyond what is committed of it.

Decides: whether a partition is at its bound, how much of it may be handed out at once, and that
what is then done of it is committed without waiting for the interval of auto-commit.
Never: drops what is buffered, or stops fetching it; counts (the ledger does); touches what the
application has paused.

1. So many records are handed out that `max_uncommitted` is reached. 2. A read passes the partition
over, and the journal is told; other partitions go on. What is wrong behind those records is raised
all the same. 3. A commit is answered that covers some of them. 4. Readers look again, and the
partition goes on by as many.
"""

from kgroup.consumer.stock.owned import Owned
from kgroup.consumer.stock.pulses import Pulses
from kgroup.journal import PauseCause, Paused, Resumed, Sink
from kgroup.net.pulse import Pulse
from kgroup.offsets.ledger import Ledger
from kgroup.types import Claim

__all__ = ["Hold"]


class Hold:
    """Holds partitions back; only there when `max_uncommitted` is given.

    Args:
        ledger: counts.
        pulses: fired when readers should look again.
        sink: takes the journal's events.
    """

    def __init__(self, ledger: Ledger, pulses: Pulses, sink: Sink) -> None:
        self._ledger = ledger
        self._pulses = pulses
        self._sink = sink
        self._due = Pulse()
        self.calls: int = 0
        """How often something of a partition at its bound was done: each time a commit is due."""

    def holds(self, owned: Owned) -> bool:
        """Tell whether a partition is held back; the journal is told when that has changed."""
        held = self._ledger.is_at_bound(owned.claim)
        if held is not owned.held_back:
            owned.held_back = held
            kind = Paused if held else Resumed
            self._sink.emit(kind((owned.claim,), PauseCause.UNCOMMITTED))
            if held:
                self.done(owned.claim)  # of it something may have been done before the bound
        return held

    def within(self, claim: Claim, limit: int | None) -> int | None:
        """Return how many records may be handed out now, at most `limit`."""
        room = self._ledger.room(claim)
        return room if room is None or limit is None else min(room, limit)

    def done(self, claim: Claim) -> None:
        """Note that records of a claim are done: at its bound they are to be committed soon."""
        if self._ledger.is_at_bound(claim):
            self.calls += 1
            self._due.fire()

    async def due(self, calls: int) -> None:
        """Wait until there were more calls than these."""
        while self.calls == calls:
            await self._due.wait()

    def committed(self) -> None:
        """Have readers look again: a commit was answered."""
        self._pulses.news.fire()
