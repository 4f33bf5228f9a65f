"""Single findings, gathered into problems.

Decides: that the same wrong at the same partition is one problem, with a count and a few lines.
Never: drops a finding; a run that is broken a million times has few problems with large counts.
"""

from dataclasses import dataclass, replace
from typing import Final

from kgroup.audit.verdict import Problem, ProblemKind
from kgroup.journal import Entry
from kgroup.types import TopicPartition

__all__ = ["Finding", "Findings"]

_LINES: Final = 6


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Args:
        kind: what.
        text: what happened, with its numbers.
        entries: the entries that prove it.
        tp: the partition, None when it is about a log or a member.
        rule: id of the broken property, "" when the audit itself found it.
        count: records, or 1.
    """

    kind: ProblemKind
    text: str
    entries: tuple[Entry, ...] = ()
    tp: TopicPartition | None = None
    rule: str = ""
    count: int = 1


class Findings:
    """Gathers findings in order of first appearance."""

    __slots__ = ("_problems",)

    def __init__(self) -> None:
        self._problems: dict[tuple[ProblemKind, TopicPartition | None, str], Problem] = {}

    def add(self, finding: Finding, *, lines: tuple[str, ...] = ()) -> None:
        """Take one finding; `lines` are places that have no entry."""
        key = (finding.kind, finding.tp, finding.rule)
        lines = (*(entry.where or str(entry) for entry in finding.entries), *lines)
        known = self._problems.get(key)
        if known is None:
            self._problems[key] = Problem(
                kind=finding.kind,
                text=finding.text,
                tp=finding.tp,
                rule=finding.rule,
                count=finding.count,
                lines=tuple(dict.fromkeys(lines))[:_LINES],
            )
            return
        self._problems[key] = replace(
            known,
            count=known.count + finding.count,
            lines=tuple(dict.fromkeys((*known.lines, *lines)))[:_LINES],
        )

    def problems(self) -> tuple[Problem, ...]:
        """Return what was found, partitions in order within each kind."""
        order = {kind: number for number, kind in enumerate(ProblemKind)}
        nowhere = TopicPartition("", -1)
        return tuple(
            sorted(self._problems.values(), key=lambda p: (order[p.kind], p.tp or nowhere, p.rule))
        )
