"""What a processor tells: each thing that did not go as usual, as a value.

Decides: the kinds, and which of them are warnings in the log.
Never: holds a key or a value of a record.
"""

import logging
from collections.abc import Callable
from typing import Final, TypeAlias

from kgroup.processing.verdicts import cause_of
from kgroup.types import Generation, TopicPartition
from kgroup.values import dataclass
from kgroup.words import Word

log = logging.getLogger(__name__)


class ReportKind(Word):
    """What happened to records."""

    FAILED = "the handler raised, or was too slow"
    LATE = "the handler returned after its partition was lost; not committed"
    SKIPPED = "nobody knows whether the commit was stored; not handled"
    REQUEUED = "written to the end of its partition"
    DEAD_LETTERED = "written to the topic of dead letters"
    STOPPED = "its partition is stopped: what had to be written could not be"
    FENCED = "the store, or a lock, refused the write: somebody else came later"
    UNLOCKED = "its partition waits: a lock is not to be had, or its service is down"
    REPEATED = "processed before, says the store; skipped and committed"
    STEPPED_BACK = "this member leaves its partition to others for a while"
    NOT_COMMITTED = "done, and its commit was refused or not answered"


@dataclass(frozen=True, slots=True)
class Report:
    """One thing that happened.

    Args:
        kind: what.
        tp: the partition.
        first: offset of the first record it is about.
        next_offset: first offset that it is not about.
        token: the identity under which the records were handed out.
        error: why, None without an error.
        attempt: how often the handler had it, 0 where that does not matter.
    """

    kind: ReportKind
    tp: TopicPartition
    first: int
    next_offset: int
    token: Generation | None = None
    error: BaseException | None = None
    attempt: int = 0

    def __str__(self) -> str:
        why = "" if self.error is None else f" ({cause_of(self.error)})"
        return f"{self.tp} {self.first}..{self.next_offset - 1}: {self.kind.value}{why}"


Hears: TypeAlias = Callable[[Report], None]
"""Takes reports, one by one; it must not wait."""

_QUIET: Final = frozenset({ReportKind.REPEATED, ReportKind.FAILED})
"""Kinds of which there may be one for each record."""


class Reports:
    """Hands reports on, and logs them."""

    __slots__ = ("hears",)

    def __init__(self) -> None:
        self.hears: list[Hears] = []

    def tell(self, report: Report) -> None:
        """Tell everybody who hears."""
        level = logging.DEBUG if report.kind in _QUIET else logging.WARNING
        if report.kind is ReportKind.STOPPED:
            level = logging.ERROR
        log.log(level, "%s", report)
        for hear in self.hears:
            hear(report)
