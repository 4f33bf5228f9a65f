"""Waiting for records: what all readers have in common.

Decides: that a read counts as a poll (KIP-62), how long it waits, and that records of `getone` and
`getmany` are done at the next read, of any kind, that is about the same partitions.
Never: holds a record across an await.
"""

import math
from collections import defaultdict
from collections.abc import Collection
from typing import Final

import anyio
import anyio.lowlevel

from kgroup.consumer.buffer.chunk import Chunk
from kgroup.consumer.buffer.delivery import Delivery
from kgroup.consumer.buffer.notifiers import Notifiers
from kgroup.consumer.buffer.owned import Owned
from kgroup.consumer.reads.leaving import Read
from kgroup.consumer.user_code import UserCode
from kgroup.errors import IllegalStateError
from kgroup.journal import Polled, Sink
from kgroup.net.ports import Clock
from kgroup.offsets.ledger import Handout
from kgroup.types import Claim, DoneAt, TopicPartition
from kgroup.values import dataclass

Wanted = Collection[TopicPartition] | None
"""The partitions a read is about, None for all."""

_POLLS_PER_INTERVAL: Final = 20
"""How often a waiting reader says so within max_poll_interval, and a busy one at most."""
_LONGEST_NAP: Final = 1.0
_NOTE_EVERY: Final = 0.05
"""Seconds between two reads that the group is notified of."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How a consumer reads.

    Args:
        poll_interval: the longest the application may go without reading, seconds.
        portion: most records that are admitted at a time, None for all that one fetch brought.
        stays: whether a partition has the next turn until what one fetch brought is handed out.
        done_at: when the record of a single read counts as done.
    """

    poll_interval: float
    portion: int | None = None
    stays: bool = False
    done_at: DoneAt = DoneAt.NEXT_READ


