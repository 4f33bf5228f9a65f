"""Show the sieve thousands of groups, each planted bug, a million lines; compare with the judge.

`python -m tests.spark.sieving [PART ...] [--groups N] [--first SEED] [--lines N] [--ledger FILE]`

Parts: `groups` (recorded and simulated ones, by seed), `bugs` (each planted bug of `tests/search`),
`lines` (a fault of each kind in long runs), `record` (writes the bugs that events show, for tests).

Decides: what is written to the ledger: a line for each part, with what was found.
"""

import argparse
import gzip
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from kgroup.audit import audit
from kgroup.journal import CommitStored, FaultStep, RoundStored, decode_entry
from kgroup.spark.audit.fleet import Fleet, FleetVerdict
from kgroup.spark.audit.judge import Law
from kgroup.spark.table import open_session
from tests.search.simulation.play import play
from tests.search.simulation.schedule import Level, Mode, Schedule
from tests.spark.fleet import recorded, write_whole
from tests.spark.sieving.against import differences
from tests.spark.sieving.bugs import FOLDER, file_name, histories
from tests.spark.sieving.planted import FAULTS, LongRun

LEDGER = Path("benchmarks/results/spark_sieve.jsonl")
_MODES = (Mode.MIXED, Mode.EAGER, Mode.COOPERATIVE, Mode.STATIC)
_OF_OTHERS = (CommitStored, RoundStored, FaultStep)
_LONG = 10_000
"""Lines of each long group."""

Found = dict[str, Any]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.spark.sieving")
    parser.add_argument("parts", nargs="*", default=["groups", "bugs", "lines"])
    parser.add_argument("--groups", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--ledger", type=Path, default=LEDGER)
    options = parser.parse_args(words)
    if options.parts == ["record"]:
        return _record()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark, _ = open_session({"spark.master": "local[2]", "spark.sql.shuffle.partitions": "4"})
    wrong = 0
    work: Mapping[str, Callable[[Any, argparse.Namespace], Found]] = {
        "groups": _groups,
        "bugs": _bugs,
        "lines": _lines,
    }
    try:
        for part in options.parts:
            began = time.monotonic()
            found = work[part](spark, options)
            found["seconds"] = round(time.monotonic() - began, 1)
            _note(options.ledger, {"part": part, **found})
            wrong += len(found["wrong"])
    finally:
        spark.stop()
    return 1 if wrong else 0


def _note(ledger: Path, found: Found) -> None:
    at = datetime.now(UTC).isoformat(timespec="seconds")
    print(json.dumps(found), flush=True)
    with ledger.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"at": at, **found}) + "\n")


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="kgroup-sieve-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _compared(spark: Any, folder: Path) -> tuple[FleetVerdict, list[str]]:
    found = Fleet(spark, [folder / "*.jsonl"]).verdict(Law())
    return found, list(differences(found))


def _groups(spark: Any, options: argparse.Namespace) -> Found:
    """Half of the groups are recorded ones, half are simulated."""
    wrong: list[str] = []
    passed = clean = count = 0
    for first in range(options.first, options.first + options.groups, 500):
        with _folder() as folder:
            for seed in range(first, min(first + 500, options.first + options.groups)):
                write_whole(folder, f"g{seed}", _played(seed))
            found, differ = _compared(spark, folder)
        wrong += differ
        count += len(found.groups)
        passed += sum(group.why is None for group in found.groups)
        clean += sum(group.clean for group in found.groups)
    return {
        "first": options.first,
        "groups": count,
        "clean": clean,
        "passed": passed,
        "wrong": wrong,
    }


def _played(seed: int) -> list[Any]:
    if seed % 2:
        return recorded(Random(seed))[1]
    outcome = play(Schedule(Level.A, _MODES[seed // 2 % len(_MODES)], seed), keep=True)
    return [each for each in outcome.entries if not isinstance(each.event, _OF_OTHERS)]


def _bugs(spark: Any, _options: argparse.Namespace) -> Found:
    with _folder() as folder:
        found_bugs = {name: lines for name, lines in histories().items() if lines}
        for name, lines in found_bugs.items():
            entries = [decode_entry(line) for line in lines]
            write_whole(folder, f"{file_name(name)}-whole", entries)
            members = [each for each in entries if not isinstance(each.event, _OF_OTHERS)]
            write_whole(folder, f"{file_name(name)}-members", members)
        found, differ = _compared(spark, folder)
    return {
        "bugs": len(found_bugs),
        "groups": len(found.groups),
        "shown": sum(not group.clean for group in found.groups) // 2,
        "passed": sum(group.why is None for group in found.groups),
        "wrong": differ,
    }


def _lines(spark: Any, options: argparse.Namespace) -> Found:
    """A fault of each kind in a group of its own, among groups that are well."""
    with _folder() as folder:
        planted = {name: plant(Random(7), _LONG) for name, plant in FAULTS.items()}
        lines = 0
        for name, each in planted.items():
            write_whole(folder, name, each.entries)
            lines += len(each.entries)
        number = 0
        while lines < options.lines:
            entries = LongRun(Random(number), _LONG).go()
            write_whole(folder, f"well{number}", entries)
            lines, number = lines + len(entries), number + 1
        began = time.monotonic()
        found = Fleet(spark, [folder / "*.jsonl"]).verdict(Law())
        took = round(time.monotonic() - began, 1)
        broken = {str(group.group): group for group in found.groups if not group.clean}
        wrong = sorted(broken.keys() ^ planted.keys())
        for name in broken.keys() & planted.keys():
            told = [
                (
                    each["kind"],
                    each["count"],
                    f"{folder / name}.jsonl:{planted[name].line}" in each["lines"],
                )
                for each in broken[name].verdict["problems"]
            ]
            if told != [(planted[name].kind, planted[name].count, True)]:
                wrong.append(f"{name}: {told}")
    passed = sum(group.why is None for group in found.groups)
    return {
        "lines": lines,
        "groups": len(found.groups),
        "passed": passed,
        "verdict_seconds": took,
        "wrong": wrong,
    }


def _record() -> int:
    """Write for each bug that events show what its members logged."""
    FOLDER.mkdir(exist_ok=True)
    with _folder() as folder:
        for name, lines in histories().items():
            entries = [decode_entry(line) for line in lines]
            members = [each for each in entries if not isinstance(each.event, _OF_OTHERS)]
            if members and not audit([path := write_whole(folder, file_name(name), members)]).clean:
                kept = FOLDER / f"{path.name}.gz"
                kept.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
                print(f"{kept.name}: {len(members)} lines", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
