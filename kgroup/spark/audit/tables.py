"""A fleet's verdict as tables: groups, their partitions, their problems.

Decides: the columns.
Never: judges; rows say what `kgroup.audit.verdict_json` says.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from kgroup.spark.audit.fleet import FleetVerdict, GroupVerdict
from kgroup.spark.coordination.schema import Column, Kind, Layer, Row, Table
from kgroup.spark.coordination.store import write_file
from kgroup.spark.coordination.tables import arrow_of

_KEY: Final = (
    Column("run", Kind.TEXT, "folder of the logs, empty when all logs are one run"),
    Column("group", Kind.TEXT, "name of the group"),
)
_PLACE: Final = (
    Column("topic", Kind.TEXT, "name of the topic"),
    Column("partition", Kind.LONG, "number of the partition"),
)
_COUNTS: Final = (
    "start", "end", "committed", "records", "lost", "duplicated", "beyond_commit", "out_of_order",
    "not_owned", "two_owners", "periods",
)  # fmt: skip
_SILENCES: Final = ("silence", "silence_moved", "silence_stayed")
_SAID: Final = "as `PartitionVerdict` has it"

GROUPS: Final = Table(
    "groups",
    Layer.GOLD,
    "a group",
    (
        *_KEY,
        Column("clean", Kind.FLAG, "whether nothing is wrong"),
        Column("why", Kind.TEXT, "why it was judged line by line; null when it passed the sieve"),
        Column("files", Kind.TEXTS, "the logs that hold it"),
        Column("entries", Kind.LONG, "lines"),
        Column("members", Kind.LONG, "lives of members"),
        Column("seconds", Kind.REAL, "from the first line to the last"),
        Column("notes", Kind.TEXTS, "what a person should know"),
    ),
)
PARTITIONS: Final = Table(
    "partitions",
    Layer.GOLD,
    "a partition that a group read",
    (
        *_KEY,
        *_PLACE,
        *(Column(name, Kind.LONG, _SAID) for name in _COUNTS),
        *(Column(name, Kind.REAL, _SAID) for name in _SILENCES),
    ),
)
PROBLEMS: Final = Table(
    "problems",
    Layer.GOLD,
    "one kind of wrong at one partition of a group",
    (
        *_KEY,
        Column("kind", Kind.TEXT, "what is wrong"),
        Column("rule", Kind.TEXT, "id of the broken promise, empty when the audit found it"),
        Column("partition", Kind.TEXT, "topic and number; null when it is about a log or a member"),
        Column("count", Kind.LONG, "records, or times"),
        Column("text", Kind.TEXT, "what happened the first time"),
        Column("lines", Kind.TEXTS, "file and line of what proves it, the first few"),
    ),
)
TABLES: Final[Mapping[str, Table]] = MappingProxyType(
    {table.name: table for table in (GROUPS, PARTITIONS, PROBLEMS)}
)


def rows(verdict: FleetVerdict) -> dict[str, list[Row]]:
    """Return the rows of each table."""
    found: dict[str, list[Row]] = {name: [] for name in TABLES}
    for group in verdict.groups:
        for name, row in _rows(group):
            found[name].append({"run": group.run, "group": group.group, **row})
    return found


def _rows(group: GroupVerdict) -> Iterator[tuple[str, Row]]:
    said = group.verdict
    names = ("clean", "entries", "members", "seconds", "notes")
    told = {name: said[name] for name in names}
    yield GROUPS.name, {**told, "why": group.why, "files": list(group.files)}
    for row in said["partitions"]:
        yield PARTITIONS.name, row
    for row in said["problems"]:
        yield PROBLEMS.name, row


def write(verdict: FleetVerdict, folder: Path) -> None:
    """Write each table as a folder of Parquet, in the place of what is there."""
    for name, those in rows(verdict).items():
        write_file(arrow_of(TABLES[name], those), folder / name)
