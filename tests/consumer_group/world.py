"""Members of one group, their coordinator, and all that may lie between them: for random lives.

Decides: which answers are late or lost, what time does, and what must hold after each event: nobody
owns what another one owns, and whoever may hand out records of a partition has it by the
coordinator's own book. Never: chooses what happens next.
"""

import random
from itertools import combinations

from kgroup.consumer_group.events import (
    Answered,
    CoordinatorFound,
    Effect,
    Event,
    RequestFailed,
    Send,
    TopicsNamed,
)
from kgroup.consumer_group.step import next_deadline
from kgroup.machine.claims import HoldingState
from kgroup.machine.wishes import CallListener, Drained, Errand, ListenerDone, Polled, Ticket
from kgroup.types import ChangeKind, Claim, MemberState
from kgroup.wire.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from tests.consumer_group.driver import (
    IDS,
    INTERVAL,
    LOST,
    NAMES,
    NODE,
    SESSION,
    Driven,
    settings,
)
from tests.consumer_group.model import Coordinator, Place

COUNTS = {"t": (IDS["t"], 4), "u": (IDS["u"], 3)}
TOPICS = ("t",), ("t", "u"), ("u",)
REBALANCE = 15.0
ENDED = frozenset({MemberState.LEFT, MemberState.FENCED, MemberState.FAILED})


class Life(Driven):
    """One member, the request of it that is on its way, and what a bystander makes of its words.

    Args:
        name: also its member id.
        options: of the member.
    """

    def __init__(self, name: str, **options: float) -> None:
        super().__init__(settings(member_id=name, rebalance_timeout=REBALANCE, **options))
        self.name = name
        self.seen = 0
        self.inbox: list[tuple[Send, ConsumerGroupHeartbeatResponse | None]] = []
        self.frozen = False
        self.heard: set[Claim] = set()
        """Claims that were listed in a heartbeat which was answered."""
        self.given: frozenset[Place] = frozenset()
        """The assignment that was told last."""
        self.announcing: dict[int, frozenset[Claim]] = {}
        """Serial of a call of on_assigned that has not returned -> its claims."""
        self._listed: dict[Ticket, frozenset[Claim]] = {}

    @property
    def ended(self) -> bool:
        """Whether the membership is over for good."""
        return self.member.state in ENDED

    def delivering(self) -> frozenset[Claim]:
        """Return the claims whose records may be handed out now."""
        claims = self.member.holdings.claims
        return frozenset(each for each in claims if self.member.may_deliver(each, self.now))

    def on(self, event: Event, *, after: float = 0.0) -> tuple[Effect, ...]:
        """Step, and note what was listed and what was heard."""
        match event:
            case Answered() if event.ticket == self.member.heartbeat:
                self._hear(event)
            case ListenerDone():
                self.announcing.pop(event.serial, None)
            case _:
                pass
        effects = super().on(event, after=after)
        for effect in effects:
            match effect:
                case Send() if effect.ticket == self.member.heartbeat:
                    self._listed[effect.ticket] = self._named_in(effect.request)
                case CallListener() if effect.change.kind is ChangeKind.ASSIGNED:
                    self.announcing[effect.change.serial] = frozenset(effect.change.added)
                case _:
                    pass
        return effects

    def _hear(self, answer: Answered) -> None:
        if answer.response.error_code == 0:
            self.heard |= self._listed.get(answer.ticket, frozenset())
        if answer.response.assignment is not None:
            rows = answer.response.assignment.topic_partitions
            self.given = frozenset((row.topic_id, n) for row in rows for n in row.partitions)

    def _named_in(self, request: object) -> frozenset[Claim]:
        rows = getattr(request, "topic_partitions", None) or ()
        places = {(row.topic_id, number) for row in rows for number in row.partitions}
        claims = self.member.holdings.claims
        return frozenset(each for each in claims if self.member.place_of(each) in places)


