"""Show the sieve thousands of groups, each planted bug, a million lines; compare with the judge.

`python -m tests.spark.sieving [PART ...] [--groups N] [--first SEED] [--lines N] [--ledger FILE]`

Parts: `groups` (recorded and simulated ones, by seed), `bugs` (each planted bug of `tests/search`),
`lines` (a fault of each kind in long runs), `kept` (faults in any number of events that are kept as
Parquet), `record` (writes the bugs that events show, for tests).

Decides: what is written to the ledger: a line for each part, of groups for each slice, with what
was found. A slice that stands there, shown to the same sieve, is not shown again.
"""

import argparse
import gzip
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

from kgroup.audit import audit
from kgroup.journal import decode_entry
from kgroup.spark.audit import belonging, form, passing, sieve
from kgroup.spark.audit.fleet import Fleet, FleetVerdict
from kgroup.spark.audit.judge import Law
from kgroup.spark.table import open_session
from tests.spark.fleet import write_whole
from tests.spark.sieving.against import difference, differences
from tests.spark.sieving.bugs import FOLDER, file_name, histories
from tests.spark.sieving.groups import of_members, write_seed
from tests.spark.sieving.many import LONG, write_many
from tests.spark.sieving.planted import FAULTS, LongRun, Planted

LEDGER = Path("benchmarks/results/spark_sieve.jsonl")
_SLICE = 500
"""Groups that are shown at once."""

Found = dict[str, Any]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.spark.sieving")
    parser.add_argument("parts", nargs="*", default=["groups", "bugs", "lines"])
    parser.add_argument("--groups", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=4, help="of Spark, at each shuffle")
    parser.add_argument("--ledger", type=Path, default=LEDGER)
    options = parser.parse_args(words)
    if options.parts == ["record"]:
        return _record()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark, _ = open_session(
        {
            "spark.master": "local[2]",
            "spark.sql.shuffle.partitions": str(options.partitions),
            "spark.driver.memory": "4g",
            "spark.ui.showConsoleProgress": "false",
        }
    )
    work: Mapping[str, Callable[[Any, argparse.Namespace], Iterator[Found]]] = {
        "groups": _groups,
        "bugs": _bugs,
        "lines": _lines,
        "kept": _kept,
    }
    wrong = 0
    try:
        for part in options.parts:
            began = time.monotonic()
            for found in work[part](spark, options):
                found["seconds"] = round(time.monotonic() - began, 1)
                began = time.monotonic()
                _note(options.ledger, {"part": part, "sieve": _sieve(), **found})
                wrong += len(found["wrong"])
    finally:
        spark.stop()
    return 1 if wrong else 0


def _note(ledger: Path, found: Found) -> None:
    at = datetime.now(UTC).isoformat(timespec="seconds")
    load = round(os.getloadavg()[0], 1)
    print(json.dumps(found), flush=True)
    with ledger.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"at": at, "load": load, **found}) + "\n")


def _sieve() -> str:
    """Return what tells this sieve from others."""
    files = (str(each.__file__) for each in (belonging, form, passing, sieve))
    return hashlib.sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()[:12]


def _shown(ledger: Path) -> set[tuple[int, int]]:
    """Return the slices that this sieve was shown, and nothing was wrong: first seed and size."""
    if not ledger.exists():
        return set()
    lines = map(json.loads, ledger.read_text(encoding="utf-8").splitlines())
    here = (each for each in lines if (each["part"], each["sieve"]) == ("groups", _sieve()))
    return {(each["first"], each["groups"]) for each in here if not each["wrong"]}


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


def _groups(spark: Any, options: argparse.Namespace) -> Iterator[Found]:
    shown, end = _shown(options.ledger), options.first + options.groups
    slices = [range(n, min(n + _SLICE, end)) for n in range(options.first, end, _SLICE)]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        for seeds in slices:
            if (seeds.start, len(seeds)) not in shown:
                yield _slice(spark, pool, seeds)


