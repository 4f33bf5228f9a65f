"""How an application of level A reads records, and the records that are produced.

Decides: which records a read hands out.
Never: fetches them; `fetching` does.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kgroup.journal import (
    Delivered,
    Done,
    FetchAnswered,
    OffsetRead,
    PositionMove,
    PositionMoved,
    Sink,
)
from kgroup.offsets.ledger import Handout, Ledger
from kgroup.offsets.positions import (
    CommittedRead,
    Position,
    PositionState,
    Received,
    ResetFound,
    ResetOwed,
    Sought,
)
from kgroup.offsets.reset import LogEnd
from kgroup.types import Claim, OffsetAndMetadata, TopicPartition

_AT_ONCE: Final = 8
"""Records that one fetch brings of a partition."""

Wanted = tuple[Claim, int, int]
"""A claim, the number of its latest seek, and an offset: what one fetch asks for."""


@dataclass(slots=True, eq=False)
class Held:
    """One claim and what is kept about it.

    Args:
        claim: the period of ownership.
        position: where the next fetch begins.
        open: whether the listener has returned.
        paused: whether the application holds it back.
        asked: whether its committed offset is being asked for.
        buffer: first offset and the one after the last, of what is fetched and not handed out.
        journalled: how far the journal has it as done.
    """

    claim: Claim
    position: Position
    open: bool = False
    paused: bool = False
    asked: bool = False
    buffer: deque[tuple[int, int]] = field(default_factory=deque)
    journalled: int = -1


class Reading:
    """Everything owned by one member.

    Args:
        sink: takes its events.
    """

    def __init__(self, sink: Sink) -> None:
        self.ledger = Ledger()
        self.held: dict[Claim, Held] = {}
        self._asks = False
        self._sink = sink

    # -- ownership -------------------------------------------------------------------------------

    def begin(self, claims: Iterable[Claim]) -> None:
        """Take claims in; nothing is handed out of them yet."""
        for claim in claims:
            self.held[claim] = Held(claim, Position(claim))
            self._asks = True

    def open(self, claims: Iterable[Claim]) -> None:
        """Let claims be handed out: the listener has returned."""
        for claim in claims:
            if claim in self.held:
                self.held[claim].open = True

    def shut(self, claims: Iterable[Claim]) -> None:
        """Let no more of claims be handed out; what is buffered is dropped."""
        for claim in claims:
            if claim in self.held:
                self.held[claim].open = False
                self.held[claim].buffer.clear()

    def forget(self, claims: Iterable[Claim]) -> None:
        """Forget claims that are over."""
        for claim in claims:
            self.held.pop(claim, None)
            self.ledger.end(claim)

    # -- positions -------------------------------------------------------------------------------

    def unplaced(self) -> list[Claim]:
        """Return claims whose committed offset must be asked for; they count as asked now."""
        if not self._asks:
            return []
        self._asks = False
        found = [
            each
            for each in self.held.values()
            if not each.asked and each.position.state is PositionState.AWAITING_COMMITTED
        ]
        for each in found:
            each.asked = True
        return [each.claim for each in found]

    def unasked(self, claims: Iterable[Claim]) -> None:
        """Note that a question was not answered."""
        for claim in claims:
            if claim in self.held:
                self.held[claim].asked = False
                self._asks = True

    def place(
        self, claim: Claim, committed: OffsetAndMetadata | None, generation_id: int | None
    ) -> None:
        """Set the position of a claim to what is committed, or to the start of its log."""
        held = self.held.get(claim)
        if held is None or held.position.state is not PositionState.AWAITING_COMMITTED:
            return
        offset = None if committed is None else committed.offset
        self._sink.emit(OffsetRead(claim, offset, generation_id))
        seek = held.position.seek
        if committed is not None:
            held.position = held.position.after(CommittedRead(seek, committed))
            self.ledger.begin(claim, committed.offset, committed=True)
            return
        held.position = held.position.after(ResetOwed(seek, LogEnd.START))
        held.position = held.position.after(ResetFound(held.position.seek, 0))
        self.ledger.begin(claim, 0)
        self._sink.emit(PositionMoved(claim, 0, PositionMove.RESET))

    def seek(self, claim: Claim, offset: int) -> None:
        """Go on at another offset."""
        held = self.held[claim]
        held.position = held.position.after(Sought(offset))
        held.buffer.clear()
        held.journalled = -1
        self.ledger.begin(claim, offset)
        self._sink.emit(PositionMoved(claim, offset, PositionMove.SEEK))

    # -- fetching --------------------------------------------------------------------------------

    def wanted(self) -> tuple[Wanted, ...]:
        """Return what the next fetch asks for."""
        return tuple(
            (held.claim, held.position.seek, held.position.offset)
            for held in self.held.values()
            if held.position.state is PositionState.FETCHING
            and held.position.offset is not None
            and not held.buffer
            and not held.paused
        )

    def receive(self, wanted: Wanted, end: int) -> bool:
        """Take what a fetch brought of a claim; tell whether it was anything."""
        claim, seek, offset = wanted
        held = self.held.get(claim)
        if held is None:
            return False
        upto = min(end, offset + _AT_ONCE)
        before = held.position
        held.position = before.after(Received(seek, offset, upto))
        if held.position is before:
            return False
        held.buffer.append((offset, upto))
        self._sink.emit(FetchAnswered(claim, offset, upto))
        return True

    # -- hands -----------------------------------------------------------------------------------

    def hand_out(self, may: Callable[[Claim], bool]) -> list[Handout]:
        """Hand out what is buffered and may be.

        Args:
            may: the gate, asked for each claim.
        """
        handouts = []
        for held in self.held.values():
            if not held.buffer or not held.open or held.paused or not may(held.claim):
                continue
            first, after = held.buffer.popleft()
            self._sink.emit(Delivered(held.claim, first, after - 1, after - first))
            handouts.append(self.ledger.hand_out(held.claim, after, None))
        return handouts

    def finish(self, handouts: Iterable[Handout]) -> None:
        """Count what was handed out as done."""
        for handout in handouts:
            held = self.held.get(handout.claim)
            self.ledger.finish(handout)
            if held is not None:
                self._tell_done(held)

    def _tell_done(self, held: Held) -> None:
        offset = self.ledger.committable(held.claim)
        if offset is not None and offset.offset > held.journalled:
            held.journalled = offset.offset
            self._sink.emit(Done(held.claim, offset.offset))

    def reads_left(self, ends: Mapping[TopicPartition, int]) -> int:
        """Return how many more reads come to the ends of what has been begun to be read.

        Args:
            ends: partition -> offset after its last record.
        """
        begun = [held.claim for held in self.held.values() if held.open and held.journalled >= 0]
        left = (ends.get(claim.tp, 0) - (self.ledger.handed(claim) or 0) for claim in begun)
        return max((-(-each // _AT_ONCE) for each in left), default=0)

    def claims_of(self, tps: Iterable[TopicPartition]) -> list[Claim]:
        """Return the claims on some partitions."""
        wanted = frozenset(tps)
        return [claim for claim in self.held if claim.tp in wanted]


# -- records ---------------------------------------------------------------------------------------


class Logs:
    """Where each partition ends."""

    def __init__(self) -> None:
        self.ends: dict[TopicPartition, int] = {}
        self._waiting: list[Callable[[], None]] = []

    def append(self, tps: Iterable[TopicPartition], count: int) -> None:
        """Write records, and wake the readers that wait for more."""
        for tp in tps:
            self.ends[tp] = self.ends.get(tp, 0) + count
        waiting, self._waiting = self._waiting, []
        for wake in waiting:
            wake()

    def wait(self, wake: Callable[[], None]) -> None:
        """Call something once, when more is written."""
        self._waiting.append(wake)
