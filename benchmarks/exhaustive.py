"""Small worlds searched whole, one after the other, and what each search found.

Decides: which worlds, and up to how many states. `python -m benchmarks.exhaustive` searches all;
each result is saved to `benchmarks/results/exhaustive.json` as soon as it is there, in the place of
an older one of the same world.
Never: searches in another way than `python -m kgroup.testing.exhaustive` does.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from benchmarks.machine import environment
from kgroup.testing.simulation.campaign_ledger import commit

RESULT: Final = Path(__file__).parent / "results" / "exhaustive.json"
MODES: Final = ("eager", "cooperative", "static")
FEWER_KINDS: Final = "cut,kill,resign,move"
STATES: Final = 1_500_000

WORLDS: Final[dict[str, tuple[str, ...]]] = {
    **{f"{mode} 2x2x0": ("--mode", mode, "--faults", "0") for mode in MODES},
    **{
        f"{mode} 2x2x0, one closes": ("--mode", mode, "--faults", "0", "--closes", "1")
        for mode in MODES
    },
    **{f"{mode} 2x2x1, every kind": ("--mode", mode, "--faults", "1") for mode in MODES},
    **{
        f"{mode} 2x2x2, {FEWER_KINDS}, prompt": (
            *("--mode", mode, "--faults", "2"),
            *("--kinds", FEWER_KINDS, "--patience", "0"),
        )
        for mode in MODES
    },
    **{
        f"{mode} 3x2x1, {FEWER_KINDS}, prompt": (
            *("--mode", mode, "--members", "3", "--faults", "1"),
            *("--kinds", FEWER_KINDS, "--patience", "0"),
        )
        for mode in MODES
    },
}


def searched(options: tuple[str, ...], states: int) -> dict[str, Any]:
    """Search one world in a process of its own."""
    command = [sys.executable, "-m", "kgroup.testing.exhaustive", *options]
    ended = subprocess.run(
        [*command, "--states", str(states), "--json"],
        stdout=subprocess.PIPE,
        check=False,
        text=True,
    )
    if ended.returncode not in (0, 1):
        sys.exit(ended.returncode)
    figures: dict[str, Any] = json.loads(ended.stdout)
    return figures | {"limit": states, "commit": commit(), "machine": environment()}


def main() -> None:
    """Search the worlds that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("worlds", nargs="*", help=f"parts of their names; {', '.join(WORLDS)}")
    parser.add_argument("--states", type=int, default=STATES, help="of each world, at most")
    options = parser.parse_args()
    for name, arguments in WORLDS.items():
        if options.worlds and not any(part in name for part in options.worlds):
            continue
        sys.stderr.write(f"{name}\n")
        figures = searched(arguments, options.states)
        known = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
        known[name] = figures
        ordered = {each: known[each] for each in (*WORLDS, *sorted(known)) if each in known}
        RESULT.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
