"""A fleet of any size as a folder of events, by a seed: groups that are well, and each fault.

Decides: which groups have a fault, of which kind and where. The groups that are well are a few long
runs under many names, so that making them takes less than judging them.
"""

from pathlib import Path
from random import Random
from typing import Final

from pyarrow import Table, parquet

from kgroup.journal import Entry
from kgroup.spark.audit.logs import EVENTS, SIFTED, list_kept
from kgroup.spark.audit.sifting import Part, sifted
from tests.spark.fleet import text_of
from tests.spark.sieving.planted import FAULTS, LongRun, Planted

LONG: Final = 10_000
"""Lines of a group, about."""
_RUNS: Final = 20
_EACH: Final = 4
"""Groups with a fault of one kind."""
_PART: Final = 500
"""Groups in a file."""
_NAME: Final = "g{:08}"


def write_many(folder: Path, lines: int, seed: int) -> tuple[int, dict[str, Planted]]:
    """Write at least so many lines; return how many, and the faults by the group they are in."""
    random = Random(seed)
    runs = [_text(LongRun(Random(seed + number), LONG).go()) for number in range(_RUNS)]
    groups = max(lines // LONG, 10 * len(FAULTS) * _EACH)
    kinds = [name for name in FAULTS for _ in range(_EACH)]
    places = random.sample(range(groups), len(kinds))
    planted = {place: FAULTS[kind](random, LONG) for place, kind in zip(places, kinds, strict=True)}
    for name in (EVENTS, SIFTED):
        (folder / name).mkdir(parents=True)
    written = 0
    for first in range(0, groups, _PART):
        rows = []
        with Part(folder / EVENTS) as part:
            for number in range(first, min(first + _PART, groups)):
                fault, name = planted.get(number), _NAME.format(number)
                text = runs[number % _RUNS] if fault is None else _text(fault.entries)
                named = text.replace(_NAME.format(0).encode(), name.encode())
                rows.append({"name": f"{name}.jsonl", **sifted(f"{name}.jsonl", [named], part)})
        parquet.write_table(Table.from_pylist(rows), folder / SIFTED / part.name)
        written += sum(row["lines"] for row in rows)
    list_kept(folder)
    return written, {_NAME.format(place): fault for place, fault in planted.items()}


def _text(entries: list[Entry]) -> bytes:
    return text_of(entries, _NAME.format(0)).encode()
