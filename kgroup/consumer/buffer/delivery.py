"""Handing records out, and counting them as done.

Decides: which claim has its turn; which handout records belong to; what is journalled, and when.
Never: awaits: between taking a record and returning it nothing can be cancelled. Never hands out
past the gate, or more of a partition at once than one fetch brought.

A batch makes its records while it is iterated, so a record that cannot be deserialised is found
after it was handed out. It comes again: 1. the batch ends there (`stop_at`), in the thread that
iterates it; 2. before the next read, commit, `done` or `position`, the records handed out behind it
are taken back (`sweep`), as if by a seek; 3. the next read begins with that record.
"""

from collections import deque
from collections.abc import Collection

from kgroup.consumer.buffer.chunk import Segment
from kgroup.consumer.buffer.damage import stop
from kgroup.consumer.buffer.gate import Gate, Skipped
from kgroup.consumer.buffer.notifiers import Notifiers
from kgroup.consumer.buffer.owned import Owned, OwnedPartitions
from kgroup.journal import Delivered, Done, NullSink, PositionMove, PositionMoved, Sink
from kgroup.offsets.ledger import Handout, Ledger
from kgroup.offsets.positions import Sought
from kgroup.types import Claim, Generation, TopicPartition
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True)
class TakenRecords:
    """Records that were just handed out.

    Args:
        claim: the period of ownership.
        segments: the records, at least one.
        handout: says when they are done.
        token: the identity they were handed out under, None outside a group.
    """

    claim: Claim
    segments: tuple[Segment, ...]
    handout: Handout
    token: Generation | None


