"""A seed becomes a script.

Decides: when each step is. The core runs beside, so that the deadlines are known: a step is at
least `MARGIN` away from any instant at which the group changes by itself, on either side, and no
two such instants are so close that a real broker may have them in another order.
Never: depends on anything but its seed and the core: hash order is that of made-up ids.
"""

import math
from dataclasses import dataclass, field
from random import Random

from kgroup.wire.schema import decode, encode
from tests.testing.differential.cast import Cast
from tests.testing.differential.choices import choose, tend
from tests.testing.differential.planning import Part, Plan, draw_plan
from tests.testing.differential.script import Ask, Close, Script, Setting, Step
from tests.testing.differential.stage import Pending, Stage

MARGIN = 0.2
PAST = 0.3
"""How long after an edge a step is that would have been too near."""

APART = 0.06
"""Least time between two timers of a group that run out; real ones are late by some milliseconds,
each by others."""

_DRAWS = 50
_LONGEST = 12.0
_TAIL = 4.0
_TRIES = 50


class NoPlaceError(Exception):
    """There is no quiet instant ahead."""


@dataclass(slots=True)
class World:
    """A script in the making, and the core it has brought about so far.

    Args:
        plan: its figures.
        stage: the core.
        cast: what the actors were answered.
        steps: so far.
        sent: what each step became; None for a connection that was closed.
        edge: the last instant at which the group changed by itself.
        apart: seconds between the two timers that ran out closest to each other.
    """

    plan: Plan
    stage: Stage
    cast: Cast
    steps: list[Step] = field(default_factory=list)
    sent: list[tuple[str, Pending]] = field(default_factory=list)
    edge: float = -MARGIN
    apart: float = math.inf

    def advance(self, instant: float) -> None:
        """Let time pass, and the actors read what came."""
        while (edges := self.stage.edges()) and edges[0] <= instant:
            self.edge = max(edges[0], self.stage.now)
            self.apart = min(self.apart, edges[1] - edges[0] if edges[1:] else math.inf)
            self.stage.until(self.edge)
        self.stage.until(instant)
        self._read()

    def place(self, wanted: float) -> float:
        """Go to the first instant from `wanted` on that is far enough from every edge.

        Raises:
            NoPlaceError: the group changes by itself all the time (R = 0, B10).
        """
        for _ in range(_TRIES):
            self.advance(wanted)
            if wanted - self.edge < MARGIN:
                wanted = self.edge + PAST
                continue
            ahead = self.stage.edges()
            if ahead and ahead[0] - wanted < MARGIN:
                wanted = ahead[0] + PAST
                continue
            return wanted
        raise NoPlaceError

    def act(self, part: Part, connection: int, ask: Ask) -> None:
        """Let an actor do something now."""
        step = Step(round(self.stage.now, 4), part.actor, connection, ask)
        self.steps.append(step)
        name = f"{part.actor}{connection}"
        if isinstance(ask, Close):
            self.stage.close(name)
            self.sent = [(actor, each) for actor, each in self.sent if each.connection != name]
            return
        request, version = self.cast.request(step)
        # What the version has no field for does not arrive.
        arrived = decode(type(request), version, encode(request, version))
        pending = Pending(name, part.actor, arrived, version)
        self.sent.append((part.actor, pending))
        self.stage.send(pending)
        self._read()

    def _read(self) -> None:
        waiting = []
        for actor, pending in self.sent:
            call = pending.call
            if call is None or call.parked:
                waiting.append((actor, pending))
            elif call.answer is not None:
                self.cast.learn(actor, call.answer)
        self.sent = waiting

    def free_connection(self, part: Part) -> int:
        """Return a connection of an actor that waits for no answer."""
        for number in range(part.connections):
            if not self.stage.busy(f"{part.actor}{number}"):
                return number
        part.connections += 1
        return part.connections - 1


def generate(seed: int, setting: Setting, version: str) -> Script:
    """Draw a script.

    Args:
        seed: same seed, same script.
        setting: of the broker it is for.
        version: of Kafka whose rules the deadlines follow.
    """
    for number in range(_DRAWS):
        script, apart = _drawn(
            Random(f"{seed}/{number}/{setting}/{version}"), seed, setting, version
        )
        if apart >= APART and script.steps:
            break
    return script


def _drawn(dice: Random, seed: int, setting: Setting, version: str) -> tuple[Script, float]:
    """Return a script, and how far apart the timers are that run out in it."""
    plan = draw_plan(dice)
    world = World(plan, Stage(version, setting, f"script-{seed}"), Cast(f"script-{seed}"))
    try:
        while len(world.steps) < plan.length and world.stage.now < _LONGEST:
            world.place(world.stage.now + _gap(dice, world))
            chosen = tend(dice, world) or choose(dice, world)
            if chosen is not None:
                part, connection, ask = chosen
                world.act(part, connection, ask)
        end = _end(dice, world)
    except NoPlaceError:
        # The last step brought it about; the script is sound up to there.
        end = world.steps.pop().at
    return Script(seed, setting, tuple(world.steps), round(end, 4)), world.apart


def _gap(dice: Random, world: World) -> float:
    ahead = [edge for edge in world.stage.edges() if edge < world.stage.now + _TAIL]
    if ahead and dice.random() < world.plan.pauses:
        return dice.choice(ahead) + PAST - world.stage.now
    return dice.uniform(0.05, 0.4) if dice.random() < 0.1 else dice.uniform(0.045, 0.08)


def _end(dice: Random, world: World) -> float:
    """Go on for a moment, or until nothing more happens by itself."""
    end = world.place(world.stage.now + PAST)
    if dice.random() < 0.5:
        return end
    limit = end + _TAIL
    while (ahead := world.stage.edges()) and ahead[0] + PAST < limit:
        end = world.place(ahead[0] + PAST)
    return end


def margin_of(script: Script, version: str) -> float:
    """Return how near a step of any script comes to an edge, seconds; at most `MARGIN` counts.

    0 when two edges are too near to each other.
    """
    world = World(Plan([], 0, 0.0, 0.0, 0.0), Stage(version, script.setting, "g"), Cast("g"))
    least = MARGIN
    for step in script.steps:
        world.advance(step.at)
        ahead = world.stage.edges()
        least = min(least, step.at - world.edge, ahead[0] - step.at if ahead else MARGIN)
        part = Part(step.actor, None, 0, 0.0, 0.0, ())
        world.act(part, step.connection, step.ask)
    world.advance(script.until)
    ahead = world.stage.edges()
    least = min(least, script.until - world.edge, ahead[0] - script.until if ahead else MARGIN)
    return least if world.apart >= APART else 0.0
