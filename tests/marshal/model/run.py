"""One run of the model: processes take their steps, messages arrive, things go wrong, then rest.

Decides: the order of everything, from one seed, and what is said about a run.
Never: waits, or looks at a clock.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Final

from kgroup.marshal.key_state import Key, KeyState
from kgroup.marshal.messages import Kind, Message
from kgroup.marshal.rules import WorldRules
from kgroup.marshal.world import World
from tests.marshal.model.original import Original
from tests.marshal.model.plan import STORM, Omission, Plan, Trouble, draw
from tests.marshal.model.process import Identity, Process
from tests.marshal.model.shared import EPOCH, Entry, SharedLog, Shelf

_LATEST: Final = 200.0
_LONGEST: Final = 300.0
_GROUP: Final = b"g"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run.

    Args:
        plan: of the run.
        broken: promise -> how often it was broken.
        entries: what the log held in the end.
        handed_out: whether anything was.
    """

    plan: Plan
    broken: dict[str, int]
    entries: tuple[Entry, ...]
    handed_out: bool


class Run:
    """One run.

    Args:
        plan: of the run.
        dice: that everything else is drawn with.
        omitted: the safeguard that is left out, None for none.
    """

    def __init__(self, plan: Plan, dice: Random, omitted: Omission | None = None) -> None:
        self.plan = plan
        self.dice = dice
        self.omitted = omitted
        self.log = SharedLog(append_time=plan.append_time)
        self.shelf = Shelf(exclusive=plan.is_exclusive and omitted is None)
        self._keys = [Key(_GROUP, b"t", number) for number in range(plan.keys)]
        self._agenda: list[tuple[float, int, Callable[[float], None]]] = []
        self._count = 0
        self._processes: list[Process | Original] = []

    def play(self) -> Outcome:
        """Play it to the end."""
        for number in range(self.plan.clients):
            self._start(self._somebody(b"c%d" % number), 0.0, window=None)
        for number in range(self.plan.headerless):
            self._join(Original(self._somebody(b"o%d" % number), self, self._keys), 0.0)
        for at, trouble in self.plan.troubles:
            self._later(at, partial(self._happen, trouble))
        while self._agenda and self._agenda[0][0] <= self.plan.ends_at:
            now, _, do = heapq.heappop(self._agenda)
            do(now)
        self._judge()
        entries = tuple(self.log.entries)
        return Outcome(self.plan, dict(self.shelf.broken), entries, bool(self.shelf.latest))

    def send(self, now: float, message: Message, headers: tuple[tuple[str, bytes], ...]) -> None:
        """Take a message on its way to the log: it may be late, and arrive again."""
        storm = now < STORM
        copies = 2 if storm and self.dice.random() < self.plan.doubled else 1
        for _ in range(copies):
            late = storm and self.dice.random() < self.plan.delayed
            delay = self.dice.uniform(1, _LATEST) if late else self.dice.uniform(0.01, 0.5)
            self._later(now + delay, lambda at: self.log.append(at, message, headers))

    # -- what happens --------------------------------------------------------------------------

    def _later(self, at: float, do: Callable[[float], None]) -> None:
        self._count += 1
        heapq.heappush(self._agenda, (at, self._count, do))

    def _somebody(self, client_id: bytes) -> Identity:
        self._count += 1
        skew = self.dice.uniform(-self.plan.skew, self.plan.skew)
        interval = self.dice.choice(self.plan.intervals)
        return Identity(client_id, b"i%d" % self._count, skew, interval)

    def _start(self, who: Identity, now: float, *, window: float | None) -> None:
        self._join(Process(who, self, self._keys, now, window=window), now)

    def _join(self, process: Process | Original, now: float) -> None:
        self._processes.append(process)
        self._later(now + self.dice.uniform(0, 5), lambda at: self._step(process, at))

    def _step(self, process: Process | Original, now: float) -> None:
        if process not in self._processes:
            return
        process.step(now)
        pause = self.dice.uniform(2, 12)
        if now < STORM and self.dice.random() < self.plan.pause:
            pause = self.dice.uniform(10, _LONGEST)
        self._later(now + pause, lambda at: self._step(process, at))

    def _happen(self, trouble: Trouble, now: float) -> None:
        victim = self.dice.choice(self._processes)
        match trouble:
            case Trouble.TRUNCATE:
                self.log.truncate(self.dice.randint(1, 10))
            case Trouble.CLOCK_BACK:
                self.log.behind += self.dice.uniform(1, 60)
            case Trouble.PAUSE_GROUP:
                self._pause_group(now)
            case Trouble.DEAF:
                victim.deaf_until = now + self.dice.uniform(10, _LONGEST)
            case _ if isinstance(victim, Process):
                self._replace(trouble, victim, now)
            case _:
                pass

    def _replace(self, trouble: Trouble, victim: Process, now: float) -> None:
        if trouble is not Trouble.TWIN:
            self._processes.remove(victim)
        self._count += 1
        client_id = victim.who.client_id
        if trouble is Trouble.REPLACE:
            client_id = b"r%d" % self._count
        who = Identity(client_id, b"i%d" % self._count, victim.who.skew, victim.who.interval)
        self._start(who, now, window=self.plan.window)

    def _pause_group(self, now: float) -> None:
        time = int(EPOCH + now)
        expiry = time + self.dice.randint(10, 300)
        admin = b"admin", b"admin"
        message = Message(Kind.RELEASE_GROUP, time, *admin, _GROUP, b"", 0, expiry)
        self.send(now, message, (("kg-v", b"1"),))

    # -- what must hold ------------------------------------------------------------------------

    def _judge(self) -> None:
        """See that all came to rest, and that all readers of everything see the same."""
        rules = WorldRules(append_time=self.plan.append_time, complete=True)
        world = World(rules)
        for entry in self.log.entries:
            world.apply(*entry)
        for key in self._keys if not self.plan.headerless else ():
            state = world.keys.get(key, KeyState())
            idle = self.plan.ends_at - self.shelf.latest.get(key, 0.0)
            if idle > 200 or not state.owned:
                self.shelf.broken["stuck"] += 1
        broken = self.shelf.broken
        broken["differs"] += sum(
            each.differs(self.log.entries, rules)
            for each in self._processes
            if isinstance(each, Process)
        )
        if not broken["differs"]:
            del broken["differs"]


def play(
    seed: int, *, at_most_once: bool | None = None, omitted: Omission | None = None
) -> Outcome:
    """Draw and play a run by its seed."""
    dice = Random(seed)
    return Run(draw(dice, at_most_once=at_most_once), dice, omitted).play()
