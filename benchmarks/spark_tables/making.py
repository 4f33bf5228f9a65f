"""Records of a coordination log, by a seed: commits, and generations of groups.

Decides: that bytes are a coordinator's: each is encoded once, and the offset in it changed.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet

from kgroup.spark.coordination import declared as d
from kgroup.spark.coordination.schema import arrow_schema
from kgroup.spark.coordination.silver import OFFSETS_TOPIC
from kgroup.wire.offsets_log import CommitKey, CommitValue, RecordType
from kgroup.wire.schema import encode
from tests.spark.coordinator import T0, TOPIC_ID, Log
from tests.wire.offsets_keys import written

PARTITIONS: Final = 50
_BATCH: Final = 100_000
_OFFSET: Final = struct.Struct(">q")


def commits(count: int, groups: int, logs: int = 2) -> Iterator[pa.RecordBatch]:
    """Yield records of commits: each group commits each partition again and again.

    Args:
        count: records.
        groups: that commit; each lies in one log partition.
        logs: log partitions.
    """
    keys = [
        written(CommitKey(RecordType.COMMIT, f"group-{group}", "orders", partition))
        for group in range(groups)
        for partition in range(PARTITIONS)
    ]
    value = b"\0\4" + encode(
        CommitValue(offset=0, metadata="", commit_timestamp=T0, topic_id=TOPIC_ID), 4
    )
    head, tail = value[:2], value[10:]
    ends = [0] * logs
    for first in range(0, count, _BATCH):
        numbers = range(first, min(first + _BATCH, count))
        places = [number % len(keys) for number in numbers]
        partitions = [place // PARTITIONS % logs for place in places]
        offsets = []
        for partition in partitions:
            offsets.append(ends[partition])
            ends[partition] += 1
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([OFFSETS_TOPIC] * len(numbers), pa.string()),
                pa.array(partitions, pa.int32()),
                pa.array(offsets, pa.int64()),
                pa.array([T0 + number for number in numbers], pa.int64()),
                pa.array([True] * len(numbers), pa.bool_()),
                pa.array([keys[place] for place in places], pa.binary()),
                pa.array(
                    [head + _OFFSET.pack(number // len(keys)) + tail for number in numbers],
                    pa.binary(),
                ),
                pa.nulls(len(numbers), arrow_schema(d.RAW).field("headers").type),
            ],
            schema=arrow_schema(d.RAW),
        )


def day(folder: Path, groups: int, count: int, rebalances: int) -> int:
    """Write a day as `raw` of a folder: commits, and generations of groups; return its records."""
    rows: list[dict[str, Any]] = []
    for group in range(groups):
        log = Log(group % PARTITIONS)
        log.now += group
        members = ["a", "b", "c"]
        for number in range(1, max(rebalances // groups, 1) + 1):
            owners: dict[str, list[tuple[str, int]]] = {each: [] for each in members}
            for partition in range(10):
                owners[members[(partition + number) % 3]].append(("orders", partition))
            log.generation(number, owners, group=f"group-{group}")
            for turn in range(max(count // groups // max(rebalances // groups, 1), 1)):
                log.commit(
                    turn + number * 1000,
                    group=f"group-{group}",
                    topic="orders",
                    partition=turn % 10,
                )
        rows += [record._asdict() for record in log.records]
    (folder / "raw").mkdir(parents=True)
    table = _numbered(rows)
    parquet.write_table(table, folder / "raw" / "part-0.parquet")
    return len(rows)


def _numbered(rows: list[dict[str, Any]]) -> pa.Table:
    """Return records of one log partition numbered one behind the other."""
    ends: dict[int, int] = {}
    for row in rows:
        number = row["log_partition"]
        row["log_offset"] = ends.get(number, 0)
        ends[number] = row["log_offset"] + 1
    return pa.Table.from_pylist(rows, arrow_schema(d.RAW))
