"""What names one run (level, mode, and a seed or the picks themselves), and what came of it.

Decides: the JSON form in which a failure is kept.
Never: runs or judges anything.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from kgroup.audit.oracles import Violation
from kgroup.errors import ArgumentError
from kgroup.journal import Entry
from kgroup.membership.step import MemberRow
from kgroup.membership.triggers import Trigger
from kgroup.types import MemberState
from tests.search.simulation.choices import Choices, Pick
from tests.search.simulation.plan import Kind, Plan


class Level(Enum):
    """How much of the real thing takes part."""

    A = "A"
    """The membership machine and the broker's core exchange objects."""
    A_BYTES = "A'"
    """The same, each message encoded and decoded."""
    B = "B"
    """The whole consumer over memory streams, in virtual time."""
    C = "C"
    """The whole consumer over loopback sockets, in real time."""


class Mode(Enum):
    """Which groups are drawn."""

    MIXED = "mixed"
    EAGER = "eager"
    COOPERATIVE = "cooperative"
    STATIC = "static"
    HOSTILE = "hostile"
    """Mixed, with ambushes; at levels A and A' only."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """One run.

    Args:
        level: how much of the real thing takes part.
        mode: which groups are drawn.
        seed: of the chance; with `picks`, of nothing any more, kept as a name.
        picks: every choice that is not 0; None = drawn from the seed.
        backend: "asyncio" or "trio", for levels B and C.

    Raises:
        ArgumentError: there are no such groups at that level.
    """

    level: Level
    mode: Mode = Mode.MIXED
    seed: int = 0
    picks: tuple[Pick, ...] | None = None
    backend: str = "asyncio"

    def __post_init__(self) -> None:
        if self.mode is Mode.HOSTILE and self.level in (Level.B, Level.C):
            expected = "another mode, or level A or A': ambushes are laid for machines"
            raise ArgumentError("mode", self.mode.value, expected)

    def choices(self) -> Choices:
        """Return fresh chance for one run."""
        if self.picks is not None:
            return Choices.replayed(self.picks)
        return Choices.drawn(self.seed)

    def with_picks(self, picks: Iterable[Pick]) -> "Schedule":
        """Return the same with other picks, and nothing left to be drawn."""
        return replace(self, picks=tuple(picks))

    def __str__(self) -> str:
        what = f"seed {self.seed}" if self.picks is None else f"{len(self.picks)} picks"
        return f"level {self.level.value}, {self.mode.value}, {what}"

    # -- files -----------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "level": self.level.value,
            "mode": self.mode.value,
            "seed": self.seed,
            "backend": self.backend,
            "picks": _plain(self.picks),
        }

    @staticmethod
    def from_json(values: dict[str, Any]) -> "Schedule":
        """Read what `to_json` made.

        Raises:
            ArgumentError: it is something else.
        """
        try:
            return Schedule(
                Level(values["level"]),
                Mode(values["mode"]),
                int(values["seed"]),
                _picks(values["picks"]),
                str(values["backend"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            expected = "a schedule as `make search` saves it"
            raise ArgumentError("schedule", values, expected) from error

    def save(self, path: Path) -> None:
        """Write it to a file."""
        path.write_text(f"{json.dumps(self.to_json(), indent=1)}\n", encoding="utf-8")

    @staticmethod
    def load(path: Path) -> "Schedule":
        """Read it from a file.

        Raises:
            ArgumentError: the file holds something else.
            OSError: it cannot be read.
        """
        text = path.read_text(encoding="utf-8")
        try:
            values = json.loads(text)
        except json.JSONDecodeError as error:
            expected = "a schedule as `make search` saves it"
            raise ArgumentError("path", str(path), expected) from error
        return Schedule.from_json(values)


def _plain(picks: tuple[Pick, ...] | None) -> list[list[str | int]] | None:
    return None if picks is None else [[each.site, each.index, each.value] for each in picks]


def _picks(plain: list[tuple[str, int, int]] | None) -> tuple[Pick, ...] | None:
    if plain is None:
        return None
    return tuple(Pick(str(site), int(index), int(value)) for site, index, value in plain)


# -- outcome ---------------------------------------------------------------------------------------


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
        skipped: perturbations that had no target -> how often (levels B, C).
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
