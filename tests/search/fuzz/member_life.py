"""One member of a classic group among unreliable company: what happens to it is read from a tape.

Decides: what happens next. A byte below `_QUIET` is a quiet step: the oldest request is answered in
good order, else the application does what it is asked for, else time goes on to the next deadline.
Above it anything else happens. So a tape of zeros is a life without trouble.
Never: judges; the readers of `effects`, `outstanding` and `announced` do.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from kgroup.assignors import BUILT_IN
from kgroup.codes import ApiKey
from kgroup.errors import (
    ConnectionLostError,
    DecodeError,
    LocalProtocolError,
    UnsupportedVersionError,
)
from kgroup.machine.claims import HoldingState
from kgroup.machine.reactions import reaction
from kgroup.machine.wishes import Errand, Ticket
from kgroup.membership.events import (
    Answered,
    AssignorDone,
    AssignorFailed,
    CallListener,
    CloseRequested,
    CommitRejected,
    CoordinatorFound,
    Disconnect,
    Drained,
    Effect,
    EnforceRebalance,
    Event,
    ListenerDone,
    MetadataChanged,
    Moment,
    Polled,
    RequestFailed,
    RunAssignor,
    Send,
    Subscribed,
    Tick,
    Unsubscribed,
)
from kgroup.membership.group_description import GroupInUse
from kgroup.membership.settings import MembershipSettings
from kgroup.membership.step import Step, next_deadline
from kgroup.membership.value import GroupMember
from kgroup.types import Claim, Generation, Leave, MemberState
from kgroup.wire.messages import JoinGroupRequest
from tests.membership.machine import drive
from tests.search.fuzz import member_answers
from tests.search.fuzz.member_answers import TOPICS
from tests.search.fuzz.target import Tape

Errands = dict[Ticket, Send | RunAssignor]

NODE: Final = 1
_QUIET: Final = 110
_UNSENDABLE: Final = "t" * 40_000
_BETWEEN_POLLS: Final = 1.0
_ASSIGNORS: Final = (
    ("range",),
    ("cooperative-sticky",),
    ("cooperative-sticky", "range"),
    ("sticky", "roundrobin"),
)
_JUMPS: Final = (0.0, 0.001, 0.1, 0.5, 1.0, 2.9, 5.0, 9.6, 11.0, 29.9, 31.0, 100.0)
_STARVED: Final = (5.0, 16.0, 31.0)
_STARVED_STEPS: Final = 40
_KEPT_ALIVE: Final = (Errand.HEARTBEAT, Errand.FIND_COORDINATOR)
_FAILURES: Final[tuple[Callable[[], Exception], ...]] = (
    lambda: ConnectionLostError("broker-1:9092", "closed by the peer"),
    TimeoutError,
    lambda: DecodeError("answer", "no such thing"),
    lambda: UnsupportedVersionError("JoinGroup", "none in common"),
    lambda: LocalProtocolError("cannot be written"),
)


class Life:
    """One member, and everything it has sent and been answered.

    Attributes:
        member: the present value.
        now: its instant.
        outstanding: requests and runs of the assignor that are not answered, oldest first.
        answered: tickets that were.
        announced: claims that the listener was assigned, and that have not ended for it.
        effects: since they were looked at last; the reader takes them away.
    """

    def __init__(self, tape: Tape) -> None:
        settings = MembershipSettings(
            group_id="g",
            assignors=tuple(BUILT_IN[name] for name in tape.pick(_ASSIGNORS)),
            group_instance_id="i-1" if tape.below(3) == 1 else None,
            session_timeout=10.0,
            heartbeat_interval=3.0,
            rebalance_timeout=30.0,
            retry_backoff=0.1,
            retry_backoff_max=1.0,
        )
        self.tape = tape
        self.now = 1000.0
        self.member = GroupMember.new(settings, self.now)
        self.outstanding: Errands = {}
        self.answered: list[Ticket] = []
        self.announced: dict[Claim, int] = {}
        self.effects: tuple[Effect, ...] = ()
        self._rounds = 0
        self._named = 1

    # -- what happens ------------------------------------------------------------------------

    def on(self, event: Event, *, after: float = 0.0) -> None:
        """Let one thing happen."""
        self.now += after
        drive(self, self.member, event, Moment(self.now, self.tape.below(256) / 256))

    def stepped(self, _before: GroupMember, _event: Event, result: Step) -> None:
        """Keep the new value, and its effects for the judge."""
        self.member = result.member
        self.effects += result.effects

    def send(self, effect: Send) -> None:
        """Leave a request for the tape to answer."""
        self.outstanding[effect.ticket] = effect

    def run_assignor(self, effect: RunAssignor) -> None:
        """Leave a run of the assignor for the tape to answer."""
        self.outstanding[effect.ticket] = effect

    def disconnect(self, effect: Disconnect) -> None:
        """Do nothing: there are no connections."""

    def end(self, error: Exception | None) -> None:
        """Do nothing: what comes afterwards must not disturb a member that has ended."""

    def call_listener(self, effect: CallListener) -> None:
        """Note what the application hears."""
        for claim in effect.change.added:
            self.announced[claim] = effect.change.serial
        for claim in effect.change.removed:
            self.announced.pop(claim, None)

    def happen(self) -> None:
        """Let happen what the tape says; it may be nothing."""
        drawn = self.tape.below(256)
        if drawn < _QUIET:
            self.quiet(drawn)
            return
        _HAPPENINGS[drawn % len(_HAPPENINGS)](self)

    def quiet(self, detail: int = 0) -> None:
        """Let happen what should; `detail` decides what is left open."""
        draining = self.member.holdings.having(HoldingState.DRAINING)
        if self.outstanding:
            newest = detail // 4 % 2
            self._answer(list(self.outstanding)[-newest], detail)
        elif self.member.changes:
            self.on(ListenerDone(self.member.changes[0].serial))
        elif draining:
            self.on(Drained(draining))
        elif self.member.state is MemberState.UNSUBSCRIBED and detail % 2 == 0:
            self.on(Subscribed(frozenset(TOPICS[: 1 + detail % len(TOPICS)])))
        elif self.now - self.member.wishes.polled_at > _BETWEEN_POLLS:
            self.on(Polled())
        else:
            due = next_deadline(self.member) - self.now
            self.on(Tick(), after=min(max(due, 0.0), 2 * _BETWEEN_POLLS))

    # -- requests ----------------------------------------------------------------------------

    def _answer(self, ticket: Ticket, detail: int) -> None:
        """Answer as a sound coordinator or assignor does."""
        asked = self._taken(ticket)
        match asked:
            case RunAssignor():
                self._assign(asked)
            case Send(request=JoinGroupRequest() as request):
                if not request.member_id:
                    self._named += 1
                self._rounds += 1
                leads = detail % 3 == 1
                answer = member_answers.sound_join(request, self._rounds, self._named, leads=leads)
                self.on(Answered(ticket, answer))
            case _ if ticket.errand is Errand.FIND_COORDINATOR:
                self.on(CoordinatorFound(ticket, NODE))
            case _ if ticket.errand is Errand.SYNC_GROUP:
                topics = self.member.wishes.topics or frozenset()
                self.on(Answered(ticket, member_answers.sound_sync(topics, detail + 1)))
            case _:
                self.on(
                    Answered(
                        ticket, member_answers.arbitrary(ticket.errand, self.member, Tape(b""))
                    )
                )

    def _assign(self, asked: RunAssignor) -> None:
        watched = {topic: self.member.counts.get(topic, 0) for topic in TOPICS}
        given = tuple((row.member_id, b"") for row in asked.members)
        self.on(AssignorDone(asked.ticket, given, watched))

    def _taken(self, ticket: Ticket) -> Send | RunAssignor:
        self.answered.append(ticket)
        return self.outstanding.pop(ticket)

    def _some_ticket(self) -> Ticket | None:
        """Return an outstanding ticket, or one that was answered before, or a forged one."""
        tickets = list(self.outstanding)
        if tickets and not self.tape.chance(4):
            ticket = tickets[self.tape.below(len(tickets))]
            self._taken(ticket)
            return ticket
        if not self.answered:
            return None
        ticket = self.answered[-1 - self.tape.below(len(self.answered))]
        return replace(ticket, serial=10_000) if self.tape.chance(4) else ticket

    # -- anything else -----------------------------------------------------------------------

    def answer_anything(self) -> None:
        ticket = self._some_ticket()
        if ticket is None:
            return
        tape = self.tape
        if ticket.errand is Errand.FIND_COORDINATOR:
            found = member_answers.code(tape)
            node = None if found or tape.chance(4) else tape.below(3)
            remembered = member_answers.remembered(tape) if tape.chance(3) else None
            self.on(CoordinatorFound(ticket, node, found, remembered))
        elif ticket.errand is Errand.RUN_ASSIGNOR:
            counts = {topic: tape.below(4) for topic in TOPICS[: tape.below(4)]}
            again = (None, 0.0, 1.5, 100.0)[tape.below(4)]
            rows = tuple((name, tape.take(2)) for name in ("m-1", "m-2")[: tape.below(3)])
            places, now = ({"t": tape.below(2)} if tape.below(2) else {} for _ in range(2))
            self.on(AssignorDone(ticket, rows, counts, again, None, places, now))
        else:
            answer = member_answers.arbitrary(ticket.errand, self.member, tape)
            in_use = GroupInUse("consumer", "range", ("other",)) if tape.chance(4) else None
            self.on(Answered(ticket, answer, in_use))

    def fail(self) -> None:
        ticket = self._some_ticket()
        if ticket is None:
            return
        if ticket.errand is Errand.RUN_ASSIGNOR:
            error = self.tape.pick((ValueError("odd"), TimeoutError("late"), KeyError("t")))
            self.on(AssignorFailed(ticket, error))
        else:
            self.on(RequestFailed(ticket, self.tape.pick(_FAILURES)()))

    def wait(self) -> None:
        self.on(Tick(), after=self.tape.pick(_JUMPS))

    def starve(self) -> None:
        """Let time pass in which the coordinator is there, and the application is not."""
        until = self.now + self.tape.pick(_STARVED)
        for _ in range(_STARVED_STEPS):
            idle = [each for each in self.outstanding if each.errand in _KEPT_ALIVE]
            if idle:
                self._answer(idle[0], 0)
                continue
            if self.now >= until:
                return
            due = min(next_deadline(self.member), until)
            self.on(Tick(), after=max(due - self.now, 0.0))

    def listener(self) -> None:
        changes = self.member.changes
        if changes:
            self.on(ListenerDone(changes[self.tape.below(len(changes))].serial))
        else:
            self.on(ListenerDone(self.tape.below(8)))

    def drained(self) -> None:
        claims = self.member.holdings.claims
        self.on(Drained(tuple(claim for claim in claims if self.tape.below(2))))

    def subscribe(self) -> None:
        if self.tape.chance(12):
            self.on(Subscribed(frozenset((_UNSENDABLE,))))
            return
        self.on(
            Subscribed(frozenset(self.tape.pick(TOPICS) for _ in range(1 + self.tape.below(3))))
        )

    def unsubscribe(self) -> None:
        self.on(Unsubscribed())

    def close(self) -> None:
        if not self.tape.chance(8):
            return
        release_by = self.now + self.tape.pick(_JUMPS)
        leave_by = release_by + self.tape.pick(_JUMPS)
        mode = self.tape.pick(tuple(Leave))
        self.on(CloseRequested(mode, "enough", release_by, leave_by))

    def enforce(self) -> None:
        self.on(EnforceRebalance("because"))

    def metadata(self) -> None:
        places = {"t": self.tape.below(2)} if self.tape.chance(3) else {}
        self.on(MetadataChanged({topic: self.tape.below(4) for topic in TOPICS}, places))

    def poll(self) -> None:
        self.on(Polled())

    def commit_refused(self) -> None:
        generation = self.member.identity.generation
        if generation is None or self.tape.chance(4):
            generation = Generation("g", self.tape.below(4), "m-1")
        refused = member_answers.code(self.tape)
        verdict = reaction(ApiKey.OFFSET_COMMIT, refused)
        self.on(CommitRejected(verdict, generation, refused))


_HAPPENINGS: Final[tuple[Callable[[Life], None], ...]] = (
    *(Life.answer_anything, Life.answer_anything, Life.answer_anything, Life.answer_anything),
    *(Life.fail, Life.fail, Life.wait, Life.wait, Life.listener, Life.drained, Life.subscribe),
    *(Life.unsubscribe, Life.close, Life.enforce, Life.metadata, Life.poll, Life.commit_refused),
    *(Life.commit_refused, Life.metadata, Life.answer_anything, Life.starve),
)
