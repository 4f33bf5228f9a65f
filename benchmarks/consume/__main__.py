"""What consuming costs, all of it: `python -m benchmarks.consume --peers aiokafka,confluent,java`.

Decides: what the command line means. Progress goes to stderr, tables to stdout.
Never: exits with 0 when a client found anything else than what was written.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.consume.goals import GOAL_HEADS, goal_row, verdicts
from benchmarks.consume.page import PAGE, committed_page
from benchmarks.consume.runs import draw, keep
from benchmarks.consume.scenarios import PEERS, cells
from kgroup.bench.cells import Cell, Plan
from kgroup.bench.contest import Contest, Entry
from kgroup.bench.result import build, written
from kgroup.bench.tables import table, tables
from kgroup.testing.kafka import RealKafka

QUICK = Plan(runs=1, records=80_000, commits=200, members=20, idle_s=3.0)
"""Shows within minutes whether everything works."""


def main() -> int:
    """Measure, or write the page."""
    options = _options()
    if options.page:
        PAGE.write_text(committed_page(options.page), encoding="utf-8")
        return 0
    wanted = _wanted(options)
    if options.keep:
        print("\n".join(map(str, keep(options.keep))))
        draw()
        return 0
    if options.list:
        print("\n".join(cell.name for cell in wanted))
        return 0
    plan = _plan(options)
    console, began = Console(stderr=True), time.monotonic()

    def say(line: str) -> None:
        text = f"{time.monotonic() - began:6.0f} s  {line}"
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    document, entries = _measured(plan, wanted, say)
    if options.json:
        options.json.write_text(written(document), encoding="utf-8")
    # Where nobody looks, rows are as long as they are.
    out = Console(width=None if sys.stdout.isatty() else 160)
    for each in tables(document):
        out.print(each)
    out.print(table("goals", GOAL_HEADS, [goal_row(goal) for goal in document["goals"]]))
    return 1 if any(entry.status in {"wrong", "failed"} for entry in entries) else 0


def _measured(
    plan: Plan, wanted: Sequence[Cell], say: Callable[[str], None]
) -> tuple[dict[str, Any], list[Entry]]:
    entries = [Entry(cell) for cell in wanted]
    with RealKafka.start(progress=say) as kafka:
        contest = Contest(kafka.bootstrap, plan, say)
        contest.run(entries)
        broker = kafka.describe().rpartition(", ")[0]
        document = build(plan, broker, entries, scenario="performance")
        document["goals"] = verdicts({cell["name"]: cell for cell in document["cells"]})
        document["profiles"] = _profiles(contest, wanted, document, say)
    return document, entries


def _profiles(
    contest: Contest,
    wanted: Sequence[Cell],
    document: dict[str, Any],
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Profile what misses a goal."""
    missed = {goal["cell"] for goal in document["goals"] if goal["reached"] is False}
    found: dict[str, Any] = {}
    for cell in wanted:
        if cell.name in missed:
            say(f"profile: {cell.name}")
            found[cell.name] = contest.profile(cell)
    return found


def _wanted(options: argparse.Namespace) -> list[Cell]:
    peers = [peer for peer in options.peers.split(",") if peer]
    unknown = sorted({*peers} - {*PEERS})
    if unknown:
        raise SystemExit(f"there is no peer {', '.join(unknown)}; there are {', '.join(PEERS)}")
    every = cells(peers, extras=True)
    return [cell for cell in every if any(word in cell.name for word in options.only or [""])]


def _plan(options: argparse.Namespace) -> Plan:
    plan = QUICK if options.quick else Plan()
    given = {"runs": options.runs, "records": options.records, "seed": options.seed}
    return replace(plan, **{name: each for name, each in given.items() if each is not None})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--peers", default=",".join(PEERS), help="clients to compare with")
    parser.add_argument("--only", action="append", help="cells whose name holds this")
    parser.add_argument("--list", action="store_true", help="name the cells, measure nothing")
    parser.add_argument("--runs", type=int, help="measured runs of each cell (5)")
    parser.add_argument("--records", type=int, help="that one run reads (4,000,000)")
    parser.add_argument("--seed", type=int, help="of the values")
    parser.add_argument("--quick", action="store_true", help="a little of everything, in minutes")
    parser.add_argument("--json", type=Path, help="keep the results in this file")
    parser.add_argument("--keep", type=Path, help="commit results of `kgroup bench run`, and draw")
    parser.add_argument("--page", type=Path, help="write docs/performance.md from these results")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
