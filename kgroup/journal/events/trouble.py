"""Faults made on purpose, and events this version does not know.

Decides: what a fault run leaves in the log.
Never: counts as something a member promised.
"""

from dataclasses import dataclass
from typing import ClassVar

from kgroup.journal.events.ownership import Phase

__all__ = [
    "FaultStep",
    "UnknownEvent",
]


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
