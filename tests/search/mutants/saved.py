"""The schedules that found the planted bugs, kept with every choice that was made in them.

Decides: the form of `saved.json`: for each bug the seed, the oracles that found it, and the picks
as site -> {index: value}. Bugs of the log model and of rooms of members have a seed and no picks.
Never: hunts. A bug that its saved schedule does not find any more is printed as MISSED.
"""

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.search.mutants.hunting import replay
from tests.search.mutants.mutant import Mutant

__all__ = ["SAVED", "picks_of", "replay_saved", "saved_schedules"]

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
