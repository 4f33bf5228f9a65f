"""Finding a mutant: a child process plays schedules with it, another plays the same one without.

Decides: what counts as killed: a schedule breaks a promise with the mutant, and the same schedule
breaks none without it.
Never: plays anything in this process.
"""

import json
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutants.mutant import Mutant

__all__ = ["Finding", "hunt"]

_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one mutant.

    Args:
        mutant: which.
        seed: of the schedule that found it, None when it has survived.
        rules: ids of the promises that schedule broke, the first one first.
        words: of the first.
        played: schedules until then.
        seconds: that they took.
        noisy: schedules that broke a promise with the mutant and without it; they prove nothing.
    """

    mutant: Mutant
    seed: int | None
    rules: tuple[str, ...]
    words: str
    played: int
    seconds: float
    noisy: int = 0

    @property
    def killed(self) -> bool:
        """Whether simulation finds the mutant."""
        return self.seed is not None


def hunt(
    mutant: Mutant, schedules: int, *, without: Collection[str] = (), first: int = 0
) -> Finding:
    """Play schedules until one finds a mutant.

    Args:
        mutant: which.
        schedules: how many at most.
        without: names of oracles that are switched off.
        first: seed of the first.
    """
    played, seconds, noisy = 0, 0.0, 0
    while True:
        order = _order(mutant, first + played, schedules - played, without)
        found = _child({**order, "module": mutant.module})
        played, seconds = played + found["played"], seconds + found["seconds"]
        if not found["loaded"]:
            raise RuntimeError(
                f"{mutant.module} takes no part at level {mutant.level.value}: {mutant.name}"
            )
        seed, rules = found["seed"], tuple(found["rules"])
        if seed is None or not _is_noisy({**order, "first": seed}):
            return Finding(mutant, seed, rules, found["words"], played, seconds, noisy)
        noisy += 1
        if played >= schedules:
            return Finding(mutant, None, (), "", played, seconds, noisy)


def _is_noisy(order: dict[str, Any]) -> bool:
    """Tell whether a schedule breaks a promise without the mutant, too."""
    control = _child({**order, "module": None, "schedules": 1})
    return control["seed"] is not None


def _order(mutant: Mutant, first: int, schedules: int, without: Collection[str]) -> dict[str, Any]:
    return {
        "changes": [(change.old, change.new) for change in mutant.changes],
        "level": mutant.level.value,
        "mode": mutant.mode.value,
        "backend": "asyncio",
        "first": first,
        "schedules": schedules,
        "without": sorted(without),
    }


def _child(order: dict[str, Any]) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.mutants.child"],
        input=json.dumps(order),
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise RuntimeError(f"a child process failed: {ran.stderr.strip()[-2000:]}")
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer
