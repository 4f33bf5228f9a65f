"""The contestants of each question, in fresh processes and in turns.

Decides: what one process measures, and how its figures come back.
Never: runs two at once.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.inprocess.first_record import in_process, time_first_records
from benchmarks.inprocess.forming import DELAYS, WAYS, form
from benchmarks.inprocess.reading import CLIENTS, read_through

ROOT = Path(__file__).parents[2]
IN_PROCESS = "in process"
PATIENCE = 300.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured.

    Args:
        rounds: processes of each contestant.
        times: groups, or first records, in each process.
        records: that are read through a socket, in each process once.
    """

    rounds: int = 5
    times: int = 5
    records: int = 200_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One contestant.

    Args:
        question: `forming`, `first record` or `reading`.
        name: of the contestant.
        words: what its process needs to know.
    """

    question: str
    name: str
    words: tuple[Any, ...]


def entries_of_forming(plan: Plan) -> list[Entry]:
    """Every way to form a group, with and without Kafka's initial delay."""
    return [
        Entry("forming", f"{way}, initial delay {delay:g} s", (way, delay, plan.times))
        for way in WAYS
        for delay in DELAYS
    ]


def entries_of_first(plan: Plan, brokers: Sequence[tuple[str, str]]) -> list[Entry]:
    """One consumer, on the in-process broker and on others.

    Args:
        plan: how much.
        brokers: name and address of the others, which have the topic.
    """
    return [
        Entry("first record", name, (address, plan.times))
        for name, address in ((IN_PROCESS, ""), *brokers)
    ]


def entries_of_reading(plan: Plan) -> list[Entry]:
    """Every client."""
    return [Entry("reading", client, (client, plan.records)) for client in CLIENTS]


def run_entry(question: str, words: Sequence[Any]) -> list[list[float]]:
    """Measure in this process; one row of figures for each repetition."""
    match question, words:
        case "forming", [way, delay, times]:
            return [list(row) for row in form(way, delay, times)]
        case "first record", [address, times]:
            with ExitStack() as stack:
                bootstrap = address or in_process(stack)
                return [[seconds] for seconds in time_first_records(bootstrap, times)]
        case "reading", [client, records]:
            return [[read_through(CLIENTS[client], records)]]
    raise SystemExit(f"there is no {question} with {words}")


def take_turns(
    entries: Sequence[Entry], rounds: int, say: Callable[[str], None]
) -> dict[str, list[list[float]]]:
    """Measure contestants of one question, round by round; return their rows by name."""
    found: dict[str, list[list[float]]] = {entry.name: [] for entry in entries}
    for number in range(rounds):
        for entry in entries:
            rows = _in_fresh_process(entry)
            found[entry.name] += rows
            say(f"{entry.question} {number + 1}: {entry.name} {min(row[0] for row in rows):.4f} s")
    return found


def _in_fresh_process(entry: Entry) -> list[list[float]]:
    command = [sys.executable, "-m", "benchmarks.inprocess", "--one", entry.question]
    command += ["--words", json.dumps(entry.words)]
    done = subprocess.run(
        command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=PATIENCE
    )
    if done.returncode:
        raise SystemExit(f"{entry.question}, {entry.name}: {done.stderr[-2000:]}")
    rows: list[list[float]] = json.loads(done.stdout.splitlines()[-1])
    return rows
