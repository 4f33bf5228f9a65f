"""How many groups a second are simulated on one core: `python -m benchmarks.simulation`.

Each level plays the same seeds, one after the other in one process, several times in turns with the
others. What is counted is processor time; that no promise is broken comes before any figure. What
the share of the search in each whole test run costs is reckoned from that, and from a sample of
each fuzz target and of Hypothesis' rules.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from rich.console import Console

from benchmarks.machine import environment
from tests.search.fuzz.loop import run
from tests.search.fuzz.targets import TARGETS
from tests.search.fuzz.test_fuzz import INPUTS as TARGET_INPUTS
from tests.search.fuzz.test_fuzz import SEED
from tests.search.simulation.campaign_ledger import commit
from tests.search.simulation.outcome import Outcome
from tests.search.simulation.play import play
from tests.search.simulation.schedule import Level, Mode, Schedule
from tests.search.simulation.share import SHARES
from tests.search.simulation.stateful.hunting import EXAMPLES as STATEFUL_EXAMPLES
from tests.search.simulation.stateful.hunting import hunt
from tests.search.simulation.stateful.machine import GroupMachine

RESULT: Final = Path(__file__).parent / "results" / "simulation.json"
ROUNDS: Final = 3
CORES: Final = 2
MINUTES: Final = 8.0
"""In which the share of each whole test run is to end."""
INPUTS: Final = 1_000
EXAMPLES: Final = 20


@dataclass(frozen=True, slots=True)
class Entry:
    """What is measured.

    Args:
        name: as the result calls it.
        level: of the schedules.
        backend: of level B.
        runs: in one round.
        goal: runs a second that are aimed at, None without an aim.
    """

    name: str
    level: Level
    backend: str
    runs: int
    goal: float | None


ENTRIES: Final = (
    Entry("A", Level.A, "asyncio", 200, 300.0),
    Entry("A'", Level.A_BYTES, "asyncio", 100, None),
    Entry("B on asyncio", Level.B, "asyncio", 20, 50.0),
    Entry("B on trio", Level.B, "trio", 20, 50.0),
)


def one_round(entry: Entry, first: int, runs: int) -> tuple[float, list[Outcome]]:
    """Play seeds; return the processor time and what came of them."""
    schedules = [
        Schedule(entry.level, Mode.MIXED, seed, backend=entry.backend)
        for seed in range(first, first + runs)
    ]
    began = time.process_time()
    outcomes = [play(each) for each in schedules]
    return time.process_time() - began, outcomes


def measured(first: int, share: float, console: Console) -> dict[str, Any]:
    """Measure all entries in turns."""
    seconds: dict[str, list[float]] = {entry.name: [] for entry in ENTRIES}
    sizes: dict[str, dict[str, float]] = {}
    for number in range(ROUNDS):
        for entry in ENTRIES:
            runs = max(2, int(entry.runs * share))
            took, outcomes = one_round(entry, first, runs)
            broken = [str(each.schedule) for each in outcomes if each.violations]
            if broken:
                raise SystemExit(f"level {entry.name}: promises are broken: {broken}")
            seconds[entry.name].append(took / runs)
            sizes[entry.name] = _sizes(outcomes)
            console.print(f"round {number + 1}: {entry.name}: {runs / took:.1f} runs/s")
    return {
        entry.name: _figures(entry, seconds[entry.name], sizes[entry.name]) for entry in ENTRIES
    }


def _sizes(outcomes: Sequence[Outcome]) -> dict[str, float]:
    count = len(outcomes)
    return {
        "members": sum(len(each.plan.members) for each in outcomes) / count,
        "virtual seconds": sum(each.seconds for each in outcomes) / count,
        "events": sum(each.events for each in outcomes) / count,
        "perturbations": sum(len(each.plan.perturbations) for each in outcomes) / count,
    }


def _figures(entry: Entry, seconds: Sequence[float], sizes: dict[str, float]) -> dict[str, Any]:
    rate = 1 / median(seconds)
    return {
        "runs per second": round(rate, 1),
        "goal": entry.goal,
        "reached": None if entry.goal is None else rate >= entry.goal,
        "a run has": {name: round(value, 1) for name, value in sizes.items()},
        "seconds per run": [round(each, 5) for each in seconds],
    }


# -- the share of each whole test run ----------------------------------------------------------


def sampled(share: float) -> dict[str, float]:
    """Return the processor seconds of all that the share has besides groups, from samples."""
    seconds: dict[str, float] = {}
    for name, target in TARGETS.items():
        inputs = max(10, int(INPUTS * share / target.costs))
        score = run(target, inputs, SEED, bred=True)
        if score.kinds:
            raise SystemExit(f"target {name}: promises are broken: {dict(score.kinds)}")
        seconds[f"target {name}"] = score.processor / inputs * TARGET_INPUTS
    examples = max(2, int(EXAMPLES * share))
    began = time.process_time()
    hunt(GroupMachine, examples, chance=1, shrinks=False)
    seconds["Hypothesis' rules"] = (time.process_time() - began) / examples * STATEFUL_EXAMPLES
    return seconds


def share_of(figures: Mapping[str, Any], others: Mapping[str, float]) -> dict[str, Any]:
    """Return what the share costs.

    Args:
        figures: of each entry.
        others: part of it that is no group -> processor seconds.
    """
    seconds: dict[str, float] = {}
    for part in SHARES:
        name = f"B on {part.backend}" if part.level is Level.B else part.level.value
        seconds[f"level {part}"] = part.schedules / figures[name]["runs per second"]
    seconds |= others
    minutes = sum(seconds.values()) / CORES / 60
    return {
        "processor seconds": {name: round(each, 1) for name, each in seconds.items()},
        "minutes on two cores": round(minutes, 1),
        "goal": MINUTES,
        "reached": minutes <= MINUTES,
    }


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument("--share", type=float, default=1.0, help="of the runs; 0.1 for a look")
    parser.add_argument("--json", action="store_true", help="to the standard output, keep nothing")
    wanted = parser.parse_args(arguments)
    begun = commit()  # of what is imported by now; the checkout may move on meanwhile
    figures = measured(wanted.seed, wanted.share, Console(stderr=True))
    document = {
        "environment": environment("anyio", "kgroup", "trio"),
        "commit": begun,
        "seed": wanted.seed,
        "unit": "seconds of processor time on one core",
        "figures": figures,
        "share of each whole test run": share_of(figures, sampled(wanted.share)),
    }
    text = f"{json.dumps(document, indent=1)}\n"
    if wanted.json:
        sys.stdout.write(text)
    else:
        RESULT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