def _slice(spark: Any, pool: ProcessPoolExecutor, seeds: range) -> Found:
    with _folder() as folder:
        list(pool.map(partial(write_seed, folder), seeds, chunksize=20))
        found = Fleet(spark, [folder / "*.jsonl"]).verdict(Law())
        differ = pool.map(difference, found.groups, chunksize=20)
        wrong = [each for each in differ if each is not None]
    return {
        "first": seeds.start,
        "groups": len(found.groups),
        "clean": sum(group.clean for group in found.groups),
        "passed": sum(group.why is None for group in found.groups),
        "wrong": wrong,
    }


def _bugs(spark: Any, _options: argparse.Namespace) -> Iterator[Found]:
    with _folder() as folder:
        found_bugs = {name: lines for name, lines in histories().items() if lines}
        for name, lines in found_bugs.items():
            entries = [decode_entry(line) for line in lines]
            write_whole(folder, f"{file_name(name)}-whole", entries)
            members = of_members(entries)
            write_whole(folder, f"{file_name(name)}-members", members)
        found, differ = _compared(spark, folder)
    yield {
        "bugs": len(found_bugs),
        "groups": len(found.groups),
        "shown": sum(not group.clean for group in found.groups) // 2,
        "passed": sum(group.why is None for group in found.groups),
        "wrong": differ,
    }


def _lines(spark: Any, options: argparse.Namespace) -> Iterator[Found]:
    """A fault of each kind in a group of its own, among groups that are well."""
    with _folder() as folder:
        planted = {name: plant(Random(7), LONG) for name, plant in FAULTS.items()}
        lines = 0
        for name, each in planted.items():
            write_whole(folder, name, each.entries)
            lines += len(each.entries)
        number = 0
        while lines < options.lines:
            entries = LongRun(Random(number), LONG).go()
            write_whole(folder, f"well{number}", entries)
            lines, number = lines + len(entries), number + 1
        yield _planted(spark, lines, planted, folder / "*.jsonl", f"{folder}/")


def _kept(spark: Any, options: argparse.Namespace) -> Iterator[Found]:
    """Faults of each kind in a fleet of events that are kept."""
    with _folder() as folder:
        began = time.monotonic()
        lines, planted = write_many(folder / "kept", options.lines, options.first)
        print(f"{lines:,} events in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        yield _planted(spark, lines, planted, folder / "kept", "")


def _planted(
    spark: Any, lines: int, planted: Mapping[str, Planted], logs: Path, where: str
) -> Found:
    """Judge logs, and say what is not found exactly as it was planted."""
    began = time.monotonic()
    found = Fleet(spark, [logs], say=_say).verdict(Law())
    took = round(time.monotonic() - began, 1)
    broken = {str(group.group): group for group in found.groups if not group.clean}
    wrong = sorted(broken.keys() ^ planted.keys())
    for name in broken.keys() & planted.keys():
        fault = planted[name]
        line = f"{where}{name}.jsonl:{fault.line}"
        problems = broken[name].verdict["problems"]
        told = [(each["kind"], each["count"], line in each["lines"]) for each in problems]
        if told != [(fault.kind, fault.count, True)]:
            wrong.append(f"{name}: {told}")
    passed = sum(group.why is None for group in found.groups)
    return {
        "lines": lines,
        "groups": len(found.groups),
        "planted": len(planted),
        "passed": passed,
        "verdict_seconds": took,
        "wrong": wrong,
    }


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _record() -> int:
    """Write for each bug that events show what its members logged."""
    FOLDER.mkdir(exist_ok=True)
    with _folder() as folder:
        for name, lines in histories().items():
            entries = [decode_entry(line) for line in lines]
            members = of_members(entries)
            if members and not audit([path := write_whole(folder, file_name(name), members)]).clean:
                kept = FOLDER / f"{path.name}.gz"
                kept.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
                print(f"{kept.name}: {len(members)} lines", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
