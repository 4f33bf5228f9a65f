"""What a group handled, as one table: what its query wrote, and what its members were given.

Decides: that a row of the query stands as often as it was written; a record that a member was given
too counts once, for a member that is killed leaves records to the next.
Never: judges; `kgroup spark verify` does.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from kgroup.demo.query import LABEL
from kgroup.demo.runner import Setting
from kgroup.journal import Delivered
from kgroup.journal.codec import BadLine, read_entries
from kgroup.journal.events import Entry

_PLACE = ["topic", "partition", "offset"]


def write_handled(spark: Any, setting: Setting, table: Path, out: Path) -> None:  # noqa: ANN401
    """Write the table.

    Args:
        spark: the session.
        setting: of the group.
        table: folder that the query wrote.
        out: folder for the result.
    """
    written = spark.read.parquet(str(table)).select(*_PLACE)
    rows = sorted(set(_given(setting)))
    form = "topic string, partition int, offset bigint"
    given = spark.createDataFrame(rows, form).join(written, _PLACE, "left_anti")
    written.unionByName(given).coalesce(1).write.parquet(str(out))


def _given(setting: Setting) -> Iterator[tuple[str, int, int]]:
    for path in sorted(setting.folder.glob("*.jsonl")):
        if path.stem == LABEL:
            continue
        with path.open(encoding="utf-8") as lines:
            yield from _places(read_entries(lines, path.name), setting.group)


def _places(entries: Iterable[Entry | BadLine], group: str) -> Iterator[tuple[str, int, int]]:
    for entry in entries:
        if not isinstance(entry, Entry) or entry.source.group != group:
            continue
        if isinstance(entry.event, Delivered):
            tp = entry.event.claim.tp
            for offset in range(entry.event.first, entry.event.last + 1):
                yield tp.topic, tp.partition, offset
