"""Members of one group in random lives: answers that are late or lost, listeners that dawdle.

After each event nobody owns what another one owns, and whoever may hand out records of a partition
has it by the coordinator's own book. At the end, left in peace, they share everything.
"""

import random
from itertools import combinations

import pytest

from kgroup.consumer_group.events import Answered, CoordinatorFound, RequestFailed, Send
from kgroup.consumer_group.step import next_deadline
from kgroup.machine.claims import HoldingState
from kgroup.machine.wishes import Drained, Errand, ListenerDone, Polled, Unsubscribed
from kgroup.types import MemberState
from kgroup.wire.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from tests.consumer_group.driver import IDS, INTERVAL, LOST, NODE, SESSION, Driven, settings
from tests.consumer_group.model import Coordinator

COUNTS = {"t": (IDS["t"], 4), "u": (IDS["u"], 3)}
TOPICS = ("t",), ("t", "u"), ("u",)
REBALANCE = 15.0


class Life(Driven):
    """One member, and the request of it that is on its way."""

    def __init__(self, name: str) -> None:
        super().__init__(settings(member_id=name, rebalance_timeout=REBALANCE))
        self.name = name
        self.seen = 0
        self.inbox: list[tuple[Send, ConsumerGroupHeartbeatResponse | None]] = []


class World:
    """Some members, and their coordinator."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.now = 1000.0
        self.coordinator = Coordinator(COUNTS, SESSION, INTERVAL)
        self.lives = [Life(name) for name in ("a", "b", "c")]

    # -- one event ---------------------------------------------------------------------------

    def anything(self) -> None:
        life = self.dice.choice(self.lives)
        moves = (
            (10, lambda: self.pass_time(self.dice.uniform(0.0, 1.5))),
            (1, lambda: self.pass_time(self.dice.uniform(0.0, SESSION * 1.5))),
            (10, lambda: self.deliver(life)),
            (8, lambda: self.drain(life)),
            (8, lambda: self.return_from_listener(life)),
            (2, lambda: self.lose(life)),
            (2, lambda: life.subscribe(*self.dice.choice(TOPICS))),
            (1, lambda: life.on(Unsubscribed())),
            (4, lambda: life.on(Polled())),
        )
        weights = [weight for weight, _ in moves]
        self.dice.choices([move for _, move in moves], weights)[0]()
        self.look()

    def pass_time(self, seconds: float) -> None:
        """Let time pass; each timer fires at its instant."""
        until = self.now + seconds
        while True:
            due = min(next_deadline(life.member) for life in self.lives)
            self.now = min(max(due, self.now), until)
            for life in self.lives:
                life.now = self.now
                if next_deadline(life.member) <= self.now:
                    life.tick()
            self.coordinator.pass_time(self.now)
            self.take_requests()
            if self.now >= until and all(
                next_deadline(life.member) > self.now for life in self.lives
            ):
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
                arrives = self.peaceful or self.dice.random() > 0.05
                answer = self.coordinator.heartbeat(request, self.now) if arrives else None
                life.inbox.append((effect, answer))

    peaceful = False

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
        for one, other in combinations(self.lives, 2):
            both = one.owned() & other.owned()
            assert not both, f"{one.name} and {other.name} own {both}"
        for life in self.lives:
            known = self.coordinator.members.get(life.name)
            for claim in life.member.holdings.claims:
                place = life.member.place_of(claim)
                if life.member.may_deliver(claim, self.now):
                    assert known is not None, f"{life.name} hands out {claim}, and is expelled"
                    assert place in known.holds, f"{life.name} hands out {claim}"

    def at_peace(self) -> None:
        """Let everybody subscribe, and everything arrive, until nothing is left to do."""
        self.peaceful = True
        for life in self.lives:
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
        stable = all(life.member.state is MemberState.STABLE for life in self.lives)
        owned = [life.owned() for life in self.lives]
        return stable and sum(map(len, owned)) == 7 and len(frozenset().union(*owned)) == 7


def live(seed: int, events: int) -> None:
    world = World(seed)
    for life in world.lives:
        life.subscribe(*world.dice.choice(TOPICS))
    for _ in range(events):
        world.anything()
    world.at_peace()


@pytest.mark.parametrize("seed", range(40))
def test_a_random_life_hands_out_nothing_that_another_one_has(seed: int) -> None:
    live(seed, 150)


@pytest.mark.search
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_a_long_random_life_hands_out_nothing_that_another_one_has(seed: int) -> None:
    live(seed, 1500)
