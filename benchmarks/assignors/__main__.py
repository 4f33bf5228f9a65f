"""`python -m benchmarks.assignors`: measure, show, keep.

Decides: what is measured and where it goes.
Never: starts two clients at once.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.assignors.measuring import Cell, Contest, Plan
from benchmarks.assignors.report import tables
from benchmarks.assignors.scenarios import QUICK, SCENARIOS, SEED, Scenario
from benchmarks.assignors.serving import Client, serve
from benchmarks.assignors.workers import (
    JAVA_OPTIONS,
    PYTHON_CLIENTS,
    Worker,
    java_worker,
    python_worker,
)
from kgroup.bench.machine import environment

ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")
ROOT = Path(__file__).parents[2]


def leader(client: str) -> Client:
    """Return a client to serve; another one's modules are not even imported."""
    if client == "kgroup":
        from benchmarks.assignors.kgroup_leader import KgroupLeader  # noqa: PLC0415

        return KgroupLeader()
    from benchmarks.assignors.peer_leaders import (  # noqa: PLC0415
        AiokafkaLeader,
        KafkaPythonLeader,
    )

    return AiokafkaLeader() if client == "aiokafka" else KafkaPythonLeader()


def start(wanted: Sequence[str]) -> tuple[list[Worker], dict[str, str]]:
    """Return the workers of the clients, and why any is not there."""
    workers = [python_worker(client) for client in PYTHON_CLIENTS if client in wanted]
    if "java" not in wanted:
        return workers, {}
    java = java_worker()
    if isinstance(java, str):
        return workers, {"Java": f"not run: {java}"}
    return [*workers, java], {}


def measured(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Measure everything that is wanted."""
    plan = Plan(limit=10, rounds=2, budget=1, warm=0.3, traced=0.1) if options.quick else Plan()
    scenarios, assignors, clients = chosen(options)
    began = time.monotonic()

    def say(text: str) -> None:
        console.print(f"[dim]{time.monotonic() - began:6.0f} s[/] {text}", highlight=False)

    workers, notes = start(clients)
    try:
        versions: dict[str, str] = {}
        for worker in workers:
            versions |= worker.ask("hello")["versions"]
        contest = Contest(workers, plan, say)
        groups: list[Scenario] = []
        cells: list[Cell] = []
        for name in scenarios:
            groups.append(SCENARIOS[name]())
            cells.extend(contest.run(groups[-1], assignors))
    finally:
        for worker in workers:
            worker.close()
    return {
        "environment": environment("aiokafka", "kafka-python"),
        "versions": versions,
        "commit": commit(),
        "seed": SEED,
        "java_options": JAVA_OPTIONS,
        "notes": notes,
        "took": round(time.monotonic() - began),
        "plan": asdict(plan),
        "unit": "seconds of wall time: read, assign, encode",
        "scenarios": [summary(group) for group in groups],
        "cells": [cell.document() for cell in cells],
    }


def chosen(options: argparse.Namespace) -> tuple[list[str], list[str], list[str]]:
    """Return the scenarios, assignors and clients that `--only` leaves."""
    known = {
        "scenario": [*QUICK] if options.quick else [*SCENARIOS],
        "assignor": [*ASSIGNORS],
        "client": [*PYTHON_CLIENTS, "java"],
    }
    words = set(options.only)
    unknown = words - {word for some in known.values() for word in some}
    if unknown:
        lists = "; ".join(f"{kind}: {', '.join(some)}" for kind, some in known.items())
        raise SystemExit(f"--only {' '.join(sorted(unknown))}: known are {lists}")
    left = [[word for word in some if word in words] or some for some in known.values()]
    return left[0], left[1], left[2]


def summary(group: Scenario) -> dict[str, Any]:
    """Return a scenario in a few numbers."""
    return {
        "name": group.name,
        "topics": len(group.topics),
        "partitions": group.partitions,
        "members": len(group.members),
        "equal": group.is_equal,
    }


def commit() -> str | None:
    """Return the commit that is measured, with a mark when the tree differs from it."""
    words = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return said.stdout.strip() or None


def written(document: dict[str, Any]) -> str:
    """Return JSON with one line per measurement."""
    head = {name: value for name, value in document.items() if name != "cells"}
    cells = ",\n".join(f"  {json.dumps(rounded(cell))}" for cell in document["cells"])
    return f'{json.dumps(head, indent=1)[:-2]},\n "cells": [\n{cells}\n ]\n}}\n'


def rounded(cell: dict[str, Any]) -> dict[str, Any]:
    """Return a measurement with times to a microsecond."""
    short = {
        name: [[round(seconds, 6) for seconds in sample] for sample in cell[name]]
        for name in ("samples", "cpu")
    }
    return {**cell, **short}


def main() -> None:
    """Measure, print a table, and keep the figures where `--json` says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.assignors", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep all figures there")
    parser.add_argument("--quick", action="store_true", help="small groups, under a minute")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD",
                        help="scenarios, assignors and clients to measure")  # fmt: skip
    parser.add_argument("--one", choices=PYTHON_CLIENTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        serve(leader(options.one))
        return
    document = measured(options, Console(stderr=True))
    console = Console()
    if not console.is_terminal:
        console = Console(width=140)
    for table in tables(document):
        console.print(table)
    for client, note in document["notes"].items():
        console.print(f"{client} {note}")
    if options.json:
        options.json.write_text(written(document), encoding="utf-8")
    wrong = [cell for cell in document["cells"] if is_our_fault(cell)]
    if wrong:
        sys.exit(f"kgroup's result is not right: {wrong}")


def is_our_fault(cell: dict[str, Any]) -> bool:
    """Whether kgroup gave no assignment, or a sticky one that is not balanced."""
    if cell["client"] != "kgroup":
        return False
    sticky = "sticky" in cell["assignor"]
    return cell["status"] != "measured" or (sticky and not cell["figures"]["balanced"])


if __name__ == "__main__":
    main()
