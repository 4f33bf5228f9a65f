"""`python -m benchmarks.inprocess`: measure, show, keep.

Decides: what is measured and where it goes.
Never: starts a real Kafka that nobody asked for: `--quick` and `--only` leave it out.
"""

import argparse
import asyncio
import json
import subprocess
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.inprocess.contest import (
    ROOT,
    Entry,
    Plan,
    entries_of_first,
    entries_of_forming,
    entries_of_reading,
    run_entry,
    take_turns,
)
from benchmarks.inprocess.first_record import TOPIC, lay
from benchmarks.inprocess.group import MEMBERS, PARTITIONS
from benchmarks.inprocess.reading import PER_BATCH, VALUE_SIZE
from benchmarks.inprocess.report import goals, summary, tables
from kgroup.bench.machine import environment
from kgroup.testing.kafka import RealKafka, create_topic

RESULT = Path(__file__).parents[1] / "results" / "inprocess.json"
QUESTIONS = ("forming", "first record", "reading")
SEED = 0
"""Of every in-process broker: member ids and topic ids come from it."""


def measured(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Measure every question that is wanted."""
    plan = Plan(rounds=1, times=2, records=8_000) if options.quick else Plan()
    began = time.monotonic()
    samples: dict[str, dict[str, list[list[float]]]] = {}
    brokers: list[str] = []

    def say(text: str) -> None:
        console.print(f"[dim]{time.monotonic() - began:6.0f} s[/] {text}", highlight=False)

    with ExitStack() as stack:
        for question in options.only or QUESTIONS:
            entries = _entries(question, plan, stack, brokers, quick=options.quick)
            samples[question] = take_turns(entries, plan.rounds, say)
    figures = {each: summary(each, rows, plan.records) for each, rows in samples.items()}
    return {
        "environment": environment(
            "aiokafka", "anyio", "confluent-kafka", "crc32c", "kafka-python", "kgroup"
        ),
        "brokers": brokers,
        "commit": commit(),
        "seed": SEED,
        "took": round(time.monotonic() - began),
        "plan": asdict(plan),
        "scenario": {
            "members": MEMBERS,
            "partitions": PARTITIONS,
            "value_bytes": VALUE_SIZE,
            "records_per_batch": PER_BATCH,
        },
        "unit": "seconds; rows of forming are real and CPU time",
        "figures": figures,
        "goals": goals(figures),
        "samples": samples,
    }


def _entries(
    question: str, plan: Plan, stack: ExitStack, brokers: list[str], *, quick: bool
) -> list[Entry]:
    if question == "forming":
        return entries_of_forming(plan)
    if question == "reading":
        return entries_of_reading(plan)
    if quick:
        return entries_of_first(plan, [])
    kafka = stack.enter_context(RealKafka.start())
    create_topic(kafka.bootstrap, TOPIC, 1)
    asyncio.run(lay(kafka.bootstrap))
    brokers.append(kafka.describe())
    return entries_of_first(plan, [("Kafka 4.3.1", kafka.bootstrap)])


def commit() -> str | None:
    """Return the commit that is measured, with a mark when the tree differs from it."""
    words = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return said.stdout.strip() or None


def written(document: dict[str, Any]) -> str:
    """Return JSON with one line for the samples of each contestant, to a microsecond."""
    head = {name: value for name, value in document.items() if name != "samples"}
    rows = [
        {"question": question, "name": name, "rows": [[round(at, 6) for at in row] for row in rows]}
        for question, found in document["samples"].items()
        for name, rows in found.items()
    ]
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    return f'{json.dumps(head, indent=1)[:-2]},\n "samples": [\n{lines}\n ]\n}}\n'


def main() -> None:
    """Measure, print tables, and keep the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inprocess", description=__doc__)
    parser.add_argument("--json", type=Path, default=RESULT, metavar="FILE", help="keep them there")
    parser.add_argument("--quick", action="store_true", help="little of everything, no real Kafka")
    parser.add_argument("--only", nargs="+", choices=QUESTIONS, help="questions to ask")
    parser.add_argument("--one", choices=QUESTIONS, help=argparse.SUPPRESS)
    parser.add_argument("--words", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run_entry(options.one, options.words)))
        return
    document = measured(options, Console(stderr=True))
    console = Console(width=120)
    for table in tables(document):
        console.print(table)
    options.json.write_text(written(document), encoding="utf-8")


if __name__ == "__main__":
    main()
