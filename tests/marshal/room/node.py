"""One process of a room: a member, and the shell and the application around it, reduced.

Decides: how each effect is carried out, and when the application asks, works, commits.
Never: judges; what it does is reported to the judge.
"""

import math
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from kgroup.machine.claims import HoldingState
from kgroup.machine.wishes import (
    CallListener,
    CloseRequested,
    Done,
    Drained,
    ListenerDone,
    Moment,
    Polled,
    Raise,
    Subscribed,
    Tick,
)
from kgroup.marshal.events import (
    AdmitRequested,
    Admitted,
    Append,
    AppendFailed,
    CommitOffsets,
    CommitRequested,
    Committed,
    CountsChanged,
    Effect,
    Event,
    FindPosition,
    LogLost,
    Note,
    OffsetsCommitted,
    PositionFailed,
    PositionFound,
    Tell,
)
from kgroup.marshal.member import MarshalMember
from kgroup.marshal.messages import Kind, Message, write_extension
from kgroup.marshal.rules import Guarantee, MarshalSettings
from kgroup.marshal.step import next_deadline, step
from kgroup.types import Claim, Leave, OwnershipChange, TopicPartition
from tests.marshal.room.habits import Habits
from tests.marshal.room.log import GROUP, WALL

if TYPE_CHECKING:
    from tests.marshal.room.room import Room

_QUIET = 8.0


