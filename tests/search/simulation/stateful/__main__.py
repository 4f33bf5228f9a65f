"""`make search ARGS=stateful`: Hypothesis chooses runs of a group rule by rule.

    make search ARGS="stateful --examples 20000 --seed 7"

Ends with status 1 when a promise was broken, and tells the shortest rules found that do, and the
run they make as a sequence diagram. Without a seed the chance is new each time.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from secrets import randbelow

from tests.search.simulation.stateful.hunting import EXAMPLES, hunt
from tests.search.simulation.stateful.machine import GroupMachine


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make stateful", description=__doc__)
    parser.add_argument("--examples", type=int, default=EXAMPLES, help="how many runs at most")
    parser.add_argument("--seed", type=int, help="the same one gives the same runs")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    wanted = options(arguments)
    chance = randbelow(1 << 32) if wanted.seed is None else wanted.seed
    began = time.monotonic()
    try:
        hunt(GroupMachine, wanted.examples, chance=chance)
    except AssertionError as error:
        notes = getattr(error, "__notes__", ())
        sys.stderr.write("\n".join((str(error), *notes, f"seed {chance}", "")))
        return 1
    taken = time.monotonic() - began
    sys.stderr.write(
        f"{wanted.examples} runs of seed {chance} in {taken:.0f} s: nothing is broken\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
