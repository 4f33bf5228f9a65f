"""CPU and wall time of consuming from a real Kafka, next to aiokafka in the same run.

Decides: nothing; it measures. Run `python -m benchmarks.consume` on a quiet machine: it starts a
broker (or takes KGROUP_BOOTSTRAP), fills a topic, and lets each reader consume it in a fresh
process, in turns. Prints JSON, and writes it to `benchmarks/results/consume.json`.
Never: reports the speed of a reader that has not first found every record, offset and byte.

CPU is that of the reader's process from before its consumer is built to the last record, imports
left out. Every value is touched: its length is added up in a Python loop.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import aiokafka
import anyio

from benchmarks.machine import environment
from kgroup import Consumer
from kgroup.net.cluster import Cluster
from kgroup.net.ports import system_ports
from kgroup.net.producer import Producer
from kgroup.net.settings import NetSettings
from kgroup.testing.kafka import RealKafka, create_topic
from kgroup.types import TopicPartition
from kgroup.wire.records import NewRecord

SEED = 20_250_101
PARTITIONS = 8
RECORDS_PER_BATCH = 500
VALUE = b"0123456789" * 10
TOPIC = "bench-consume"
RESULT = Path(__file__).parent / "results" / "consume.json"


class Seen(NamedTuple):
    """What a reader found; two readers agree when these are equal."""

    records: int
    offset_sum: int
    value_bytes: int


async def kgroup_values(bootstrap: str, expected: int) -> Seen:
    """`batches()`, the values of each batch in a loop."""
    records = offset_sum = value_bytes = 0
    async with Consumer(
        TOPIC,
        bootstrap_servers=bootstrap,
        group_id="bench-values",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    ) as consumer:
        async for batch in consumer.batches():
            for value in batch.values():
                value_bytes += len(value or b"")
            records += batch.next_offset - batch.first
            offset_sum += sum(range(batch.first, batch.next_offset))
            if records >= expected:
                break
    return Seen(records, offset_sum, value_bytes)


async def kgroup_records(bootstrap: str, expected: int) -> Seen:
    """`batches()`, a record object for every record."""
    records = offset_sum = value_bytes = 0
    async with Consumer(
        TOPIC,
        bootstrap_servers=bootstrap,
        group_id="bench-records",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    ) as consumer:
        async for batch in consumer.batches():
            for record in batch:
                records += 1
                offset_sum += record.offset
                value_bytes += len(record.value or b"")
            if records >= expected:
                break
    return Seen(records, offset_sum, value_bytes)


async def aiokafka_getmany(bootstrap: str, expected: int) -> Seen:
    """aiokafka's `getmany()`, a record object for every record."""
    records = offset_sum = value_bytes = 0
    consumer = aiokafka.AIOKafkaConsumer(
        TOPIC,
        bootstrap_servers=bootstrap,
        group_id="bench-aiokafka",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    async with consumer:
        while records < expected:
            batches = await consumer.getmany(timeout_ms=1000)
            for record in chain.from_iterable(batches.values()):
                records += 1
                offset_sum += record.offset
                value_bytes += len(record.value or b"")
    return Seen(records, offset_sum, value_bytes)


READERS: dict[str, Callable[[str, int], Awaitable[Seen]]] = {
    "kgroup batch.values()": kgroup_values,
    "kgroup batch records": kgroup_records,
    "aiokafka getmany()": aiokafka_getmany,
}


def addresses(bootstrap: str) -> tuple[tuple[str, int], ...]:
    """Read `host:port,host:port`."""
    pairs = (each.rpartition(":") for each in bootstrap.split(","))
    return tuple((host, int(port)) for host, _, port in pairs)


async def fill(bootstrap: str, per_partition: int) -> Seen:
    """Fill the topic and return what a reader must find."""
    async with anyio.create_task_group() as tasks:
        cluster = Cluster(NetSettings(bootstrap=addresses(bootstrap)), system_ports())
        await tasks.start(cluster.run)
        await cluster.bootstrap(10.0)
        producer = Producer(cluster)
        batch = [NewRecord(None, VALUE)] * RECORDS_PER_BATCH

        async def fill_one(partition: int) -> None:
            for _ in range(per_partition // RECORDS_PER_BATCH):
                await producer.send(TopicPartition(TOPIC, partition), batch)

        async with anyio.create_task_group() as filling:
            for partition in range(PARTITIONS):
                filling.start_soon(fill_one, partition)
        tasks.cancel_scope.cancel()
    records = per_partition * PARTITIONS
    return Seen(records, PARTITIONS * sum(range(per_partition)), records * len(VALUE))


def run_one(name: str, bootstrap: str, expected: int) -> dict[str, Any]:
    """Consume everything in this process; figures and what was seen."""

    async def consume() -> Seen:
        with anyio.fail_after(300):
            return await READERS[name](bootstrap, expected)

    cpu, wall = time.process_time(), time.perf_counter()
    seen = anyio.run(consume)
    return {
        "seen": seen,
        "cpu_us_per_record": round((time.process_time() - cpu) / expected * 1e6, 3),
        "wall_krecords_per_s": round(expected / (time.perf_counter() - wall) / 1e3, 1),
    }


def rounds(bootstrap: str, expected: Seen, count: int) -> dict[str, list[dict[str, Any]]]:
    """Let the readers take turns in fresh processes; the first round is warm-up."""
    samples: dict[str, list[dict[str, Any]]] = {name: [] for name in READERS}
    for turn in range(count + 1):
        for name in READERS:
            command = [sys.executable, "-m", "benchmarks.consume", "--one", name]
            command += ["--bootstrap", bootstrap, "--records", str(expected.records)]
            answer = subprocess.run(command, check=True, capture_output=True).stdout
            sample = json.loads(answer)
            if Seen(*sample.pop("seen")) != expected:
                raise SystemExit(f"{name} did not find every record exactly once")
            print(f"round {turn} {name}: {sample}", file=sys.stderr)
            if turn:
                samples[name].append(sample)
    return samples


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Start a broker, fill it, measure."""
    with RealKafka.start() as kafka:
        create_topic(kafka.bootstrap, TOPIC, PARTITIONS)
        per_partition = options.records // PARTITIONS // RECORDS_PER_BATCH * RECORDS_PER_BATCH
        expected = anyio.run(fill, kafka.bootstrap, per_partition)
        samples = rounds(kafka.bootstrap, expected, options.rounds)
        return {
            "environment": environment("aiokafka", "anyio", "crc32c"),
            "broker": kafka.describe(),
            "scenario": {
                "seed": SEED,
                "records": expected.records,
                "partitions": PARTITIONS,
                "records_per_batch": RECORDS_PER_BATCH,
                "value_bytes": len(VALUE),
                "codec": "none",
                "rounds": options.rounds,
            },
            "median": {
                name: {
                    figure: round(median(sample[figure] for sample in found), 3)
                    for figure in ("cpu_us_per_record", "wall_krecords_per_s")
                }
                for name, found in samples.items()
            },
            "samples": samples,
        }


def main() -> None:
    """Measure in fresh processes, print JSON and keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--records", type=int, default=800_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=RESULT)
    parser.add_argument("--one", choices=sorted(READERS), help="run one reader in this process")
    parser.add_argument("--bootstrap", default="")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run_one(options.one, options.bootstrap, options.records)))
        return
    result = measured(options)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
