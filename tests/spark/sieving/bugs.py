"""What members logged in the schedules that found the planted bugs of `tests/search`.

`python -m tests.spark.sieving.bugs` is one process in which one bug lives: an order comes in as
JSON, the log of the run goes out.

Decides: that each saved schedule is played by itself; a bug that made the product cry out has
logged nothing.
Never: imports the product before the bug is in its place.
"""

import json
import logging
import re
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from tests.search.mutants import patching

FOLDER = Path(__file__).parent / "bugs_shown"
"""What members logged under the bugs that their event logs show; `record` wrote it."""


def file_name(bug: str) -> str:
    """Return the name of a bug as a name of a file."""
    return re.sub(r"\W+", "_", bug)


def logged(order: dict[str, Any]) -> list[str]:
    """Play one schedule and return what was logged, members and coordinator, in order.

    Args:
        order: `module`, `changes`, `level`, `mode`, `plan`, `seed`, and `picks` or None.
    """
    if order["module"] is not None:
        patching.install(order["module"], [(old, new) for old, new in order["changes"]])
    from kgroup.journal import encode_entry  # noqa: PLC0415 - see above
    from tests.search.mutants.plans import PLANS  # noqa: PLC0415
    from tests.search.simulation.choices import Pick  # noqa: PLC0415
    from tests.search.simulation.schedule import Level, Mode, Schedule  # noqa: PLC0415

    if order["level"] in (Level.A.value, Level.A_BYTES.value):
        from tests.search.simulation.world.run import play_objects as play  # noqa: PLC0415
    else:
        from tests.search.simulation.live.run import play_live as play  # noqa: PLC0415
    picks = None if order["picks"] is None else tuple(Pick(*each) for each in order["picks"])
    schedule = Schedule(Level(order["level"]), Mode(order["mode"]), order["seed"], picks)
    try:
        outcome = play(schedule, keep=True, plan=PLANS[order["plan"]] if order["plan"] else None)
    except Exception:  # noqa: BLE001 - whatever a fault makes the product raise
        return []
    return [encode_entry(entry) for entry in outcome.entries]


def histories(names: Collection[str] = ()) -> dict[str, list[str]]:
    """Return for each bug of a group, or for those with these names, what its run logged."""
    from tests.search.mutants.hunting import picks_of, saved_schedules  # noqa: PLC0415
    from tests.search.mutants.listed import MUTANTS  # noqa: PLC0415
    from tests.search.mutants.mutant import Stage  # noqa: PLC0415

    saved = saved_schedules()
    found = {}
    for mutant in MUTANTS:
        if mutant.stage is not Stage.GROUPS or (names and mutant.name not in names):
            continue
        order = {
            "module": mutant.module,
            "changes": [(change.old, change.new) for change in mutant.changes],
            "level": mutant.level.value,
            "mode": mutant.mode.value,
            "plan": mutant.plan,
            "seed": saved[mutant.name]["seed"],
            "picks": picks_of(saved[mutant.name]),
        }
        found[mutant.name] = _child(order)
    return found


def _child(order: dict[str, Any]) -> list[str]:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.spark.sieving.bugs"],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise RuntimeError(f"a child process failed: {ran.stderr.strip()[-2000:]}")
    return ran.stdout.splitlines()


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    sys.stdout.writelines(f"{line}\n" for line in logged(json.load(sys.stdin)))
