"""What came of one run.

Decides: the values a run leaves.
Never: judges; oracles do.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kgroup.audit.oracles import Violation
from kgroup.journal import Entry
from kgroup.membership.step import MemberRow
from kgroup.membership.triggers import Trigger
from kgroup.types import MemberState
from tests.search.simulation.choices import Pick
from tests.search.simulation.perturbation import Kind
from tests.search.simulation.plan import Plan
from tests.search.simulation.schedule import Schedule

__all__ = ["Outcome"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one run.

    Args:
        schedule: the run.
        plan: what was drawn for it.
        picks: every choice that was not 0; `schedule.with_picks(picks)` is the same run.
        violations: broken promises, in order; empty is good.
        digest: of everything that happened; equal for equal runs.
        events: that the world went through (levels A, A') or the journal holds (B, C).
        seconds: virtual ones (real ones at level C).
        rows: of the membership table that fired -> how often.
        cells: (state, trigger) that were met though no row is there -> how often; those of rows
            may be left to `rows`.
        entries: the journal, when it was to be kept.
        skipped: perturbations that had nobody to strike -> how often (levels B, C).
    """

    schedule: Schedule
    plan: Plan
    picks: tuple[Pick, ...]
    violations: tuple[Violation, ...]
    digest: str
    events: int
    seconds: float
    rows: Mapping[MemberRow, int] = field(default_factory=dict)
    cells: Mapping[tuple[MemberState, Trigger], int] = field(default_factory=dict)
    entries: tuple[Entry, ...] = ()
    skipped: Mapping[Kind, int] = field(default_factory=dict)

    @property
    def rules(self) -> tuple[str, ...]:
        """Names of the rules that were broken, each once, in order."""
        return tuple(dict.fromkeys(each.rule for each in self.violations))
