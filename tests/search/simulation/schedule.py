"""What names one run: level, mode, and either a seed or the picks themselves.

Decides: the JSON form in which a failure is kept.
Never: runs anything.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from kgroup.errors import ArgumentError
from tests.search.simulation.choices import Choices, Pick

__all__ = ["Level", "Mode", "Schedule"]


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
