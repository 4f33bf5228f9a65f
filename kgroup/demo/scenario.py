"""What happens in the demo, and when: data, decided before anything is started.

Decides: which members there are, and the timed steps that disturb them.
Never: starts or ends anything.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

__all__ = ["Action", "MemberPlan", "Scenario", "Step", "plan_scenario"]


class Action(Enum):
    """What is done to a member."""

    ADD = "a member is added"
    KILL = "a member is killed (SIGKILL)"
    RESTART = "a static member is restarted"
    CLOSE = "a member is closed"


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """One member of the cast.

    Args:
        label: its name in views and logs; also its client id.
        instance: static identity (KIP-345), None for a dynamic member.
    """

    label: str
    instance: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One disturbance.

    Args:
        at: seconds after the group has settled.
        action: what is done.
        member: to whom.
    """

    at: float
    action: Action
    member: MemberPlan


@dataclass(frozen=True, slots=True)
class Scenario:
    """The whole run.

    Args:
        members: those it starts with, the last one static.
        steps: in order of time.
        seconds: how long the group works after it has settled.
    """

    members: tuple[MemberPlan, ...]
    steps: tuple[Step, ...]
    seconds: float


# When each step comes, as a share of the whole. The kill comes early: the others learn of it only
# when its session has run out.
_ADD: Final = 0.12
_KILL: Final = 0.27
_RESTART: Final = 0.62
_CLOSE: Final = 0.82


def plan_scenario(seconds: float, members: int) -> Scenario:
    """Return a run of the given length for a group of the given size.

    Args:
        seconds: how long the group works; positive.
        members: how many it starts with, at least 2: one is killed, the static one restarted.
    """
    dynamic = tuple(MemberPlan(f"m{number}") for number in range(1, members))
    static = MemberPlan("static", instance="demo-static-1")
    added = MemberPlan(f"m{members}")
    steps = (
        Step(seconds * _ADD, Action.ADD, added),
        Step(seconds * _KILL, Action.KILL, dynamic[0]),
        Step(seconds * _RESTART, Action.RESTART, static),
        Step(seconds * _CLOSE, Action.CLOSE, added),
    )
    return Scenario((*dynamic, static), steps, seconds)
