"""Finding a mutant: a child process plays schedules with it, another plays the same one without.

Decides: what counts as killed: a schedule breaks a promise with the mutant, and the same schedule
breaks none without it.
Never: plays anything in this process.
"""

import json
import subprocess
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutants.mutant import Mutant

__all__ = ["Finding", "hunt", "survey"]

_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one mutant.

    Args:
        mutant: which.
        seed: of the schedule that found it, None when it has survived.
        rules: ids of the promises that schedule broke, the first one first.
        oracles: names of those that found them.
        words: of the first.
        played: schedules until then.
        seconds: that they took.
        noisy: schedules that broke a promise with the mutant and without it; they prove nothing.
    """

    mutant: Mutant
    seed: int | None
    rules: tuple[str, ...]
    oracles: tuple[str, ...]
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
        seeds = range(first + played, first + schedules)
        ran = _mutated(mutant, seeds, without, whole=False)
        played, seconds = played + ran["played"], seconds + ran["seconds"]
        found = ran["found"][0] if ran["found"] else None
        if found is not None and _is_noisy(mutant, found["seed"], without):
            noisy, found = noisy + 1, None
            if played < schedules:
                continue
        if found is None:
            return Finding(mutant, None, (), (), "", played, seconds, noisy)
        rules, oracles = tuple(found["rules"]), tuple(found["oracles"])
        return Finding(
            mutant, found["seed"], rules, oracles, found["words"], played, seconds, noisy
        )


def survey(
    mutant: Mutant, seeds: Sequence[int], *, without: Collection[str] = ()
) -> dict[int, tuple[str, ...]]:
    """Play all of some schedules; return for each that finds a mutant the oracles that did."""
    ran = _mutated(mutant, seeds, without, whole=True)
    return {
        found["seed"]: tuple(found["oracles"])
        for found in ran["found"]
        if not _is_noisy(mutant, found["seed"], without)
    }


def _mutated(
    mutant: Mutant, seeds: Sequence[int], without: Collection[str], *, whole: bool
) -> dict[str, Any]:
    order = {**_order(mutant, seeds, without), "module": mutant.module, "all": whole}
    ran = _child(order)
    if not ran["loaded"]:
        level = mutant.level.value
        raise RuntimeError(f"{mutant.module} takes no part at level {level}: {mutant.name}")
    return ran


def _is_noisy(mutant: Mutant, seed: int, without: Collection[str]) -> bool:
    """Tell whether a schedule breaks a promise without the mutant, too."""
    order = {**_order(mutant, (seed,), without), "module": None, "all": False}
    return bool(_child(order)["found"])


def _order(mutant: Mutant, seeds: Sequence[int], without: Collection[str]) -> dict[str, Any]:
    return {
        "changes": [(change.old, change.new) for change in mutant.changes],
        "level": mutant.level.value,
        "mode": mutant.mode.value,
        "seeds": list(seeds),
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
