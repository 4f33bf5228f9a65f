"""Small worlds searched whole, one after the other, and what each search found.

Decides: which worlds, and up to how many states. `python -m benchmarks.exhaustive` searches all,
with `--at-once 2` two at a time; each result is saved to `benchmarks/results/exhaustive.json` as
soon as it is there, in the place of an older one of the same world.
Never: searches in another way than `python -m tests.search.exhaustive` does.
"""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Final

from benchmarks.machine import environment
from tests.search.simulation.campaign_ledger import commit

RESULT: Final = Path(__file__).parent / "results" / "exhaustive.json"
MODES: Final = ("eager", "cooperative", "static")
FEWER_KINDS: Final = "cut,kill,resign,move"
STOPPED: Final = 130
"""Exit code of a search that was interrupted: its figures are kept, as not complete."""
STATES: Final = 20_000_000
"""Each takes 300 bytes; besides, a large world has a gigabyte of processes and their moves."""

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


def searched(options: tuple[str, ...], states: int, *, loud: bool) -> dict[str, Any]:
    """Search one world in a process of its own, which tells how far it is when it is loud."""
    command = [sys.executable, "-m", "tests.search.exhaustive", *options]
    begun = commit()  # of what is searched; the checkout may move on meanwhile
    ended = subprocess.run(
        [*command, "--states", str(states), "--json"],
        stdout=subprocess.PIPE,
        stderr=None if loud else subprocess.PIPE,
        check=False,
        text=True,
    )
    if ended.returncode not in (0, 1, STOPPED):
        sys.exit(ended.returncode)
    if ended.returncode == 1 and not loud:
        sys.stderr.write(ended.stderr[ended.stderr.rindex("\r") :])
    figures: dict[str, Any] = json.loads(ended.stdout)
    return figures | {"limit": states, "commit": begun, "machine": environment()}


def main() -> None:
    """Search the worlds that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("worlds", nargs="*", help=f"parts of their names; {', '.join(WORLDS)}")
    parser.add_argument("--states", type=int, default=STATES, help="of each world, at most")
    parser.add_argument("--at-once", type=int, default=1, help="searches")
    options = parser.parse_args()
    wanted = [
        name
        for name in WORLDS
        if not options.worlds or any(part in name for part in options.worlds)
    ]
    loud = options.at_once == 1
    with ThreadPoolExecutor(options.at_once) as pool:
        running = {
            pool.submit(searched, WORLDS[name], options.states, loud=loud): name for name in wanted
        }
        for done in as_completed(running):
            figures = done.result()
            save(running[done], figures)
            end = "complete" if figures["complete"] else "not complete"
            sys.stderr.write(f"{running[done]}: {end}, {figures['states']} states\n")


def save(name: str, figures: dict[str, Any]) -> None:
    """Put the figures of one world in the place of older ones."""
    known = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    known[name] = figures
    ordered = {each: known[each] for each in (*WORLDS, *sorted(known)) if each in known}
    RESULT.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
