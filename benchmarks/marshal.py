"""What reading a coordination log costs: `python -m benchmarks.marshal`.

Decides: nothing; it measures how many messages a second the reducer of Marshal mode folds on one
core, from values in memory (`pure`) and from stored record batches (`batches`), and how much memory
a key takes. The log is that of 1,000 keys that are claimed, beat and are released now and then.
Never: reports a rate before every key is where the log says, by both ways of reading.
"""

import argparse
import json
import random
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from benchmarks.machine import environment
from kgroup.marshal.extension import Extension, write_extension
from kgroup.marshal.key_state import Key
from kgroup.marshal.messages import Kind, Message, encode
from kgroup.marshal.rules import WorldRules
from kgroup.marshal.world import World
from kgroup.testing.simulation.campaign_ledger import commit
from kgroup.wire.records import NewRecord, encode_batch, iter_batches

RESULT: Final = Path(__file__).parent / "results" / "marshal.json"
SEED: Final = 20_250_101
KEYS: Final = 1_000
MEMBERS: Final = 50
MESSAGES: Final = 100_000
ROUNDS: Final = 5
IN_A_BATCH: Final = 100
START: Final = 1_700_000_000
GOALS: Final = {"messages a second": 300_000, "bytes a key": 1_000}

Row = tuple[int, int, bytes, tuple[tuple[str, bytes], ...]]
Words = dict[Key, tuple[bytes, int]]


class Log(NamedTuple):
    """A log: its records, as values and as stored batches, and who has what in the end."""

    rows: list[Row]
    batches: list[bytes]
    owners: Words


def made(count: int, *, headers: bool) -> Log:
    """Write a log of so many messages; with kgroup's headers, or as the original library does."""
    dice = random.Random(SEED)
    rows: list[Row] = []
    owners: Words = {}
    epochs: dict[Key, int] = {}
    left: dict[Key, int] = {}
    keys = [Key(b"shop.billing", b"orders", number) for number in range(KEYS)]
    for offset in range(count):
        key, seconds = keys[offset % KEYS], START + offset * 20 // KEYS
        kind = Kind.HEARTBEAT
        if key not in owners:
            kind = Kind.CLAIMING_PARTITION
            owners[key] = b"web-%02d" % dice.randrange(MEMBERS), left.get(key, -1)
            epochs[key] = offset
        elif dice.random() < 0.01:
            kind = Kind.RELEASING_PARTITION
        client_id, position = owners[key]
        if kind is Kind.HEARTBEAT:
            position = max(position, 0) + dice.randrange(500)
        owners[key] = client_id, position
        tail = 0 if kind is Kind.CLAIMING_PARTITION else max(position, 0)
        message = Message(kind, seconds, b"3f2a9c01", client_id, *key, tail)
        epoch = None if kind is Kind.CLAIMING_PARTITION else epochs[key]
        extension = Extension(epoch, START * 1000, 60, b"%08x" % offset)
        words = tuple(write_extension(extension)) if headers else ()
        rows.append((offset, seconds * 1000, encode(message), words))
        if kind is Kind.RELEASING_PARTITION:
            left[key] = tail
            del owners[key]
    return Log(rows, list(map(_stored, _cut(rows))), owners)


def _cut(rows: list[Row]) -> list[list[Row]]:
    return [rows[first : first + IN_A_BATCH] for first in range(0, len(rows), IN_A_BATCH)]


def _stored(rows: list[Row]) -> bytes:
    records = [NewRecord(None, value, words, timestamp) for _, timestamp, value, words in rows]
    data = bytearray(encode_batch(records))
    data[:8] = rows[0][0].to_bytes(8, "big")  # the base offset, which a broker would give
    return bytes(data)


def _world() -> World:
    return World(WorldRules(append_time=True, complete=True))


def pure(log: Log) -> World:
    """Fold values that are in memory."""
    world = _world()
    apply = world.apply
    for offset, timestamp, value, words in log.rows:
        apply(offset, timestamp, value, words)
    return world


def batches(log: Log) -> World:
    """Fold stored record batches: checksum, scan, headers, then as `pure`."""
    world = _world()
    apply = world.apply
    for data in log.batches:
        for batch in iter_batches(data):
            for offset, timestamp, _, value, words in batch.columns():
                apply(offset, timestamp, value, words)
    return world


READERS: Final[dict[str, Callable[[Log], World]]] = {"pure": pure, "batches": batches}


def checked(log: Log) -> None:
    """Refuse to time a reader that sees another world than the log was written to make."""
    worlds = {name: read(log) for name, read in READERS.items()}
    if len({world.digest() for world in worlds.values()}) != 1:
        raise SystemExit("the ways of reading do not agree")
    for name, world in worlds.items():
        owned = {key: state for key, state in world.keys.items() if state.owned}
        if world.rejects or owned.keys() != log.owners.keys():
            raise SystemExit(f"{name}: {len(log.owners)} keys are owned, not {len(owned)}")
        for key, (client_id, position) in log.owners.items():
            seen = owned[key].client_id, owned[key].offset
            if seen != (client_id, position):
                raise SystemExit(f"{name}: {key} is at {(client_id, position)}, not {seen}")


def rates(log: Log, rounds: int) -> dict[str, list[float]]:
    """Messages per second of processor time; the readers take turns, the first round is warm-up."""
    found: dict[str, list[float]] = {name: [] for name in READERS}
    for number in range(rounds + 1):
        for name, read in READERS.items():
            began = time.process_time()
            read(log)
            took = time.process_time() - began
            if number:
                found[name].append(round(len(log.rows) / took))
    return found


def bytes_of_a_key(log: Log) -> float:
    """Memory that the state of a key takes: all that a world holds, over its keys."""
    tracemalloc.start()
    world = pure(log)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return round(held / len(world.keys), 1)


def measured(count: int, rounds: int) -> dict[str, Any]:
    """Measure the fold rate on both kinds of log."""
    figures: dict[str, Any] = {}
    for name, headers in (("kgroup", True), ("original", False)):
        log = made(count, headers=headers)
        checked(log)
        samples = rates(log, rounds)
        figures[name] = {
            "messages a second": {each: median(found) for each, found in samples.items()},
            "bytes a key": bytes_of_a_key(log),
            "samples": samples,
        }
    return figures


def main(arguments: Sequence[str]) -> int:
    """Measure, and write one JSON file."""
    parser = argparse.ArgumentParser(prog="benchmarks.marshal", description=__doc__)
    parser.add_argument("--messages", type=int, default=MESSAGES, help="in the log")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", action="store_true", help="to the standard output, keep nothing")
    wanted = parser.parse_args(arguments)
    before = environment("kgroup")
    fold = measured(wanted.messages, wanted.rounds)
    document = {
        "environment": before,
        "commit": commit(),
        "scenario": {"seed": SEED, "keys": KEYS, "messages": wanted.messages, "members": MEMBERS},
        "unit": "messages per second of processor time on one core",
        "goals": GOALS,
        "fold": fold,
    }
    text = f"{json.dumps(document, indent=1)}\n"
    if wanted.json:
        sys.stdout.write(text)
    else:
        RESULT.write_text(text, encoding="utf-8")
        for name, figures in fold.items():
            print(name, figures["messages a second"], figures["bytes a key"], "bytes a key")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
