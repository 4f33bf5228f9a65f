"""Ownership begins and ends, and the listener is told.

Decides: the edges by which periods of ownership are judged.
Never: speaks of records.
KIPs: 429.
"""

from dataclasses import dataclass
from typing import ClassVar

from kgroup.types import ChangeKind, Claim
from kgroup.words import Word

__all__ = [
    "CallbackStage",
    "CallbackStep",
    "OwnershipStep",
    "Phase",
]


class Phase(Word):
    """Which edge of something that takes time."""

    BEGIN = "begin"
    END = "end"


class CallbackStage(Word):
    """How far one listener callback has come."""

    ENTER = "enter"
    OVERDUE = "overdue"
    EXIT = "exit"
    RAISE = "raise"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnershipStep:
    """Claims begin or end: assigned, revoked or lost, with its two edges.

    Ownership begins at ASSIGNED END (the listener has returned) and ends at REVOKED END or
    LOST BEGIN; from REVOKED BEGIN on nothing is delivered. Without a listener both edges are
    emitted all the same.

    Args:
        kind: assigned, revoked or lost.
        phase: before or after the listener.
        claims: the periods that begin or end; kept ones are not listed.
        member_id: id of the member, None when it has none (a manual assignment).
        generation_id: generation at the time, None when it is already gone.
        cause: why, in words.
        serial: number of the change, rising within one member.
    """

    KIND: ClassVar[str] = "ownership"
    kind: ChangeKind
    phase: Phase
    claims: tuple[Claim, ...]
    member_id: str | None = None
    generation_id: int | None = None
    cause: str = ""
    serial: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackStep:
    """The application's listener was called, could not be cut off, returned or raised.

    Args:
        kind: which callback.
        stage: enter, exit or raise; overdue when it goes on although its time is over.
        serial: number of the change it belongs to.
        error: text of the exception, "" unless it raised.
    """

    KIND: ClassVar[str] = "callback"
    kind: ChangeKind
    stage: CallbackStage
    serial: int
    error: str = ""