class Delivery:
    """Hands records out, and takes them back.

    Args:
        owned: the claims and their buffers.
        ledger: keeps the handouts.
        gate: says whether records may be handed out.
        notifiers: fired when a buffer has room again, and when a batch was let go.
        sink: takes the journal's events.
        skipped: counts records that were left out.
    """

    def __init__(
        self,
        owned: OwnedPartitions,
        ledger: Ledger,
        gate: Gate,
        notifiers: Notifiers,
        sink: Sink,
        skipped: Skipped,
    ) -> None:
        self.owned = owned
        self.ledger = ledger
        self.gate = gate
        self.skipped = skipped
        self._hold = gate.hold
        self._sink = sink
        self._journals = not isinstance(sink, NullSink)
        self._notifiers = notifiers
        self._journalled: dict[Claim, int] = {}
        self._abandoned: deque[Handout] = deque()
        self._stopped: deque[Handout] = deque()
        self._left: list[Handout] = []
        self._holders: dict[Handout, int] = {}

    # -- out -------------------------------------------------------------------------------

    def turn(self, wanted: Collection[TopicPartition] | None) -> Owned | None:
        """Return the next claim with records to hand out, None when nothing is ready.

        A partition with an error takes its turn like one with records, so that neither hides
        the other. One that is held back at its bound raises it, too, once no record is in front.

        Args:
            wanted: the partitions a read is about, None for all.

        Raises:
            KGroupError: the error of the partition whose turn it is.
        """
        for owned in self.owned.turns():
            if owned.is_idle or (wanted is not None and owned.tp not in wanted):
                continue
            if self.gate.passes(owned) and self.ready(owned):
                return owned
            error = self._error(owned)
            if error is not None:
                raise error.with_traceback(None)
        return None

    def is_over(self, wanted: Collection[TopicPartition] | None) -> bool:
        """Tell whether all claims that a read is about are read up to their `until`."""
        if wanted is None:
            return len(self.owned) > 0 and all(owned.is_over for owned in self.owned)
        found = [self.owned.find(tp) for tp in wanted]
        return bool(found) and all(owned is not None and owned.is_over for owned in found)

    def also_ready(self, wanted: Collection[TopicPartition] | None, first: Owned) -> list[Owned]:
        """Return the claims after `first` with records, up to one with an error.

        That one keeps its turn: the next read begins with it, and raises.
        """
        found: list[Owned] = []
        for owned in self.owned.turns():
            if owned is first or owned.is_idle:
                continue
            if wanted is not None and owned.tp not in wanted:
                continue
            if self.gate.passes(owned) and self.ready(owned):
                found.append(owned)
            elif self._error(owned) is not None:
                self.owned.keep_turn()
                break
        return found

    def _error(self, owned: Owned) -> Exception | None:
        """Return the error of a claim of which nothing is handed out now, if it is its turn.

        1. Records are handed out up to the bound, and not committed; 2. the records behind them
        cannot be read, or fetched. Without this the error would wait for a commit. Records in front
        of the error come first.
        """
        if self.gate.passes(owned) or (self.gate.is_held(owned) and not self.ready(owned)):
            return owned.error
        return None

    def ready(self, owned: Owned) -> bool:
        """Tell whether a claim has a record to hand out; moves over offsets without records."""
        while owned.chunks:
            chunk = owned.chunks[0]
            if chunk.head() is not None:
                return True
            self._exhausted(owned)
        return False

    def take(self, owned: Owned, limit: int | None) -> TakenRecords:
        """Hand out records of a claim that is `ready`.

        Args:
            owned: whose.
            limit: most records, None for all that one fetch brought. Fewer, when the partition is
                close to its bound.
        """
        chunk, hold = owned.chunks[0], self._hold
        segments = tuple(chunk.take(limit if hold is None else hold.within(owned.claim, limit)))
        chunk.head()  # offsets without records behind the last one belong to this handout
        epochs = {segment.leader_epoch for segment in segments}
        epoch = epochs.pop() if len(epochs) == 1 else None
        if self._journals:
            first, last = segments[0].first, segments[-1].last
            self._journal_delivered(owned.claim, first, last, sum(map(len, segments)))
        handout = self.ledger.hand_out(owned.claim, chunk.at, epoch)
        if hold is not None:
            for segment in segments:
                offsets = segment.columns.offsets[segment.start : segment.stop]
                self.ledger.expose(owned.claim, offsets)
        backend = self.gate.backend_of(owned.claim)
        backend.taken(owned.claim)
        return TakenRecords(owned.claim, segments, handout, backend.token(owned.claim))

    def take_one(self, owned: Owned, handout: Handout | None) -> Handout:
        """Hand out the record that `owned.chunks[0].head().peek()` shows.

        This runs for each record of a loop over records: the account is found by the handout.

        Args:
            owned: whose; it is `ready`.
            handout: the one to go on with: its earlier records count as done. None for a new one.
                It may be of another claim: two tasks wait in one loop, each for a record.
        """
        chunk = owned.chunks[0]
        epoch = chunk.advance().leader_epoch
        behind = chunk.at
        if self._journals:
            self._journal_delivered(owned.claim, behind - 1, behind - 1, 1)
        if self._hold is not None:
            self.ledger.expose(owned.claim, (behind - 1,))
        if handout is not None:
            same = handout.claim is owned.claim and handout.leader_epoch == epoch
            if same and self.ledger.extend(handout, behind):
                return handout
            self.done(handout)
        self.gate.backend_of(owned.claim).taken(owned.claim)
        return self.ledger.hand_out(owned.claim, behind, epoch)

    def take_done(self, owned: Owned, handout: Handout | None) -> Handout:
        """Hand out the record as `take_one` does; it is done at once, and not in hand."""
        taken = self.take_one(owned, handout)
        self.ledger.deliver(taken)
        if taken is not handout:
            self._drained(taken.claim)
        if self._journals:
            self.journal_done(taken.claim)
        if self._hold is not None:
            self._hold.done(taken.claim)
        return taken

    def _exhausted(self, owned: Owned) -> None:
        chunk = owned.chunks.popleft()
        if chunk.error is not None:
            stop(owned, chunk)
        handed = self.ledger.handed(owned.claim)
        if handed is not None and chunk.at > handed:
            self.ledger.skip(owned.claim, chunk.at)
        self._notifiers.work.notify()

    def _journal_delivered(self, claim: Claim, first: int, last: int, count: int) -> None:
        if first < self._journalled.get(claim, 0):
            self._journalled[claim] = first  # after a seek back it is done, and journalled, again
        self._sink.emit(Delivered(claim, first, last, count))

    # -- back ------------------------------------------------------------------------------

    def done(self, handout: Handout, upto: int | None = None) -> None:
        """Count a handout, or its part below `upto`, as done."""
        self.sweep()
        self.ledger.finish(handout, upto)
        self.journal_done(handout.claim)
        self._drained(handout.claim)
        if self._hold is not None:
            self._hold.done(handout.claim)

    def finish_all(self, claim: Claim, upto: int | None = None) -> None:
        """Count all of a claim that was handed out, below `upto`, as done."""
        self.sweep()
        self.ledger.finish_all(claim, upto)
        self._left = [handout for handout in self._left if not handout.finished]
        self._drained(claim)

    def drop(self, handout: Handout) -> None:
        """Take a handout out of the application's hands; records that are not done stay so."""
        self.ledger.drop(handout)
        self._drained(handout.claim)

    def hold(self, handout: Handout, task: int) -> None:
        """Note that a task is inside `async with batch`; closing waits for it."""
        self._holders[handout] = task

    def let_go(self, handout: Handout) -> None:
        """Note that it has left."""
        self._holders.pop(handout, None)
        self._notifiers.news.notify()

    def unfinished(self) -> list[Handout]:
        """Return what is in hand, outside `async with batch`, and what loops had that were left."""
        self.sweep()
        held = [each for each in self.ledger.held() if each not in self._holders]
        return held + self._left

    def at_work(self, besides: int | None) -> bool:
        """Tell whether a task other than `besides` is inside `async with batch`."""
        return any(task != besides for task in self._holders.values())

    def abandon(self, handout: Handout) -> None:
        """Note a handout whose holder was collected; called from a destructor, acts later."""
        self._abandoned.append(handout)

    def stop_at(self, handout: Handout, offset: int) -> None:
        """End a handout at a record that cannot be read; see the module."""
        if self.ledger.cut(handout, offset):
            self._stopped.append(handout)

    def sweep(self) -> None:
        """Take back what could not be read, and abandoned handouts out of hand.

        A loop that is left by `break` drops its last batch. That is no failure: the next read
        counts the batch as done; if the consumer is closed instead, its records come again.
        """
        while self._stopped:
            self._take_back(self._stopped.popleft())
        while self._abandoned:
            handout = self._abandoned.popleft()
            if handout.in_hand:
                self.drop(handout)
                self._left.append(handout)

    def next_read(self, wanted: Collection[TopicPartition] | None) -> None:
        """Count handouts of abandoned loops as done: the application reads on."""
        self.sweep()
        for handout in tuple(self._left):
            if wanted is None or handout.claim.tp in wanted:
                self._left.remove(handout)
                self.done(handout)

    def journal_done(self, claim: Claim) -> None:
        """Journal how far a claim is done, when that is news."""
        if not self._journals:
            return
        offset = self.ledger.committable(claim)
        if offset is not None and offset.offset > self._journalled.get(claim, -1):
            self._journalled[claim] = offset.offset
            self._sink.emit(Done(claim, offset.offset))

    def forget(self, claims: Collection[Claim]) -> None:
        """Forget claims that are over, and their handouts."""
        for claim in claims:
            self._journalled.pop(claim, None)
            self.ledger.end(claim)
        self._left = [handout for handout in self._left if handout.claim not in claims]

    def _take_back(self, handout: Handout) -> None:
        owned = self.owned.of(handout.claim)
        if owned is None or not self.ledger.rewind(handout):
            return
        # Not a seek of the application: one of those that is under way goes on.
        owned.position = owned.position.after(Sought(handout.next_offset))
        owned.forget_data()
        self._sink.emit(PositionMoved(handout.claim, handout.next_offset, PositionMove.SEEK))
        self._notifiers.work.notify()
        self._drained(handout.claim)

    def _drained(self, claim: Claim) -> None:
        if not self.ledger.in_hand(claim):
            self.gate.backend_of(claim).drained(claim)
