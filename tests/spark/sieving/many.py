"""A fleet of any size as a folder of events, by a seed: groups that are well, and each fault.

Decides: which groups have a fault, of which kind and where. The groups that are well are a few long
runs under many names, so that writing them takes less than judging them.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
from pyarrow import compute, parquet

from kgroup.journal import Entry, encode_entry
from kgroup.spark.audit.logs import Kept, Log, list_logs
from tests.spark.sieving.planted import FAULTS, LongRun, Planted

LONG: Final = 10_000
"""Lines of a group, about."""
_RUNS: Final = 20
_EACH: Final = 4
"""Groups with a fault of one kind."""
_PART: Final = 500
"""Groups in a file."""
_NAME: Final = "g{:08}"
_TEXTS: Final = ("event", "kind", "phase", "cause", "move", "stage")
_NUMBERS: Final = ("offset", "first", "last", "count")
_CLAIM: Final = pa.list_(pa.string())


def write_many(folder: Path, lines: int, seed: int) -> tuple[int, dict[str, Planted]]:
    """Write at least so many lines; return how many, and the faults by the group they are in."""
    random = Random(seed)
    runs = [_table(LongRun(Random(seed + number), LONG).go()) for number in range(_RUNS)]
    groups = max(lines // LONG, 10 * len(FAULTS) * _EACH)
    kinds = [name for name in FAULTS for _ in range(_EACH)]
    places = random.sample(range(groups), len(kinds))
    planted = {place: FAULTS[kind](random, LONG) for place, kind in zip(places, kinds, strict=True)}
    written, logs = 0, []
    (folder / "events").mkdir(parents=True)
    for part in range(0, groups, _PART):
        path = folder / "events" / f"part-{part:08}.parquet"
        with parquet.ParquetWriter(path, runs[0].schema, compression="zstd") as file:
            for number in range(part, min(part + _PART, groups)):
                fault = planted.get(number)
                run = runs[number % _RUNS] if fault is None else _table(fault.entries)
                named = _named(run, _NAME.format(number))
                file.write_table(named)
                written += named.num_rows
                logs.append(Log(_NAME.format(number), f"{_NAME.format(number)}.jsonl", path.name))
    list_logs(Kept(folder, tuple(logs)))
    return written, {_NAME.format(place): fault for place, fault in planted.items()}


def _named(run: pa.Table, name: str) -> pa.Table:
    """Return a run under the name of a group."""
    same = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), run.num_rows), [name])
    text = compute.replace_substring(run["text"].cast(pa.string()), _NAME.format(0), name)
    run = run.set_column(run.schema.get_field_index("path"), "path", same.cast(pa.string()))
    run = run.set_column(run.schema.get_field_index("group"), "group", same.cast(pa.string()))
    return run.set_column(run.schema.get_field_index("text"), "text", text.cast(pa.binary()))


def _table(entries: list[Entry]) -> pa.Table:
    lines = [
        encode_entry(replace(entry, source=entry.source._replace(group=_NAME.format(0))))
        for entry in entries
    ]
    rows = [json.loads(line) for line in lines]
    columns: dict[str, pa.Array] = {
        "path": pa.array([""] * len(rows), pa.string()),
        "block": pa.array([0] * len(rows), pa.int32()),
        "mid": pa.array(range(1, len(rows) + 1), pa.int64()),
        "value": pa.nulls(len(rows), pa.binary()),
        "text": pa.array([line.encode() for line in lines], pa.binary()),
    }
    return pa.table({**columns, **dict(_fields(rows))})


def _fields(rows: list[Mapping[str, Any]]) -> Iterator[tuple[str, pa.Array]]:
    for name in ("host", "process", "member", "group", *_TEXTS):
        yield name, pa.array([row.get(name) for row in rows], pa.string())
    for name in ("seq", *_NUMBERS):
        yield name, pa.array([row.get(name) for row in rows], pa.int64())
    for name in ("at", "wall"):
        yield name, pa.array([row[name] for row in rows], pa.float64())
    yield "claim", pa.array([_claim(row.get("claim")) for row in rows], _CLAIM)
    claims = [None if "claims" not in row else [*map(_claim, row["claims"])] for row in rows]
    yield "claims", pa.array(claims, pa.list_(_CLAIM))


def _claim(value: list[object] | None) -> list[str] | None:
    return None if value is None else [str(each) for each in value]
