"""`python -m benchmarks.spark_source`: kgroup's Spark source next to Spark's own, on one broker.

Decides: what is measured: batch reads to nowhere and to Parquet, micro-batches of 200,000 and of
1,000 rows, commits, what a joiner costs, and `kgroup spark verify`. The sources run in turn.
Before anything is timed, their rows must be equal.
Never: hides a loss: every sample stands in the JSON.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from benchmarks.spark_source.session import CONNECTOR, SOURCES, Session
from benchmarks.spark_source.sharing import shared
from benchmarks.spark_source.verifying import verified
from kgroup.bench.cells import Data
from kgroup.bench.filling import PARTITIONS, Topic, rounded
from kgroup.bench.machine import environment
from kgroup.testing.kafka.local import start_local
from kgroup.testing.kafka.supply import find_program

_VERSION: Final = "4.3.1"
_SEED: Final = 7
_LARGE, _SMALL = 200_000, 1_000

DATA: Final = tuple(
    Data(f"{size} B, {codec}", size, codec)
    for size in (100, 1000)
    for codec in ("none", "lz4", "zstd")
)


def main() -> int:
    """Measure, print a table, and write JSON; 1 when rows are not equal."""
    options = _options()
    bootstrap, kafka = options.bootstrap, None
    if bootstrap is None:
        kafka = start_local(find_program(_VERSION), _VERSION, 1)
        bootstrap = kafka.bootstrap
    try:
        session = _session(options.cores, bootstrap)
        try:
            document = _measured(session, bootstrap, options)
        finally:
            session.close()
    finally:
        if kafka is not None:
            kafka.close()
    if options.json is not None:
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0 if all(case["equal"] for case in document["cases"]) else 1


def _session(cores: int, bootstrap: str) -> Session:
    try:
        return Session(cores, bootstrap, connector=True)
    except Exception as error:  # noqa: BLE001 - whatever the resolver says
        print(f"Spark's own source does not resolve, kgroup alone: {error}", file=sys.stderr)
        return Session(cores, bootstrap, connector=False)


def _measured(session: Session, bootstrap: str, options: argparse.Namespace) -> dict[str, Any]:
    sources = SOURCES if _has_connector(session) else ("kgroup",)
    document: dict[str, Any] = {
        **environment("kgroup", "pyspark", "pyarrow", "numpy"),
        "broker": _VERSION if options.bootstrap is None else options.bootstrap,
        "connector": CONNECTOR if "kafka" in sources else None,
        "seed": _SEED,
        "runs": options.runs,
        "cases": [],
    }
    for data in DATA if not options.quick else DATA[:1]:
        records = rounded(options.rows * 100 // data.value_bytes)
        name = f"bench-{data.value_bytes}-{data.codec}"
        topic = Topic(name, data, records, PARTITIONS, _SEED)
        print(f"{name}: writing {records:,} records", file=sys.stderr)
        topic.fill(bootstrap)
        prints = {one: session.fingerprint(one, bootstrap, name) for one in sources}
        equal = len(set(prints.values())) == 1 and prints["kgroup"][0] == records
        case: dict[str, Any] = {
            "data": asdict(data),
            "records": records,
            "equal": equal,
            "work": {},
        }
        document["cases"].append(case)
        if not equal:
            print(f"{name}: rows are not equal: {prints}", file=sys.stderr)
            continue
        for what, work in _works(session, bootstrap, name, options.rows):
            case["work"][what] = _in_turn(session, sources, what, work, options.runs)
            print(_line(name, what, records, case["work"][what]))
    print("a member that joins and leaves", file=sys.stderr)
    document["sharing"] = shared(session, bootstrap)
    print(json.dumps(document["sharing"]["summary"]))
    if options.verify_rows:
        print(f"verifying {options.verify_rows:,} rows", file=sys.stderr)
        document["verify"] = verified(session, options.verify_rows)
        print(json.dumps(document["verify"]))
    return document


def _has_connector(session: Session) -> bool:
    try:
        session.spark.read.format("kafka").option("kafka.bootstrap.servers", "none:1").option(
            "subscribe", "none"
        ).load()
    except Exception as error:  # noqa: BLE001 - of whichever class
        return "Failed to find" not in str(error) and "DATA_SOURCE_NOT_FOUND" not in str(error)
    return True


Work = Callable[[str], list[float] | None]


def _works(session: Session, bootstrap: str, topic: str, rows: int) -> Iterator[tuple[str, Work]]:
    yield "noop", lambda source: session.to_noop(source, bootstrap, topic)
    yield "parquet", lambda source: session.to_parquet(source, bootstrap, topic)
    yield "available", lambda source: session.stream(source, bootstrap, topic, _LARGE)
    if rows <= 40 * _LARGE and topic.endswith("-100-none"):
        small = f"{topic}-small"
        filled = Topic(small, DATA[0], 40 * _SMALL, PARTITIONS, _SEED)
        filled.fill(bootstrap)
        yield "small", lambda source: session.stream(source, bootstrap, small, _SMALL)


def _in_turn(
    session: Session, sources: tuple[str, ...], what: str, work: Work, runs: int
) -> dict[str, list[dict[str, Any]]]:
    """Run each source once to warm up, then each in turn."""
    samples: dict[str, list[dict[str, Any]]] = {source: [] for source in sources}
    for number in range(runs + 1):
        for source in sources if number % 2 else reversed(sources):
            batches: list[float] = []

            def once(source: str = source, batches: list[float] = batches) -> None:
                batches.extend(work(source) or ())

            cost = session.cost(once)
            if number:
                extra = {"batch_ms": batches} if what == "small" else {}
                samples[source].append({**asdict(cost), **extra})
    return samples


def _line(topic: str, what: str, records: int, samples: dict[str, list[dict[str, Any]]]) -> str:
    parts = []
    for source, found in samples.items():
        seconds = statistics.median(each["seconds"] for each in found)
        cpu = statistics.median(each["cpu"] for each in found)
        text = f"{source} {records / seconds / 1e3:,.0f} k rows/s, {cpu / records * 1e6:.2f} us CPU"
        if what == "small":
            batches = [one for each in found for one in each["batch_ms"]]
            text = f"{source} {statistics.median(batches):.0f} ms a batch"
        if found[0]["received"] is not None:
            received = statistics.median(each["received"] for each in found)
            text += f", {received / 1e6:.1f} MB received"
        parts.append(text)
    return f"{topic:16} {what:10} " + "; ".join(parts)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_source", description=__doc__)
    parser.add_argument("--bootstrap", help="brokers; without it a local Kafka is started")
    parser.add_argument("--rows", type=int, default=2_000_000, help="records of 100 bytes")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--verify-rows", type=int, default=100_000_000, help="0 for none")
    parser.add_argument("--quick", action="store_true", help="one kind of records")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
