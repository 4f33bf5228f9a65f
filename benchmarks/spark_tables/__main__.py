"""`python -m benchmarks.spark_tables`: decoding, a day's tables, a fleet's verdict, live tables.

Decides: what is measured, on one core and on two, next to one process without a Spark. Nothing is
timed before its result is known to be right.
Never: hides a loss: every sample stands in the JSON.
"""

import argparse
import json
import shutil
import statistics
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import compute, parquet

from benchmarks.spark_source.session import Session, folder
from benchmarks.spark_tables.fleets import fleet, large, measured
from benchmarks.spark_tables.live import lay_claims, look_once, tail
from benchmarks.spark_tables.making import commits, day
from kgroup.bench.machine import environment
from kgroup.spark.coordination import tables as t
from kgroup.spark.coordination.columns import Columns
from kgroup.spark.coordination.declared import COMMIT_LOG, RAW, TABLES
from kgroup.spark.coordination.job import RECORDS, Job
from kgroup.spark.coordination.kept import Kept
from kgroup.spark.coordination.store import Store

Case = dict[str, Any]


def main() -> int:
    """Measure, print a line for each case, and write JSON; 1 when a result is wrong."""
    options = _options()
    document: dict[str, Any] = {
        **environment("kgroup", "pyspark", "pyarrow"),
        "runs": options.runs,
        "cases": [],
    }
    session = Session(options.cores, "localhost:1", connector=False)
    session.spark.conf.set("spark.sql.shuffle.partitions", "4")
    works: dict[str, Callable[[Session, argparse.Namespace], list[Case]]] = {
        "decode": _decode,
        "day": _day,
        "fleet": _fleet,
        "large": _large,
        "tail": _tail,
        "alarms": _alarms,
    }
    try:
        for name in options.only or works:
            document["cases"] += works[name](session, options)
    finally:
        session.close()
    if options.json is not None:
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0 if all(case["right"] for case in document["cases"]) else 1


def _case(what: str, size: int, unit: str, right: bool, costs: list[Any]) -> Case:  # noqa: FBT001
    seconds = statistics.median(cost.seconds for cost in costs)
    print(
        f"{what:32} {size:>12,} {unit}  {seconds:8.1f} s  {size / seconds:12,.0f} {unit}/s  {right}"
    )
    return {
        "what": what,
        "size": size,
        "unit": unit,
        "right": right,
        "samples": [asdict(cost) for cost in costs],
    }


def _costs(session: Session, runs: int, work: Callable[[], Any]) -> list[Any]:
    return [session.cost(work) for _ in range(runs)]


def _decode(session: Session, options: argparse.Namespace) -> list[Case]:
    cases = []
    with folder() as path:
        batches = list(commits(options.records, 200, logs=50))
        right = sum(compute.sum(_offsets(Columns({}).rows(each))).as_py() for each in batches[:2])
        expected = sum(number // 10_000 for number in range(min(200_000, options.records)))

        def alone() -> None:
            reader = Columns({})
            for batch in batches:
                for piece in range(0, batch.num_rows, 10_000):
                    reader.rows(batch.slice(piece, 10_000))

        costs = _costs(session, options.runs, alone)
        size = options.records
        cases.append(_case("decode, one process", size, "commits", right == expected, costs))
        parquet.write_table(pa.Table.from_batches(batches), path / "raw.parquet")
        raw = session.spark.read.parquet(str(path / "raw.parquet"))
        found = t.part(t.decoded(raw), COMMIT_LOG).groupBy().count().collect()[0][0]
        costs = _costs(
            session,
            options.runs,
            lambda: t.decoded(raw).write.format("noop").mode("overwrite").save(),
        )
        cases.append(_case("decode, Spark", size, "commits", found == size, costs))
        cases.append(_batch(session, Store(session.spark, path / "out"), batches, options.runs))
    return cases


def _batch(session: Session, store: Store, batches: list[Any], runs: int) -> Case:
    """Make silver of a batch as a job does: read, decode and write, in one process."""
    raw = pa.Table.from_batches(batches).slice(0, RECORDS)
    store.append(RAW, raw, 0)

    def silver() -> None:
        for name, rows in t.silver_of(store.arrow_batch(RAW, 0), {}).items():
            store.append(TABLES[name], rows, 0)

    costs = _costs(session, runs, silver)
    right = len(store.arrow_batch(COMMIT_LOG, 0)) == len(raw)
    return _case("raw to silver, a batch of a job", len(raw), "commits", right, costs)


def _offsets(said: pa.Array) -> pa.Array:
    return compute.struct_field(said, ["plain", "offset"])


def _day(session: Session, options: argparse.Namespace) -> list[Case]:
    with folder() as path:
        size = day(path / "kept", options.groups, options.day, options.rebalances)
        store = Store(session.spark, path / "out")

        def once() -> None:
            shutil.rmtree(path / "out", ignore_errors=True)
            Job(session.spark, store, lambda _: None).copy(path / "kept")

        costs = _costs(session, options.runs, once)
        counts = Kept(path / "out").counts()
        right = counts["raw"] == size and counts["rebalance"] == options.groups * max(
            options.rebalances // options.groups, 1
        )
        return [_case("a day: all tables", size, "records", right, costs)]


def _tail(session: Session, options: argparse.Namespace) -> list[Case]:
    with folder() as path:
        found: dict[str, Any] = {}

        def follow() -> None:
            found.update(tail(session, path / "out", options.rate, options.seconds))

        costs = [session.cost(follow)]
    right = bool(found.pop("right"))
    case = _case("tail", found.pop("commits"), "commits", right, costs)
    print(f"  {found}", file=sys.stderr)
    return [{**case, "rate": options.rate, **found}]


def _alarms(session: Session, options: argparse.Namespace) -> list[Case]:
    costs, counts = [], []
    with folder() as path:  # the session gets warm
        lay_claims(path, 0)
        look_once(session, path)
    for _ in range(options.runs):
        with folder() as path:
            expected = lay_claims(path, options.messages)
            costs.append(session.cost(lambda: counts.append(look_once(session, path))))
    right = all(count == expected for count in counts)
    return [_case("alarms", options.messages, "messages", right, costs)]


def _fleet(session: Session, options: argparse.Namespace) -> list[Case]:
    found = measured(session, fleet(session, options.fleet, options.runs))
    return [_case(what, size, "lines", right, costs) for what, size, right, costs in found]


def _large(session: Session, options: argparse.Namespace) -> list[Case]:
    found = measured(session, large(session, options.large, options.runs))
    return [_case(what, size, "lines", right, costs) for what, size, right, costs in found]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_tables", description=__doc__)
    parser.add_argument(
        "only", nargs="*", help="decode, day, fleet, large, tail, alarms; all by default"
    )
    parser.add_argument("--records", type=int, default=3_000_000, help="commits to decode")
    parser.add_argument("--day", type=int, default=2_000_000, help="commits of a day")
    parser.add_argument("--rebalances", type=int, default=5_000, help="of that day")
    parser.add_argument("--groups", type=int, default=200, help="of that day")
    parser.add_argument("--fleet", type=int, default=1_000, help="groups of 10,000 lines")
    parser.add_argument("--large", type=int, default=10_000_000, help="lines of one group")
    parser.add_argument("--rate", type=int, default=5_000, help="commits a second, live")
    parser.add_argument("--seconds", type=float, default=60.0, help="of them")
    parser.add_argument("--messages", type=int, default=200_000, help="heartbeats for alarms")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
