"""The application of one member: it reads, handles, commits, and has a listener.

Decides: its habits, as planned; the order of things at a change of ownership is the consumer's:
gained: taken in, listener, then records flow; to be given up: no more records, what is done is
committed, listener, its commits answered, then gone; lost: gone at once, then listener.
Never: knows the group.
"""

from collections.abc import Iterable
from functools import partial
from typing import assert_never

from kgroup.journal import (
    CallbackStage,
    CallbackStep,
    OwnershipStep,
    Paused,
    Phase,
    Polled,
    Resumed,
)
from kgroup.journal.events.records import POLL_NOTED_EVERY
from kgroup.machine.commit_queue import Submission
from kgroup.membership.events import ListenerDone
from kgroup.membership.events import Polled as HasPolled
from kgroup.offsets.ledger import Handout
from kgroup.types import ChangeKind, Claim, CommitStatus, MemberState, OwnershipChange
from tests.search.simulation.plan import CommitHabit
from tests.search.simulation.world.fetching import Fetching
from tests.search.simulation.world.member import Member
from tests.search.simulation.world.reading import Logs, Reading


class Application:
    """What runs on top of one member.

    Args:
        member: its consumer's half that knows the group.
        logs: what there is to read.
    """

    def __init__(self, member: Member, logs: Logs) -> None:
        self.member = member
        self.process = member.process
        self.plan = member.plan
        self.reading: Reading = Reading(member.sink)
        self.stalled_until: float = 0.0
        self.slow_listener: float = 0.0
        self.raising_listener: bool = False
        self._sink = member.sink
        self._busy: OwnershipChange | None = None
        self._inside: OwnershipChange | None = None
        self._handouts: list[Handout] = []
        self._asked: dict[int, dict[Claim, tuple[int, int]]] = {}
        self._fetching = Fetching(member, self.reading, logs, self._arrived)
        self._polls = 0
        self._noted_at = float("-inf")
        self._releasing: OwnershipChange | None = None
        self._called_back = False
        member.on_moved = self._moved
        member.on_committed = self._committed
        member.on_end = self._ended

    def start(self) -> None:
        """Begin."""
        self.member.start()
        self._poll(self._polls)
        if self.plan.habit is CommitHabit.AUTO:
            self.process.at(self.member.now + self.plan.commit_interval, self._auto_commit)

    def _moved(self) -> None:
        self._listen()
        self._fetching.ask_positions()
        self._go_on_releasing()

    def _ended(self) -> None:
        """Break off the listener: the membership has ended, and its end is not awaited any more."""
        change, self._busy = self._busy, None
        self._releasing = None
        if change is not None and change is self._inside:
            stage, error = CallbackStage.RAISE, "it is cancelled"
            self._sink.emit(
                CallbackStep(kind=change.kind, stage=stage, serial=change.serial, error=error)
            )
        if change is not None:
            self.reading.forget(change.removed)
            self._tell(change, Phase.END)
        self._inside = None
        self._lose_the_rest(change)

    def _lose_the_rest(self, broken: OwnershipChange | None) -> None:
        """Tell what was lost in the step that ended the membership; the listener takes no time.

        1. The member closes, with a batch in hand; 2. its generation is refused: it loses what it
        has, and nothing keeps it any more, in one step. It has not handed anything over.
        """
        for change in self.member.value.changes:
            if change is broken:
                continue
            if change.kind is not ChangeKind.LOST:
                return  # what the listener never got cannot be lost
            self.reading.forget(change.removed)
            self._tell(change, Phase.BEGIN)
            for stage in (CallbackStage.ENTER, CallbackStage.EXIT):
                self._sink.emit(CallbackStep(kind=change.kind, stage=stage, serial=change.serial))
            self._tell(change, Phase.END)

    # -- the listener ----------------------------------------------------------------------------

    def _listen(self) -> None:
        """Carry out the next change of ownership, one after the other."""
        changes = self.member.value.changes
        if self._busy is not None or not changes or self.member.over:
            return
        change = self._busy = changes[0]
        self._tell(change, Phase.BEGIN)
        match change.kind:
            case ChangeKind.ASSIGNED:
                self.reading.begin(change.added)
                self._call(change)
            case ChangeKind.REVOKED:
                self.reading.shut(change.removed)
                self._releasing = change
                if self.plan.habit is CommitHabit.AUTO:
                    self.commit_done(change.removed)
                self._go_on_releasing()
            case ChangeKind.LOST:
                self.reading.forget(change.removed)
                self._call(change)
            case _:
                assert_never(change.kind)

    def _go_on_releasing(self) -> None:
        """Call the listener, or settle after it, once no commit of what is given up is out."""
        change = self._releasing
        if change is None:
            return
        removed = frozenset(change.removed)
        for submission in self.member.commits.waiting:
            if removed & submission.open.keys():
                return
        self._releasing = None
        if self._called_back:
            self._called_back = False
            self._settle(change)
        else:
            self._call(change)

    def _call(self, change: OwnershipChange) -> None:
        stage = CallbackStep(kind=change.kind, stage=CallbackStage.ENTER, serial=change.serial)
        self._sink.emit(stage)
        self._inside = change
        seconds = self.plan.listener + self.slow_listener
        self.slow_listener = 0.0
        self.process.at(self.member.now + seconds, self._called, change)

    def _called(self, change: OwnershipChange) -> None:
        if self._inside is not change:
            return  # it was broken off
        self._inside = None
        raised, self.raising_listener = self.raising_listener, False
        stage = CallbackStage.RAISE if raised else CallbackStage.EXIT
        error = "it raises" if raised else ""
        self._sink.emit(
            CallbackStep(kind=change.kind, stage=stage, serial=change.serial, error=error)
        )
        if change.kind is ChangeKind.REVOKED and not self.member.over:
            # Again: the callback may have finished what was in its hands.
            if self.plan.habit is CommitHabit.AUTO:
                self.commit_done(change.removed)
            self._releasing, self._called_back = change, True
            self._go_on_releasing()
            return
        self._settle(change)

    def _settle(self, change: OwnershipChange) -> None:
        """End a change, and begin the next."""
        if change.kind is ChangeKind.REVOKED:
            self.reading.forget(change.removed)
        self._tell(change, Phase.END)
        self._busy = None
        if self.member.over:
            return
        self.member.apply(ListenerDone(change.serial))
        self.reading.open(change.added)
        self._fetching.fetch_more()
        self._listen()

    def _tell(self, change: OwnershipChange, phase: Phase) -> None:
        added = change.kind is ChangeKind.ASSIGNED
        generation = change.generation
        self._sink.emit(
            OwnershipStep(
                kind=change.kind,
                phase=phase,
                claims=change.added if added else change.removed,
                member_id=None if generation is None else generation.member_id,
                generation_id=None if generation is None else generation.generation_id,
                cause=change.cause.value,
                serial=change.serial,
            )
        )

    # -- reading ---------------------------------------------------------------------------------

    def poll(self) -> None:
        """Read now, without waiting for what is in hand to take its time."""
        self._poll_soon()

    def finish(self) -> None:
        """Be done with what is in hand, before the next read."""
        self._finish()

    def _arrived(self) -> None:
        """Hear that records have come: a read that waits for them returns."""
        if not self._handouts:
            self._poll_soon()

    def _poll_soon(self) -> None:
        self._polls += 1
        self.process.at(self.member.now, self._poll, self._polls)

    def _poll(self, number: int) -> None:
        if number != self._polls or self.member.over:
            return
        if self.stalled_until > self.member.now:
            self.process.at(self.stalled_until, self._poll, number)
            return
        self._sink.emit(Polled())  # before what was in hand counts as done: the call says so
        self._finish()
        self._note_poll()
        now, value = self.member.now, self.member.value
        handouts = self._handouts = self.reading.hand_out(
            lambda claim: value.may_deliver(claim, now)
        )
        for handout in handouts:
            self.member.in_hand[handout.claim] += 1
        pause = self.plan.handling if handouts else self.plan.poll_every
        self._polls += 1
        self.process.at(now + max(pause, 0.001), self._poll, self._polls)
        self._fetching.fetch_more()

    def _note_poll(self) -> None:
        """Tell the machine of a poll, as seldom as is allowed; the consumer does so more often."""
        member = self.member
        due = member.now >= self._noted_at + POLL_NOTED_EVERY
        if due or member.value.state is MemberState.DORMANT:
            self._noted_at = member.now
            member.apply(HasPolled())

    def _finish(self) -> None:
        """Count what the last read returned as done."""
        handouts, self._handouts = self._handouts, []
        if not handouts:
            return
        self.reading.finish(handouts)
        for handout in handouts:
            self.member.in_hand[handout.claim] -= 1
        if self.plan.habit is CommitHabit.EACH_BATCH:
            self.commit_done()
        self.member.drained()

    # -- commits ---------------------------------------------------------------------------------

    def commit_done(self, claims: Iterable[Claim] | None = None) -> None:
        """Commit what is done.

        Args:
            claims: of these only, None for all.
        """
        only = None if claims is None else frozenset(claims)
        ledger = self.reading.ledger
        offsets = {
            claim: offset for claim, offset in ledger.uncommitted() if only is None or claim in only
        }
        if not offsets:
            return
        moment = ledger.moment()
        asked = {claim: (each.offset, moment) for claim, each in offsets.items()}
        self.member.submit(offsets, partial(self._note, asked))

    def _note(self, asked: dict[Claim, tuple[int, int]], serial: int) -> None:
        self._asked[serial] = asked

    def _committed(self, submission: Submission) -> None:
        for claim, (offset, moment) in self._asked.pop(submission.serial, {}).items():
            outcome = submission.closed.get(claim.tp)
            if outcome is not None and outcome.status is CommitStatus.COMMITTED:
                self.reading.ledger.acknowledged(claim, offset, moment)
        self._go_on_releasing()

    def _auto_commit(self) -> None:
        if self.member.over:
            return
        self.commit_done()
        self.process.at(self.member.now + self.plan.commit_interval, self._auto_commit)

    # -- perturbations ---------------------------------------------------------------------------

    def seek_back(self, number: int) -> None:
        """Seek back on the first partition that has a position."""
        for claim in [*self.reading.held]:
            at = self.reading.ledger.handed(claim)
            if at and self.reading.held[claim].open:
                self.reading.seek(claim, max(0, at - number))
                self._fetching.fetch_more()
                return

    def pause(self, seconds: float) -> None:
        """Pause everything that is owned, for a time."""
        held = [each for each in self.reading.held.values() if not each.paused]
        for each in held:
            each.paused = True
        if held:
            claims = tuple(each.claim for each in held)
            self._sink.emit(Paused(claims))
            self.process.at(self.member.now + seconds, self._resume, claims)

    def _resume(self, claims: tuple[Claim, ...]) -> None:
        there = tuple(claim for claim in claims if claim in self.reading.held)
        for claim in there:
            self.reading.held[claim].paused = False
        if there:
            self._sink.emit(Resumed(there))
            self._fetching.fetch_more()
