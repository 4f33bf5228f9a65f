"""Timers, faults made on purpose, and events this version does not know.

Decides: what a fault run and a stalled member leave in the log.
Never: counts as something a member promised.
"""

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from kgroup.journal.events.ownership import Phase

__all__ = [
    "FaultStep",
    "TimerStage",
    "TimerStep",
    "UnknownEvent",
]


class TimerStage(Enum):
    """Whether a timer was set or has gone off."""

    ARM = "arm"
    FIRE = "fire"


@dataclass(frozen=True, slots=True)
class TimerStep:
    """A timer of the machine was armed or fired.

    Args:
        stage: arm or fire.
        name: which timer, in the words of the table.
        due_at: monotonic seconds it is due at, None when it fired.
    """

    KIND: ClassVar[str] = "timer"
    stage: TimerStage
    name: str
    due_at: float | None = None


@dataclass(frozen=True, slots=True)
class FaultStep:
    """A fault run began or ended a fault.

    Args:
        phase: begin or end.
        fault: what it is, e.g. "SIGKILL".
        target: label of the member or broker it is done to, "" for all.
    """

    KIND: ClassVar[str] = "fault"
    phase: Phase
    fault: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class UnknownEvent:
    """An event of a later vocabulary, kept by name so that old readers can go on.

    Args:
        kind: its kind as written.
    """

    KIND: ClassVar[str] = "unknown"
    kind: str
