"""What a planted mutant is.

Decides: how one names the source it changes, and what is to find it.
Never: changes a file.
"""

from dataclasses import dataclass
from enum import Enum

from tests.search.simulation.schedule import Level, Mode


class Stage(Enum):
    """What is played to find a mutant."""

    GROUPS = "groups"
    LOGS = "log model"
    ROOMS = "rooms of members"


@dataclass(frozen=True, slots=True)
class Change:
    """One place of a module.

    Args:
        old: whole lines as they stand, or a part of one; occurs exactly once.
        new: what stands there instead.
    """

    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One fault.

    Args:
        name: what is wrong, as a sentence; unlike any other's.
        module: dotted name of the module that is changed.
        changes: its places, at least one.
        rule: id of the promise that is broken, as in the catalogue of properties; or `crash`, or
            `warning` for one of Python's.
        mode: groups in which it shows.
        level: A, unless the fault is in code that takes no part in level A.
        plan: name of the written plan that is played instead of drawn ones; "" for drawn ones.
        first: seed of the first schedule that a hunt plays: of those before it only the plans were
            looked at, and none was found in which the mutant could show.
        stage: groups, which have a level, a mode and a plan; or logs of claims, or whole members
            over such a log, which have none.
        eludes: why simulation has not found it so far; empty when it has.
    """

    name: str
    module: str
    changes: tuple[Change, ...]
    rule: str
    mode: Mode = Mode.MIXED
    level: Level = Level.A
    plan: str = ""
    first: int = 0
    stage: Stage = Stage.GROUPS
    eludes: str = ""

    @property
    def place(self) -> str:
        """Where it is looked for: a level of simulated groups, logs of claims, or rooms."""
        return self.level.value if self.stage is Stage.GROUPS else self.stage.value
