"""The clients of a script, and how well or badly they will behave.

Decides: the figures one script is drawn with; `choices` draws the steps.
"""

from dataclasses import dataclass, field
from random import Random

from tests.testing.differential.script import TOPICS, Offer, Setting

SETTINGS = (Setting(), Setting(0.3, 3))
"""No delay and no limit; or an initial delay of 300 ms and at most three members."""

SESSIONS = tuple(1.0 + step / 20 for step in range(13))
REBALANCES = tuple(0.825 + step / 20 for step in range(14))

_NAMES = ("range", "roundrobin", "sticky", "cooperative-sticky")
_LISTS: tuple[tuple[str, ...], ...] = (
    ("range",),
    ("roundrobin",),
    ("range", "roundrobin"),
    ("roundrobin", "range"),
    ("sticky", "range"),
    ("cooperative-sticky", "range"),
    ("range", "sticky", "roundrobin"),
)


@dataclass(slots=True)
class Part:
    """One actor.

    Args:
        actor: its name.
        instance: its group instance id, None for a dynamic member.
        version: of its JoinGroups.
        session: S, seconds.
        rebalance: R, seconds.
        offers: what it joins with at present.
        protocol_type: of its joins.
        connections: how many it has opened.
        has_left: it has left, and may come back.
    """

    actor: str
    instance: str | None
    version: int
    session: float
    rebalance: float
    offers: tuple[Offer, ...]
    protocol_type: str = "consumer"
    connections: int = 1
    has_left: bool = False


@dataclass(slots=True)
class Plan:
    """One script's figures.

    Args:
        parts: the actors.
        length: how many steps.
        care: how likely members keep their sessions and deadlines, 0 to 1.
        mischief: how likely a request names something wrong, 0 to 1.
        pauses: how likely a step waits for a timer to run out first, 0 to 1.
        marks: how many subscriptions have been made so far.
    """

    parts: list[Part]
    length: int
    care: float
    mischief: float
    pauses: float
    marks: int = field(default=0)

    def mark(self) -> int:
        """Return the number of a new subscription."""
        self.marks += 1
        return self.marks


def draw_plan(dice: Random) -> Plan:
    """Draw the figures of a script."""
    plan = Plan(
        parts=[],
        length=dice.randint(12, 34),
        care=dice.choice((0.0, 0.6, 0.9, 0.97, 1.0, 1.0)),
        mischief=dice.choice((0.0, 0.05, 0.1, 0.25)),
        pauses=dice.choice((0.0, 0.03, 0.06, 0.15)),
    )
    count = dice.choices((1, 2, 3, 4, 5), (1, 4, 4, 2, 1))[0]
    statics = dice.choice((0.0, 0.0, 0.5, 1.0))
    names = dice.choice(_LISTS)
    # No two time-outs are equal: what two timers do at one instant, nobody can foretell.
    sessions, rebalances = dice.sample(SESSIONS, count), dice.sample(REBALANCES, count)
    for actor, session, rebalance in zip("ABCDE", sessions, rebalances, strict=False):
        is_static = dice.random() < statics
        if dice.random() < 0.1:
            names = dice.choice(_LISTS)
        plan.parts.append(
            Part(
                actor=actor,
                instance=f"i{actor}" if is_static else None,
                version=dice.randint(5, 9) if is_static else dice.choice((2, 3, 4, 5, 6, 7, 8, 9)),
                session=session,
                rebalance=rebalance,
                offers=draw_offers(dice, plan, names),
            )
        )
    if dice.random() < 0.06:
        plan.parts[-1].protocol_type = "connect"
    return plan


def draw_offers(
    dice: Random, plan: Plan, names: tuple[str, ...] | None = None
) -> tuple[Offer, ...]:
    """Draw a list of assignors, each with a subscription that has not been before."""
    chosen = names or tuple(dice.sample(_NAMES, dice.randint(1, 3)))
    topics = dice.choice((TOPICS[:1], TOPICS[:1], TOPICS))
    mark = plan.mark()
    fault = dice.choice(("empty", "cut", "count")) if dice.random() < 0.008 else ""
    return tuple(Offer(name, topics, mark, fault) for name in chosen)
