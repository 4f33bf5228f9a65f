"""`make search ARGS=campaign`: a million groups and ten million inputs, in several sittings.

    make search ARGS=campaign                                    # what was done so far
    make search ARGS="campaign A --mode eager --count 50000"    # the next 50,000 groups
    make search ARGS="campaign T2 --count 1000000 --minutes 20" # the next inputs

Each sitting goes on behind the last one of its kind, and is added to
`benchmarks/results/campaign.json`; Ctrl-C ends it with what was done. `make docs` puts the sums on
the page "How kgroup is tested". Ends with status 1 when a promise was broken.
"""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.search.campaign.groups import kind_of, sit_with_groups
from tests.search.campaign.inputs import sit_with_inputs
from tests.search.campaign.ledger import LEDGER, Ledger
from tests.search.campaign.sums import lines
from tests.search.fuzz.crashers import CRASHERS
from tests.search.fuzz.targets import TARGETS
from tests.search.simulation.campaign import Campaign
from tests.search.simulation.schedule import Level, Mode

_LEVELS: Final = tuple(level.value for level in Level)
_MINUTE: Final = 60.0


def options(arguments: Sequence[str]) -> argparse.Namespace:
    about = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="make campaign", description=__doc__, formatter_class=about
    )
    parser.add_argument("what", nargs="?", choices=(*_LEVELS, *TARGETS), help="level, or target")
    parser.add_argument("--count", type=int, default=100_000, help="of groups, or of inputs")
    parser.add_argument("--mode", choices=[mode.value for mode in Mode], default=Mode.MIXED.value)
    parser.add_argument("--backend", choices=("asyncio", "trio"), default="asyncio")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, help="after which the sitting ends")
    parser.add_argument("--ledger", type=Path, default=LEDGER)
    parser.add_argument("--out", type=Path, default=Path("simulation"), help="for failing groups")
    return parser.parse_args(arguments)


def say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


def main(arguments: Sequence[str]) -> int:
    wanted = options(arguments)
    ledger = Ledger(wanted.ledger)
    if wanted.what is None:
        sys.stdout.write("".join(f"{line}\n" for line in lines(ledger)))
        return 0
    for ending in (signal.SIGALRM, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, _MINUTE * (wanted.minutes or 0))
    if wanted.what in TARGETS:
        sitting = sit_with_inputs(
            wanted.what, wanted.count, ledger,
            processes=wanted.processes, crashers=CRASHERS, say=say,
        )  # fmt: skip
        return 1 if sitting["findings"] else 0
    found = sit_with_groups(_campaign(wanted, ledger), ledger, wanted.out, say)
    return 0 if found.good else 1


def _campaign(wanted: argparse.Namespace, ledger: Ledger) -> Campaign:
    def campaign(seed: int) -> Campaign:
        return Campaign(
            schedules=wanted.count,
            seed=seed,
            level=Level(wanted.what),
            mode=Mode(wanted.mode),
            backend=wanted.backend,
            processes=wanted.processes,
            most_failures=None,
        )

    return campaign(ledger.next_of(kind_of(campaign(0))))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