class World:
    """Some members, and their coordinator."""

    peaceful = False

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.now = 1000.0
        self.coordinator = Coordinator(COUNTS, SESSION, INTERVAL)
        self.lives = [Life(name) for name in ("a", "b", "c")]

    # -- one event ---------------------------------------------------------------------------

    def pass_time(self, seconds: float) -> None:
        """Let time pass; each timer fires at its instant."""
        until = self.now + seconds
        while True:
            awake = [life for life in self.lives if not life.frozen]
            due = min((next_deadline(life.member) for life in awake), default=until)
            self.now = min(max(due, self.now), until)
            for life in self.lives:
                life.now = self.now
            for life in awake:
                if next_deadline(life.member) <= self.now:
                    life.tick()
            self.coordinator.pass_time(self.now)
            self.take_requests()
            if self.now >= until and all(next_deadline(each.member) > self.now for each in awake):
                return

    def take_requests(self) -> None:
        """Have what members have sent arrive at the coordinator, or get lost on the way."""
        for life in self.lives:
            for effect in life.did(Send)[life.seen :]:
                life.seen += 1
                request = effect.request
                if not isinstance(request, ConsumerGroupHeartbeatRequest):
                    life.inbox.append((effect, None))
                    continue
                arrives = self.arrives(life)
                answer = self.coordinator.heartbeat(request, self.now) if arrives else None
                life.inbox.append((effect, answer))

    def arrives(self, life: Life) -> bool:
        """Tell whether the next request of a member reaches the coordinator."""
        return self.peaceful or self.dice.random() > 0.05

    def deliver(self, life: Life) -> None:
        self.take_requests()
        if not life.inbox:
            return
        effect, answer = life.inbox.pop(0)
        if effect.ticket.errand is Errand.FIND_COORDINATOR:
            life.on(CoordinatorFound(effect.ticket, NODE))
        elif answer is None:
            life.on(RequestFailed(effect.ticket, LOST))
        else:
            life.on(Answered(effect.ticket, answer))

    def lose(self, life: Life) -> None:
        """Lose the connection: answers that were on their way do not arrive."""
        self.take_requests()
        for effect, _ in life.inbox:
            life.on(RequestFailed(effect.ticket, LOST))
        life.inbox.clear()

    def drain(self, life: Life) -> None:
        draining = life.member.holdings.having(HoldingState.DRAINING)
        if draining:
            life.on(Drained(tuple(self.dice.sample(draining, self.dice.randint(1, len(draining))))))

    def return_from_listener(self, life: Life) -> None:
        if life.member.changes:
            life.on(ListenerDone(life.member.changes[0].serial))

    # -- what must hold ----------------------------------------------------------------------

    def look(self) -> None:
        self.pass_time(0.0)
        awake = [life for life in self.lives if not life.frozen]
        for one, other in combinations(awake, 2):
            both = one.owned() & other.owned()
            assert not both, f"{one.name} and {other.name} own {both}"
        for life in self.lives:
            known = self.coordinator.members.get(life.name)
            for claim in life.delivering():
                assert known is not None, f"{life.name} hands out {claim}, and is expelled"
                assert life.member.place_of(claim) in known.holds, f"{life.name} hands out {claim}"
                assert claim in life.heard, f"{life.name} hands out {claim}, not acknowledged"
                assert life.member.place_of(claim) in life.given, f"{claim} was told to go"
                new = frozenset[Claim]().union(*life.announcing.values())
                assert claim not in new, f"{claim} is handed out before the listener knows"
            if life.ended:
                assert not life.owned(), f"{life.name} is out, and owns {life.owned()}"

    def work(self, times: int, *, every: float = 0.5, dawdles: bool = False) -> None:
        """Let whoever is awake and can be reached hear all that is to be heard.

        Args:
            times: how often.
            every: seconds before each.
            dawdles: whether its application does nothing meanwhile: it does not poll, lets go of no
                batch, and no call of its listener returns.
        """
        for _ in range(times):
            self.pass_time(every)
            for life in self.lives:
                if life.frozen:
                    continue
                if not dawdles:
                    life.on(Polled())
                while life.inbox:
                    self.deliver(life)
                    self.take_requests()
                if not dawdles:
                    life.settle()
            self.look()

    def at_peace(self) -> None:
        """Let everybody subscribe, and everything arrive, until nothing is left to do."""
        self.peaceful = True
        for life in self.lives:
            life.frozen = False
            life.on(TopicsNamed(NAMES))
            if not life.ended:
                life.subscribe("t", "u")
        for _ in range(400):
            self.pass_time(0.25)
            for life in self.lives:
                life.on(Polled())
                while life.inbox:
                    self.deliver(life)
                life.settle()
            self.look()
            if self._shared():
                return
        states = [(life.name, life.member.state, life.owned()) for life in self.lives]
        raise AssertionError(f"they do not come to rest: {states} {self.coordinator}")

    def _shared(self) -> bool:
        left = [life for life in self.lives if not life.ended]
        stable = all(life.member.state is MemberState.STABLE for life in left)
        owned = [life.owned() for life in left]
        whole = sum(map(len, owned)) == 7 and len(frozenset().union(*owned)) == 7
        return stable and (whole or not left)
