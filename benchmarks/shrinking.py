"""How small failures become, and how soon: `python -m benchmarks.shrinking [NAME...] [--every N]`.

Each planted mutant of level A is put in place in a process of its own, the first schedule that
finds it is made smaller, and what is left is counted. The aim: at most 40 picks within 60 seconds
for 95 of 100; these are the processor's seconds, which other work on the machine does not take. A
schedule that breaks a promise without the mutant, too, says nothing, and the next one is taken.
"""

import argparse
import json
import logging
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.machine import environment

if TYPE_CHECKING:
    from tests.search.mutants.mutant import Mutant

RESULT: Final = Path(__file__).parent / "results" / "shrinking.json"
ROOT: Final = Path(__file__).parents[1]
SEEDS: Final = 1_000
SECONDS: Final = 60.0
PICKS: Final = 40


# -- one process -------------------------------------------------------------------------------


def shrink_one(order: dict[str, Any]) -> dict[str, Any]:
    """Find a failure of one mutant and make it smaller; nothing of kgroup is imported before."""
    from tests.search.mutants import patching  # noqa: PLC0415

    if order["module"] is not None:
        patching.install(order["module"], [(old, new) for old, new in order["changes"]])
    from tests.search.simulation.play import play  # noqa: PLC0415
    from tests.search.simulation.schedule import Level, Mode, Schedule  # noqa: PLC0415
    from tests.search.simulation.shrinking import Budget, shrink  # noqa: PLC0415

    rule, tries = "", 0

    def fails(candidate: Schedule) -> Schedule | None:
        nonlocal tries
        tries += 1
        outcome = play(candidate)
        return candidate.with_picks(outcome.picks) if rule in outcome.rules else None

    for seed in order["seeds"]:
        outcome = play(Schedule(Level.A, Mode(order["mode"]), seed))
        if not outcome.rules:
            continue
        if order["module"] is None:
            return {"seed": seed}
        rule = outcome.rules[0]
        found = outcome.schedule.with_picks(outcome.picks)
        began_at = time.process_time()
        small = shrink(found, fails, budget=Budget(seconds=SECONDS), clock=time.process_time)
        return {
            "seed": seed,
            "rule": rule,
            "picks_before": len(outcome.picks),
            "picks": len(small.picks or ()),
            "seconds": round(time.process_time() - began_at, 1),
            "tries": tries,
        }
    return {}


def child(order: dict[str, Any]) -> dict[str, Any]:
    """Have a process of its own do it."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.shrinking", "--child"],
        input=json.dumps(order),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["?"])[-1]}
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


# -- all of them -------------------------------------------------------------------------------


def wanted_of(names: Sequence[str]) -> "list[Mutant]":
    """Return the mutants that drawn groups of level A find, of these names or all."""
    from tests.search.mutants.listed import MUTANTS  # noqa: PLC0415
    from tests.search.mutants.mutant import Stage  # noqa: PLC0415
    from tests.search.simulation.schedule import Level  # noqa: PLC0415 - as a child imports

    drawn = [each for each in MUTANTS if each.stage is Stage.GROUPS and not each.plan]
    named = [each for each in drawn if each.name in names or not names]
    return [each for each in named if each.level is Level.A]


def rows(names: Sequence[str], every: int) -> Iterator[dict[str, Any]]:
    """Yield what became of each mutant."""
    for mutant in wanted_of(names)[::every]:
        order = {
            "module": mutant.module,
            "changes": [(change.old, change.new) for change in mutant.changes],
            "mode": mutant.mode.value,
            "seeds": list(range(mutant.first, mutant.first + SEEDS)),
        }
        found = child(order)
        while "seed" in found and child({**order, "module": None, "seeds": [found["seed"]]}):
            rest = range(found["seed"] + 1, mutant.first + SEEDS)
            found = child({**order, "seeds": list(rest)})
        yield {"mutant": mutant.name, **found}


def main() -> None:
    """Measure, print, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--every", type=int, default=1, help="take every N-th mutant only")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        logging.disable(logging.CRITICAL)
        json.dump(shrink_one(json.load(sys.stdin)), sys.stdout)
        return
    from tests.search.simulation.campaign_ledger import commit  # noqa: PLC0415 - as above

    begun = commit()
    found = []
    for row in rows(asked.names, asked.every):
        print(json.dumps(row), flush=True)
        found.append(row)
    small = [row for row in found if row.get("picks", PICKS + 1) <= PICKS]
    shrunk = [row for row in found if "picks" in row]
    print(f"{len(small)} of {len(shrunk)} come down to {PICKS} picks or fewer")
    result = {
        "aim": {"picks": PICKS, "seconds": SECONDS, "share": 0.95},
        "small": len(small),
        "shrunk": len(shrunk),
        "rows": found,
        "commit": begun,
        "environment": environment("anyio"),
    }
    RESULT.write_text(f"{json.dumps(result, indent=1)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