class Node:
    """One process.

    Args:
        room: it is in.
        settings: of its member.
        habits: of its application.
    """

    def __init__(self, room: "Room", settings: MarshalSettings, habits: Habits) -> None:
        self.room, self.settings, self.habits = room, settings, habits
        self.member = MarshalMember.new(settings, room.now)
        self.dead = False
        self.paused_until = self.deaf_until = self.mute_until = self.lazy_until = 0.0
        self.done_at: float | None = None
        self.leave_by = math.inf
        self.failure: Exception | None = None
        self.tells: list[Tell[Note]] = []
        self.handed_out: list[tuple[float, Claim, int, int]] = []
        self.changes: list[OwnershipChange] = []
        self.answers: dict[int, Committed | Admitted] = {}
        self.in_hand: dict[Claim, int] = {}
        self._view = room.log.view()
        self._read_to = self._knew_to = 0
        self._generation = room.log.generation
        self._open = self._waits = False
        self._alarm = math.inf
        self._calls: deque[OwnershipChange] = deque()
        self._calling = False
        self._position: dict[Claim, int] = {}
        self._asking: dict[int, tuple[Claim, int, int]] = {}
        self._serial = 0
        self._written_at = 0.0

    @property
    def name(self) -> str:
        """Client id and instance id."""
        return f"{self.settings.client_id}/{self.settings.instance_id}"

    @property
    def lives(self) -> bool:
        """Whether it takes part."""
        return not self.dead and self.done_at is None and self.failure is None

    def start(self, topics: frozenset[str], takes: float = 0.1) -> None:
        """Subscribe, and read the log."""
        self.apply(CountsChanged(self.room.counts))
        self.apply(Subscribed(topics))
        self.room.after(takes, self._open_log)
        self.room.after(0.01, self._poll)
        self.room.after(_QUIET, self._look)

    def close(self, mode: Leave, release: float, leave: float) -> None:
        """Ask for the end."""
        self.leave_by = self.room.now + leave
        now = self.room.now
        self.apply(CloseRequested(mode, "done", now + release, now + leave))

    # -- steps -----------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        """Take one step, once the process runs."""
        if self.dead:
            return
        if self.room.now < self.paused_until:
            self.room.at(self.paused_until, lambda: self.apply(event))
            return
        room = self.room
        taken = step(self.member, event, Moment(room.now, room.dice.random()))
        self.member = taken.member
        room.judge.stepped(self, event, taken)
        for effect in taken.effects:
            self._carry_out(effect)
        self._drain()
        self._set_alarm()

    def _set_alarm(self) -> None:
        due = next_deadline(self.member)
        if due == self._alarm or due == math.inf:
            return
        self._alarm = due
        self.room.at(max(due, self.room.now), lambda: self._ring(due))

    def _ring(self, due: float) -> None:
        if due == self._alarm:
            self._alarm = math.inf
            self.apply(Tick())

    def _drain(self) -> None:
        draining = self.member.holdings.having(HoldingState.DRAINING)
        free = tuple(claim for claim in draining if not self.in_hand.get(claim))
        if free:
            self.apply(Drained(free))

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Append():
                self._append(effect)
            case FindPosition():
                self._find(effect)
            case CommitOffsets():
                self._commit_offsets(effect)
            case CallListener():
                self.room.judge.tells(self, effect.change)
                self.changes.append(effect.change)
                self._calls.append(effect.change)
                self._call()
            case Committed() | Admitted():
                self.room.judge.answered(self, effect)
                self.answers[effect.serial] = effect
                if isinstance(effect, Admitted):
                    self._admitted(effect)
            case Tell():
                self.tells.append(effect)
            case Raise():
                self.failure = effect.error
            case Done():
                self.done_at = self.room.now

    # -- the log ---------------------------------------------------------------------------

    def _append(self, effect: Append) -> None:
        room = self.room
        clock = WALL + room.now + self.habits.skew
        if room.log.append_time:
            clock = min(clock, room.log.clock(room.now))
        settings = self.settings
        message = Message(
            effect.kind,
            int(clock - 1),
            settings.instance_id.encode(),
            settings.client_id.encode(),
            GROUP.encode(),
            effect.topic.encode(),
            effect.partition,
            effect.tail,
        )
        headers = tuple(write_extension(effect.extension))
        if effect.kind is Kind.CLAIMING_PARTITION:
            room.judge.wrote_claim(self, TopicPartition(effect.topic, effect.partition))
        fate = room.fate_of_append(self)
        if effect.kind is Kind.CLAIMING_PARTITION and not self.habits.may_claim:
            fate = replace(fate, appended_after=(), fails_after=0.2, maybe=False)
        failed = AppendFailed(effect.ticket, TimeoutError("no answer"), maybe=fate.maybe)
        if fate.fails_after is not None:
            room.after(min(fate.fails_after, effect.timeout), lambda: self.apply(failed))
        for delay in fate.appended_after:
            at = room.now + delay
            if delay < effect.timeout:
                self._written_at = at = max(at, self._written_at)
            room.arrived_by = max(room.arrived_by, at)
            room.at(at, lambda: room.append(message, headers))

    def has_read(self, offset: int, *, before: bool = False) -> bool:
        """Tell whether it knows of a record, or did before the present step."""
        return self._open and offset < (self._knew_to if before else self._read_to)

    def heard(self) -> None:
        """Read soon: there is something to read."""
        if not self._waits:
            delay = self.habits.read_delay * self.room.dice.random() + 0.001
            self._waits = True
            self.room.after(delay, self._wake)

    def _wake(self) -> None:
        late = max(self.deaf_until, self.paused_until)
        if self.room.now < late:
            self.room.at(late, self._wake)
            return
        self._waits = False
        self._read()

    def _look(self) -> None:
        if self.lives:
            self._read()
            self.room.after(_QUIET, self._look)

    def _open_log(self) -> None:
        room = self.room
        if room.now < self.deaf_until:
            room.at(self.deaf_until, self._open_log)
        elif room.now < self.paused_until:
            room.at(self.paused_until, self._open_log)
        elif not self.dead:
            self._generation, self._view = room.log.generation, room.log.view()
            self._view.read(room.log.rows, len(room.log.rows))
            self._read_to = self._knew_to = len(room.log.rows)
            self._open = True
            self.apply(self._view.opened(self.room.topics, self._read_to))

    def _read(self) -> None:
        room, log = self.room, self.room.log
        if self.dead or not self._open or room.now < max(self.deaf_until, self.paused_until):
            return
        if self._generation != log.generation:
            self._open = False
            self.apply(LogLost(0, "its tail was cut off"))
            room.after(0.2, self._open_log)
        else:
            rows, self._read_to = log.rows[self._read_to :], len(log.rows)
            self.apply(self._view.read(rows, self._read_to))
            self._knew_to = self._read_to

    # -- positions -------------------------------------------------------------------------

    def _find(self, effect: FindPosition) -> None:
        room = self.room
        delay = room.fate_of_question(self)
        if delay is None or not self.habits.may_read:
            failed = PositionFailed(effect.ticket, TimeoutError("nobody could tell"))
            room.after(5.0, lambda: self.apply(failed))
            return

        def answer() -> None:
            found = effect.known
            if found is None or effect.furthest:
                found = max(found or 0, room.committed.get(effect.tp, 0))
            found = min(found, room.end(effect.tp))
            self.apply(PositionFound(effect.ticket, found))

        room.after(delay, answer)

    def _commit_offsets(self, effect: CommitOffsets) -> None:
        room = self.room
        delay = room.fate_of_question(self)

        def commit_late(effect: CommitOffsets) -> None:
            room.commit(effect.offsets)

        if delay is None:
            error = OffsetsCommitted(effect.ticket, TimeoutError("no answer"))
            room.after(5.0, lambda: self.apply(error))
            if room.dice.random() < 0.5:
                room.after(room.dice.uniform(0, 5), lambda: commit_late(effect))
            return

        def answer() -> None:
            error = room.commit(effect.offsets)
            self.apply(OffsetsCommitted(effect.ticket, error))

        room.after(delay, answer)

    # -- the application -------------------------------------------------------------------

    def _poll(self) -> None:
        if not self.lives:
            return
        room = self.room
        if room.now < max(self.paused_until, self.lazy_until):
            room.at(max(self.paused_until, self.lazy_until), self._poll)
            return
        # Records first: what lies in a buffer may be handed out before anything was heard.
        for claim in self.member.holdings.having(HoldingState.HELD):
            self._deliver(claim)
        self.apply(Polled())
        room.after(self.habits.poll_every, self._poll)

    def _deliver(self, claim: Claim) -> None:
        if self.in_hand.get(claim) or not self.member.may_deliver(claim, self.room.now):
            return
        if any(asked[0] == claim for asked in self._asking.values()):
            return
        begin = self._position.get(claim)
        if begin is None:
            known = self.member.life(claim.tp).position
            assert known is not None
            begin = self._position[claim] = known
        end = min(begin + self.habits.batch, self.room.end(claim.tp))
        if end <= begin:
            return
        if self.settings.guarantee is Guarantee.AT_MOST_ONCE:
            serial = self._next_serial()
            self._asking[serial] = (claim, begin, end)
            self.apply(AdmitRequested(serial, claim, end))
            return
        self._hand_out(claim, begin, end)

    def _admitted(self, effect: Admitted) -> None:
        claim, begin, end = self._asking.pop(effect.serial)
        self._position[claim] = end
        if effect.admitted and self.member.may_deliver(claim, self.room.now):
            self._hand_out(claim, begin, end)

    def _hand_out(self, claim: Claim, begin: int, end: int) -> None:
        self.room.judge.handed_out(self, claim, begin, end)
        self.handed_out.append((self.room.now, claim, begin, end))
        self.in_hand[claim] = end
        self._position[claim] = end
        self.room.after(self.habits.work, lambda: self._worked(claim, end))

    def _worked(self, claim: Claim, end: int) -> None:
        if self.dead:
            return
        if self.room.now < self.paused_until:
            self.room.at(self.paused_until, lambda: self._worked(claim, end))
            return
        self.in_hand.pop(claim, None)
        at_most_once = self.settings.guarantee is Guarantee.AT_MOST_ONCE
        if not at_most_once and self.room.dice.random() < self.habits.commits:
            back = self.room.dice.random() < self.habits.rewinds
            self.commit({claim: max(end - self.room.dice.randrange(1, 12), 0) if back else end})
        self._drain()

    def commit(self, offsets: dict[Claim, int]) -> int:
        """Commit positions; return the serial."""
        serial = self._next_serial()
        self.room.judge.asked(self, serial, offsets)
        self.apply(CommitRequested(serial, offsets))
        return serial

    def ask(self, claim: Claim, until: int, *, begin: int | None = None) -> int:
        """Ask to hand out, at most once; from a place on, or nothing in the end."""
        serial = self._next_serial()
        self._asking[serial] = (claim, until if begin is None else begin, until)
        self.apply(AdmitRequested(serial, claim, until))
        return serial

    def _next_serial(self) -> int:
        self._serial += 1
        return self._serial

    def _call(self) -> None:
        if self._calling or not self._calls:
            return
        change = self._calls.popleft()
        self._calling = True
        self.room.judge.called(self, change)

        def done() -> None:
            self._calling = False
            self.apply(ListenerDone(change.serial))
            self._call()

        self.room.after(self.habits.listens, done)

    def gets(self, **habits: float | bool) -> None:
        """Change habits."""
        self.habits = replace(self.habits, **habits)  # type: ignore[arg-type]
