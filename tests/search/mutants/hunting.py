"""Finding a planted bug: by schedules that are played until one finds it, or by its saved one.

Decides: what counts as killed: a schedule breaks a promise with the bug, and the same schedule
breaks none without it; the form of `saved.json`: for each bug the seed, the oracles that found it,
and the picks as site -> {index: value}. Bugs of the log model and of rooms have no picks.
Never: plays anything in this process. A bug that its saved schedule misses is printed as MISSED.
"""

import json
import subprocess
import sys
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.search.mutants.child import CRASH
from tests.search.mutants.mutant import Mutant

FOREVER: Final = 1e9
"""Seconds."""

_ROOT = Path(__file__).parents[3]


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
        first: seed of the first of them.
        seconds: that they took.
        noisy: schedules that broke a promise with the mutant and without it; they prove nothing.
        in_use: whether the changed module took part in them; False when none was played.
    """

    mutant: Mutant
    seed: int | None
    rules: tuple[str, ...]
    oracles: tuple[str, ...]
    words: str
    played: int
    seconds: float
    first: int = 0
    noisy: int = 0
    in_use: bool = False

    @property
    def killed(self) -> bool:
        """Whether simulation finds the mutant."""
        return self.seed is not None

    @property
    def needed(self) -> int:
        """Schedules from seed 0 on until it was found, or given up."""
        return self.first + self.played


def hunt(
    mutant: Mutant,
    schedules: int,
    *,
    without: Collection[str] = (),
    only: str = "",
    first: int | None = None,
    seconds: float = FOREVER,
) -> Finding:
    """Play schedules until one finds a mutant.

    Args:
        mutant: which.
        schedules: how many at most.
        without: names of oracles that are switched off.
        only: name of the one oracle that is asked, "" for all.
        first: seed of the first; None for what the mutant says, and then those before it count.
        seconds: after which no other schedule begins.
    """
    played, spent, noisy, in_use = 0, 0.0, 0, False
    begin = mutant.first if first is None else first
    end = schedules if first is None else first + schedules
    order = {**_order(mutant, without, only), "seconds": seconds}
    while begin + played < end:
        ran = _mutated(mutant, order, range(begin + played, end))
        played, spent = played + ran["played"], spent + ran["seconds"]
        in_use = ran["loaded"]
        if not ran["found"]:
            break
        found = ran["found"][0]
        if not _is_noisy(order, found["seed"]):
            rules, oracles, words = tuple(found["rules"]), tuple(found["oracles"]), found["words"]
            return Finding(
                *(mutant, found["seed"], rules, oracles, words, played, spent),
                *(begin, noisy, in_use),
            )
        noisy += 1
    return Finding(mutant, None, (), (), "", played, spent, begin, noisy, in_use)


def replay(mutant: Mutant, seed: int, picks: Sequence[Sequence[str | int]] | None) -> list[str]:
    """Play one saved schedule with a mutant; return the names of the oracles that find it.

    Args:
        mutant: which.
        seed: of the schedule; it counts only where there are no picks.
        picks: every choice (site, index, value) that is not 0; None for logs and rooms.
    """
    ran = _mutated(mutant, {**_order(mutant, ()), "picks": picks}, [seed])
    return list(ran["found"][0]["oracles"]) if ran["found"] else []


def _mutated(mutant: Mutant, order: dict[str, Any], seeds: Sequence[int]) -> dict[str, Any]:
    ran = _child({**order, "module": mutant.module, "seeds": list(seeds)})
    if not ran["loaded"]:
        level = mutant.level.value
        raise RuntimeError(f"{mutant.module} takes no part at level {level}: {mutant.name}")
    return ran


def _is_noisy(order: dict[str, Any], seed: int) -> bool:
    """Tell whether a schedule breaks a promise without the mutant, too.

    Raises:
        RuntimeError: the product itself cries out; it would do so in each schedule that follows.
    """
    found = _child({**order, "module": None, "seeds": [seed]})["found"]
    if found and CRASH in found[0]["rules"]:
        raise RuntimeError(f"seed {seed} without any mutant: {found[0]['words']}")
    return bool(found)


def _order(mutant: Mutant, without: Collection[str], only: str = "") -> dict[str, Any]:
    return {
        "changes": [(change.old, change.new) for change in mutant.changes],
        "level": mutant.level.value,
        "mode": mutant.mode.value,
        "plan": mutant.plan,
        "stage": mutant.stage.value,
        "without": sorted(without),
        "only": only,
        "seconds": FOREVER,
    }


def _child(order: dict[str, Any]) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.search.mutants.child"],
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


# -- saved -----------------------------------------------------------------------------------------


SAVED = Path(__file__).parent / "saved.json"


def saved_schedules() -> dict[str, dict[str, Any]]:
    """Return name of a mutant -> `seed`, `oracles`, `picks` (None without any)."""
    schedules: dict[str, dict[str, Any]] = json.loads(SAVED.read_text(encoding="utf-8"))
    return schedules


def picks_of(saved: dict[str, Any]) -> list[tuple[str, int, int]] | None:
    """Return the picks of a saved schedule as (site, index, value)."""
    if saved["picks"] is None:
        return None
    sites = saved["picks"].items()
    return [(site, int(index), value) for site, asked in sites for index, value in asked.items()]


def replay_saved(mutants: Sequence[Mutant], processes: int) -> int:
    """Replay the saved schedule of each mutant and say what found it.

    Returns:
        The exit status: 1 when a mutant is not found any more.
    """
    schedules = saved_schedules()

    def one(mutant: Mutant) -> bool:
        saved = schedules[mutant.name]
        found = replay(mutant, saved["seed"], picks_of(saved))
        before = saved["oracles"]
        other = "" if found == before else f" (when it was saved: {', '.join(before)})"
        verdict = (
            f"found   {mutant.name}: {', '.join(found)}" if found else f"MISSED  {mutant.name}"
        )
        sys.stderr.write(f"{verdict}{other}\n")
        return bool(found)

    with ThreadPoolExecutor(processes) as pool:
        found = list(pool.map(one, mutants))
    sys.stderr.write(f"{sum(found)} of {len(found)} mutants found by their saved schedules\n")
    return 0 if all(found) else 1
