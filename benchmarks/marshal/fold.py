"""How many messages a second one core folds, and how much memory a key takes.

Decides: nothing; it measures reading a log to its end as a member does at start-up: from records
that were scanned already (`pure`) and from stored batches (`batches`); and reading it on, where
every record is looked at in full (`one by one`).
Never: reports a rate before every key is where the log says, by all ways of reading.
"""

import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, Final

from benchmarks.marshal.logs import Log, made
from kgroup.marshal.catching_up import CatchUp
from kgroup.marshal.rules import WorldRules
from kgroup.marshal.world import World
from kgroup.wire.records import RecordColumns, iter_batches


class Laid:
    """A log in the forms that readers take.

    Args:
        log: the messages.
    """

    def __init__(self, log: Log) -> None:
        self.log = log
        self.stored = log.batches()
        self.scanned = list(_columns(self.stored))


def _columns(stored: list[bytes]) -> Iterator[RecordColumns]:
    for data in stored:
        for batch in iter_batches(data):
            yield batch.columns()


def _world() -> World:
    return World(WorldRules(append_time=True, complete=True))


def _caught_up(batches: Iterator[RecordColumns]) -> World:
    world = _world()
    short = CatchUp(world)
    for columns in batches:
        short.fold(columns, columns.raw_rows())
    return world


def pure(laid: Laid) -> World:
    """Fold records that were scanned before."""
    return _caught_up(iter(laid.scanned))


def batches(laid: Laid) -> World:
    """Fold stored record batches: checksum and scan, then as `pure`."""
    return _caught_up(_columns(laid.stored))


def one_by_one(laid: Laid) -> World:
    """Fold values in memory, each looked at in full, as a member does that is past the start."""
    world = _world()
    for row in laid.log.rows:
        world.apply(*row)
    return world


READERS: Final[dict[str, Callable[[Laid], World]]] = {
    "pure": pure,
    "batches": batches,
    "one by one": one_by_one,
}


def checked(laid: Laid) -> None:
    """Refuse to time a reader that sees another world than the log was written to make."""
    worlds = {name: read(laid) for name, read in READERS.items()}
    if len({world.digest() for world in worlds.values()}) != 1:
        raise SystemExit("the ways of reading do not agree")
    owners = laid.log.owners
    for name, world in worlds.items():
        owned = {key: state for key, state in world.keys.items() if state.owned}
        if world.rejects or owned.keys() != owners.keys():
            raise SystemExit(f"{name}: {len(owners)} keys are owned, not {len(owned)}")
        for key, expected in owners.items():
            seen = owned[key].client_id, owned[key].offset
            if seen != expected:
                raise SystemExit(f"{name}: {key} is at {expected}, not {seen}")


def fold_rates(count: int, rounds: int) -> dict[str, Any]:
    """Measure on logs of so many messages, with kgroup's headers and without any."""
    figures: dict[str, Any] = {}
    for name, headers in (("kgroup", True), ("original", False)):
        laid = Laid(made(count, headers=headers))
        checked(laid)
        samples = _rates(laid, rounds)
        figures[name] = {
            "messages a second": {each: median(found) for each, found in samples.items()},
            "bytes a key": _bytes_of_a_key(laid),
            "samples": samples,
        }
        print(f"fold, {name}: {figures[name]['messages a second']}", file=sys.stderr)
    return figures


def _rates(laid: Laid, rounds: int) -> dict[str, list[int]]:
    """Messages per second of processor time; the readers take turns, the first round is warm-up."""
    found: dict[str, list[int]] = {name: [] for name in READERS}
    for number in range(rounds + 1):
        for name, read in READERS.items():
            began = time.process_time()
            read(laid)
            took = time.process_time() - began
            if number:
                found[name].append(round(len(laid.log.rows) / took))
    return found


def _bytes_of_a_key(laid: Laid) -> float:
    """Memory that the state of a key takes: all that a world holds, over its keys."""
    tracemalloc.start()
    world = pure(laid)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return round(held / len(world.keys), 1)