class Reading:
    """Waits for records on behalf of all readers of one consumer.

    Args:
        delivery: hands records out.
        notifiers: waited for.
        sink: takes the journal's events.
        code: knows which tasks are inside a listener.
        clock: monotonic seconds.
        pace: how long without a read, and how much at a time.
    """

    def __init__(
        self,
        delivery: Delivery,
        notifiers: Notifiers,
        sink: Sink,
        code: UserCode,
        clock: Clock,
        pace: Pace,
    ) -> None:
        self.delivery = delivery
        self._gate = delivery.gate
        self._notifiers = notifiers
        self._sink = sink
        self._code = code
        self._clock = clock
        self._pause = pace.poll_interval / _POLLS_PER_INTERVAL
        self._note_every = min(self._pause, _NOTE_EVERY)
        self._portion = pace.portion
        self._stays = pace.stays
        self.done_at_delivery: bool = pace.done_at is DoneAt.DELIVERY
        """Whether the record of a single read is done when it is handed out."""
        self._noted_at = -math.inf
        self._done_next: dict[Claim, list[Handout]] = defaultdict(list)

    async def check_caller(self) -> None:
        """Refuse a read that would wait for the listener it is made in; let others run then.

        Raises:
            IllegalStateError: the present task is inside a listener, or a callback of a commit.
        """
        try:
            self._code.refuse_inside("records cannot be read")
        except IllegalStateError:
            await anyio.lowlevel.checkpoint()
            raise

    @property
    def noted_at(self) -> float:
        """Instant of the latest read, or of a sign of one that waits; -infinity before any."""
        return self._noted_at

    # -- polling ---------------------------------------------------------------------------

    def note_poll(self) -> None:
        """Note that the application reads; the group is notified often enough, not each time."""
        now = self._clock()
        if now - self._noted_at >= self._note_every:
            self._noted_at = now
            self._gate.backend.note_poll()

    async def ready(self, wanted: Wanted, deadline: float) -> Owned | None:
        """Wait for a claim with a record to hand out; None when there will be none in time.

        That is when the deadline has passed, or all claims are read up to their `until`.

        Between its return and the hand-out there must be no await.

        Raises:
            ClosedError: the consumer is closed.
            KGroupError: a fatal error, a listener's, or that of a partition or topic asked for.
        """
        self._sink.emit(Polled())
        await anyio.lowlevel.checkpoint()
        while True:
            self.note_poll()
            self._gate.check_read()
            self._gate.topics.take_turn(wanted)
            owned = self.delivery.turn(wanted)
            if owned is None:
                self._gate.topics.check(wanted)
            if owned is not None and await self._admitted(owned, deadline):
                return owned
            if owned is not None:
                await anyio.lowlevel.checkpoint()
            left = deadline - self._clock()
            if left <= 0 or (owned is None and self.delivery.is_over(wanted)):
                return None
            if owned is None:
                with anyio.move_on_after(min(left, self._pause, _LONGEST_NAP)):
                    await self._notifiers.news.wait()

    async def _admitted(self, owned: Owned, deadline: float) -> bool:
        """Ask the backend; then look again, for it may have waited."""
        backend, chunk = self._gate.backend_of(owned.claim), owned.chunks[0]
        until = chunk.next_offset
        if self._portion is not None:
            until = chunk.bound_by(self._portion)
        admitted = False
        if self._portion is None:
            admitted = await backend.admit(owned.claim, until)
        else:
            # It may take as long as a claim lasts: a read ends at its deadline all the same, and
            # the group is notified of reads meanwhile. The backend goes on asking.
            left = max(deadline - self._clock(), 0.0)
            with anyio.move_on_after(min(left, self._pause, _LONGEST_NAP)):
                admitted = await backend.admit(owned.claim, until)
        return admitted and self._still_ready(owned, chunk, until)

    def _still_ready(self, owned: Owned, chunk: Chunk, until: int) -> bool:
        """Tell whether what was admitted is what would be handed out.

        1. Records up to an offset are admitted; 2. the application seeks, or another reader takes
        them, or is admitted to more; 3. the records in front now were not admitted.
        """
        if not self._gate.passes(owned) or not self.delivery.ready(owned):
            return False
        if owned.chunks[0] is not chunk:
            return False
        return chunk.bound is None or chunk.at < until == chunk.bound

    async def all_ready(self, wanted: Wanted, deadline: float) -> list[Owned]:
        """Wait like `ready`; return every claim that has records, in order of turns.

        Raises:
            ClosedError, KGroupError: as `ready`.
        """
        first = await self.ready(wanted, deadline)
        if first is None:
            return []
        found = [_front(first)]
        found += await self._all_admitted(self.delivery.also_ready(wanted, first), deadline)
        return [each for each, chunk, until in found if self._still_ready(each, chunk, until)]

    async def _ask(self, owned: Owned, deadline: float) -> bool:
        # Asking about another one may have taken time.
        return self.delivery.ready(owned) and await self._admitted(owned, deadline)

    async def _all_admitted(
        self, asked: Collection[Owned], deadline: float
    ) -> list[tuple[Owned, Chunk, int]]:
        """Ask about many claims; where answers take time, about all of them at once."""
        if self._portion is None:
            return [_front(each) for each in asked if await self._ask(each, deadline)]
        fronts: dict[int, tuple[Owned, Chunk, int]] = {}

        async def ask(number: int, each: Owned) -> None:
            if await self._ask(each, deadline):
                fronts[number] = _front(each)

        async with anyio.create_task_group() as tasks:
            for number, each in enumerate(asked):
                tasks.start_soon(ask, number, each)
        return [fronts[number] for number in sorted(fronts)]

    def deadline(self, timeout: float | None) -> float:
        """Return the instant a wait ends, infinity for None."""
        return math.inf if timeout is None else self._clock() + timeout

    def keep_turn(self, owned: Owned, chunk: Chunk) -> None:
        """Let the next read begin with a partition, if it is to stay and the answer has more.

        Args:
            owned: of which records were handed out just now.
            chunk: the answer they were from.
        """
        if self._stays and owned.chunks and owned.chunks[0] is chunk and chunk.head() is not None:
            self.delivery.owned.put_first(owned)

    # -- records of getone and getmany -----------------------------------------------------

    def next_read(self, wanted: Wanted) -> None:
        """Count the records of the last reads as done, those of the partitions wanted now."""
        self.delivery.next_read(wanted)
        asked = [claim for claim in self._done_next if wanted is None or claim.tp in wanted]
        for handout in [handout for claim in asked for handout in self._done_next.pop(claim)]:
            if handout.in_hand:  # else it was given back undone, or is done already
                self.delivery.done(handout)

    def done_at_next_read(self, handout: Handout, read: Read) -> None:
        """Count a handout as done at the next read, or when whoever reads ends well."""
        handout.left_at, handout.read = None, read
        self._done_next[handout.claim].append(handout)

    def let_go(self) -> None:
        """Take the records of the last reads out of hand: every partition is given up.

        As after a loop that was left: it is done at the next read, or not at all.
        """
        while self._done_next:
            for handout in self._done_next.popitem()[1]:
                self.delivery.abandon(handout)
        self.delivery.sweep()


def _front(owned: Owned) -> tuple[Owned, Chunk, int]:
    """Return a claim that was admitted, with what of it was."""
    chunk = owned.chunks[0]
    return owned, chunk, chunk.next_offset if chunk.bound is None else chunk.bound
