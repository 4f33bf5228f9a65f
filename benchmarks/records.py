"""CPU time of reading record batches, in microseconds per record, next to aiokafka's own reader.

Decides: nothing; it measures. Run `python -m benchmarks.records` on a quiet machine; the raw
samples of every process go to `benchmarks/results/records.json`, the medians to the terminal.
Never: reports the speed of a reader that has not first found every record, offset and byte.

Method: the batches are the same for all readers; readers take turns within a round, so that a slow
moment hits them alike; the first round is warm-up and is not kept; several processes.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import NamedTuple

from aiokafka.record.default_records import DefaultRecordBatch

from kgroup.bench.machine import environment
from kgroup.wire.records import Codec, NewRecord, encode_batch, iter_batches

SEED = 20_250_101
BATCHES = 60
RECORDS_PER_BATCH = 500
VALUE_SIZE = 100
ROUNDS = 9
PROCESSES = 5
RESULT = Path(__file__).parent / "results" / "records.json"


class Seen(NamedTuple):
    """What a reader found; two readers agree when these are equal."""

    records: int
    offset_sum: int
    value_bytes: int


Reader = Callable[[list[bytes]], Seen]


def columns(batches: list[bytes]) -> Seen:
    """`batch.columns()` only: checksum, decompression, scan; values by their bounds."""
    records = offset_sum = value_bytes = 0
    for data in batches:
        for batch in iter_batches(data):
            found = batch.columns()
            records += len(found)
            offset_sum += sum(found.offsets)
            value_bytes += sum(found.bounds[3::5]) - sum(found.bounds[2::5])
    return Seen(records, offset_sum, value_bytes)


def values(batches: list[bytes]) -> Seen:
    """Columns, then every value taken out as bytes and touched."""
    records = offset_sum = value_bytes = 0
    for data in batches:
        for batch in iter_batches(data):
            found = batch.columns()
            records += len(found)
            offset_sum += sum(found.offsets)
            for value in found.values():
                value_bytes += len(value or b"")
    return Seen(records, offset_sum, value_bytes)


def rows(batches: list[bytes]) -> Seen:
    """Columns, then a tuple of offset, timestamp, key, value and headers for every record."""
    records = offset_sum = value_bytes = 0
    for data in batches:
        for batch in iter_batches(data):
            for offset, _, _, value, _ in batch.columns():
                records += 1
                offset_sum += offset
                value_bytes += len(value or b"")
    return Seen(records, offset_sum, value_bytes)


def headers_only(batches: list[bytes]) -> Seen:
    """What skipping a batch costs: header and checksum. Finds no records, so it is not compared."""
    for data in batches:
        for batch in iter_batches(data):
            batch.verify()
    return Seen(0, 0, 0)


def aiokafka_records(batches: list[bytes]) -> Seen:
    """aiokafka's compiled reader, with its checksum, touching offset and value."""
    records = offset_sum = value_bytes = 0
    for data in batches:
        batch = DefaultRecordBatch(data)
        if not batch.validate_crc():
            raise ValueError("aiokafka finds a wrong checksum")
        for record in batch:
            records += 1
            offset_sum += record.offset
            value_bytes += len(record.value or b"")
    return Seen(records, offset_sum, value_bytes)


READERS: dict[str, Reader] = {
    "kgroup columns": columns,
    "kgroup columns + values": values,
    "kgroup rows": rows,
    "kgroup header + checksum": headers_only,
    "aiokafka records": aiokafka_records,
}


def made(codec: Codec, *, keyed: bool) -> tuple[list[bytes], Seen]:
    """The batches of one scenario, and what any reader has to find in them."""
    chance = random.Random(SEED)  # reproducible data, not a secret
    now = 1_700_000_000_000
    batches = []
    for first in range(0, BATCHES * RECORDS_PER_BATCH, RECORDS_PER_BATCH):
        records = []
        for number in range(first, first + RECORDS_PER_BATCH):
            now += chance.randrange(3)
            text = f'{{"id": {number}, "user": "user-{chance.randrange(10_000)}", "amount": '
            value = f'{text}{chance.random():.6f}, "country": "'.encode().ljust(VALUE_SIZE, b"x")
            key = f"user-{chance.randrange(100_000)}".encode() if keyed else None
            headers = (("trace", b"0123456789abcdef"),) if keyed else ()
            records.append(NewRecord(key, value, headers, now))
        written = bytearray(encode_batch(records, codec=codec))
        written[:8] = first.to_bytes(8, "big")  # the base offset, which a broker would give
        batches.append(bytes(written))
    total = BATCHES * RECORDS_PER_BATCH
    return batches, Seen(total, total * (total - 1) // 2, total * VALUE_SIZE)


SCENARIOS: dict[str, tuple[Codec, bool]] = {
    **{codec.name.lower(): (codec, False) for codec in Codec},
    "none, key and header": (Codec.NONE, True),
}


def measured() -> dict[str, dict[str, list[float]]]:
    """Samples of this process: scenario -> reader -> CPU microseconds per record, one per round."""
    samples: dict[str, dict[str, list[float]]] = {}
    for scenario, (codec, keyed) in SCENARIOS.items():
        batches, expected = made(codec, keyed=keyed)
        check(scenario, batches, expected)
        rounds = [timed(batches, expected.records) for _ in range(ROUNDS + 1)][1:]
        samples[scenario] = {name: [each[name] for each in rounds] for name in READERS}
    return samples


def timed(batches: list[bytes], records: int) -> dict[str, float]:
    """One round: every reader once, in turn."""
    spent = {}
    for name, read in READERS.items():
        began = time.process_time_ns()
        read(batches)
        spent[name] = round((time.process_time_ns() - began) / 1000 / records, 4)
    return spent


def check(scenario: str, batches: list[bytes], expected: Seen) -> None:
    """Refuse to time a reader that does not find everything."""
    for name, read in READERS.items():
        seen = read(batches)
        if read is not headers_only and seen != expected:
            raise SystemExit(f"{scenario}, {name}: found {seen}, expected {expected}")


def summary(processes: Iterable[dict[str, dict[str, list[float]]]]) -> dict[str, dict[str, float]]:
    """Median over all samples of all processes."""
    each = list(processes)
    return {
        scenario: {
            name: round(median(sample for one in each for sample in one[scenario][name]), 3)
            for name in READERS
        }
        for scenario in SCENARIOS
    }


def main() -> None:
    """Measure in fresh processes and write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--one-process", action="store_true", help="print this process's samples")
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args()
    if options.one_process:
        print(json.dumps(measured()))
        return
    before = environment("aiokafka", "cramjam", "crc32c", "lz4")
    command = [sys.executable, "-m", "benchmarks.records", "--one-process"]
    processes = [
        json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        for _ in range(PROCESSES)
    ]
    medians = summary(processes)
    result = {
        "unit": "CPU microseconds per record",
        "scenario": {
            "seed": SEED,
            "batches": BATCHES,
            "records_per_batch": RECORDS_PER_BATCH,
            "value_bytes": VALUE_SIZE,
            "rounds": ROUNDS,
            "processes": PROCESSES,
        },
        "environment": before,
        "median": medians,
        "samples": processes,
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for scenario, figures in medians.items():
        print(f"{scenario:22}", *(f"{name}: {figure:.3f}" for name, figure in figures.items()))


if __name__ == "__main__":
    main()
