"""Where a fleet's events are read from: event logs, or the Parquet that was made of them.

Decides: what a folder of events holds: a row for each line, and what the sieve found in each log.
It is whole when its list is written, last.
Never: judges, or changes a line.
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias

from kgroup.audit import find_logs, merge_logs
from kgroup.audit.findings import merge_lines
from kgroup.errors import ConfigError
from kgroup.journal import BadLine, Entry
from kgroup.journal.codec import Skips
from kgroup.spark.audit.sifting import ROW, sift
from kgroup.spark.table import arrow_function
from kgroup.values import dataclass

Frame: TypeAlias = Any

VERSION: Final = 2
"""Of a folder of events; one of another version is not read. Raised also when the sieve changes,
for the folder has what it found."""

EVENTS: Final = "events"
SIFTED: Final = "sifted"
_LIST: Final = Path("_kgroup", "events.json")
_COUNTED: Final[Mapping[str, str]] = MappingProxyType({"events": EVENTS, "logs": SIFTED})
"""What the list counts -> the folder that holds it."""
_BATCH: Final = 8_192
_AT_ONCE: Final = 4
"""Tasks for each core, at most: logs are of different sizes, and a task has its cost."""


@dataclass(frozen=True, slots=True)
class Log:
    """One event log.

    Args:
        name: as it was named.
        part: file of the folder of events that holds it, None for a log that is read itself.
        cut: whether its last line has no end.
    """

    name: str
    part: str | None = None
    cut: bool = False


LOG: Final = "name: string, part: string, cut: boolean"
"""A log as Spark has it."""
Read: TypeAlias = Iterator[Entry | BadLine]


class Logs(Protocol):
    """Where events are read from; a worker gets it too."""

    def sifted(self, spark: Any) -> Frame:  # noqa: ANN401 - pyspark's session
        """Return what the sieve finds in each log: its `name`, and a `ROW`."""
        ...

    def merged(self, logs: Sequence[Log], skips: Skips | None = None) -> Read:
        """Return the entries of some logs, in order of time.

        Args:
            logs: which.
            skips: see `kgroup.journal.codec.read_entries`.

        Raises:
            OSError: one cannot be read.
        """
        ...


def open_logs(logs: Iterable[str | Path]) -> Logs:
    """Return what paths and patterns name: logs, or one folder of events.

    Raises:
        ConfigError: a folder holds no events, only some of them, or those of another version.
        FileNotFoundError: a path or a pattern names no file.
    """
    named = [Path(each) for each in logs]
    folders = [each for each in named if each.is_dir()]
    if not folders:
        return Files(find_logs(named), Path.cwd())
    if len(named) > 1:
        raise ConfigError("logs", str(folders[0]), "one folder of events, or logs, not both")
    return open_kept(folders[0].resolve())


@dataclass(frozen=True, slots=True)
class Files:
    """Event logs themselves.

    Args:
        paths: in order of name.
        base: the folder that they are relative to.
    """

    paths: tuple[Path, ...]
    base: Path

    def sifted(self, spark: Any, into: Path | None = None) -> Frame:  # noqa: ANN401 - pyspark's
        """Return what the sieve finds in each log; with a folder, lines are written there."""
        tasks = min(len(self.paths), spark.sparkContext.defaultParallelism * _AT_ONCE)
        names = spark.createDataFrame([(str(path),) for path in self.paths], "name string")
        found = arrow_function(
            partial(sift, self.base, into), f"struct<{ROW}>"
        ).asNondeterministic()
        rows = names.repartition(tasks).select("name", found("name").alias("row"))
        return rows.select("name", "row.*")

    def merged(self, logs: Sequence[Log], skips: Skips | None = None) -> Read:
        """Return the entries of some logs, in order of time."""
        return merge_logs((Path(log.name) for log in logs), skips, self.base)


@dataclass(frozen=True, slots=True)
class Kept:
    """A folder of events.

    Args:
        folder: of this machine; workers see it too.
    """

    folder: Path

    def sifted(self, spark: Any) -> Frame:  # noqa: ANN401 - pyspark's session
        """Return what the sieve found in each log."""
        return spark.read.schema(f"name string, {ROW}").parquet(str(self.folder / SIFTED))

    def merged(self, logs: Sequence[Log], skips: Skips | None = None) -> Read:
        """Return the entries of some logs, in order of time."""
        return merge_lines(((log.name, self._text(log)) for log in logs), skips)

    def _text(self, log: Log) -> Iterator[str]:
        from pyarrow import dataset  # noqa: PLC0415 - optional

        part = dataset.dataset(self.folder / EVENTS / str(log.part), format="parquet")
        before = None
        for batch in part.to_batches(
            columns=["text"],
            filter=dataset.field("name") == log.name,
            batch_size=_BATCH,
            batch_readahead=1,
            fragment_readahead=1,
            use_threads=False,
        ):
            for line in batch.column(0).to_pylist():
                if before is not None:
                    yield before + "\n"
                before = line.decode("utf-8", "replace")
        if before is not None:
            yield before if log.cut else before + "\n"


# -- writing ---------------------------------------------------------------------------------------


def keep(spark: Any, files: Files, folder: Path) -> Kept:  # noqa: ANN401 - pyspark's session
    """Write the events of some logs as a folder of events, over what is there; return it.

    Raises:
        ConfigError: a log lies where they are to be written.
    """
    folder = folder.resolve()
    for path in files.paths:
        inside = (files.base / path).resolve().parents
        if folder / EVENTS in inside or folder / SIFTED in inside:
            raise ConfigError("keep", str(folder), f"a folder that {path} does not lie in")
    (folder / _LIST).unlink(missing_ok=True)
    shutil.rmtree(folder / EVENTS, ignore_errors=True)
    (folder / EVENTS).mkdir(parents=True)
    sifted = files.sifted(spark, folder / EVENTS)
    sifted.write.mode("overwrite").parquet(str(folder / SIFTED))
    return list_kept(folder)


def list_kept(folder: Path) -> Kept:
    """Write what a folder of events holds; it is whole then. Return it.

    Parts that no log lies in are removed: a task that was killed left them.
    """
    _remove_strays(folder)
    told = {"version": VERSION, **_counts(folder)}
    path = folder / _LIST
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    with new.open("w", encoding="utf-8") as file:
        json.dump(told, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    return Kept(folder)


def open_kept(folder: Path) -> Kept:
    """Return a folder of events.

    Raises:
        ConfigError: it holds none, only some of them, or those of another version.
    """
    path = folder / _LIST
    if not path.exists():
        expected = "event logs, or a folder that --keep wrote"
        if (folder / EVENTS).exists():
            expected = "a folder of events written to its end; --keep writes it anew"
        raise ConfigError("logs", str(folder), expected)
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        version, counts = int(told["version"]), {what: int(told[what]) for what in _COUNTED}
    except (OSError, ValueError, KeyError, TypeError) as error:
        expected = f"a folder whose {path.name} can be read ({error!r}); --keep writes it anew"
        raise ConfigError("logs", str(folder), expected) from None
    if version != VERSION:
        wrote = "a newer kgroup wrote them" if version > VERSION else "--keep writes them anew"
        expected = f"events of version {VERSION}, not of {version}: {wrote}"
        raise ConfigError("logs", str(folder), expected)
    for what, count in _counts(folder).items():
        if count != counts[what]:
            expected = f"{counts[what]:,} {what}, not {count:,}; --keep writes it anew"
            raise ConfigError("logs", str(folder), expected)
    return Kept(folder)


def _counts(folder: Path) -> dict[str, int]:
    """Return how many events and logs a folder has.

    Raises:
        ConfigError: a file in it is damaged.
    """
    return {what: _counted(folder / each) for what, each in _COUNTED.items()}


def _remove_strays(folder: Path) -> None:
    from pyarrow import dataset  # noqa: PLC0415 - optional

    named = dataset.dataset(folder / SIFTED, format="parquet").to_table(["part"]).column("part")
    known = set(named.to_pylist())
    for path in (folder / EVENTS).glob("*.parquet"):
        if path.name not in known:
            path.unlink()


def _counted(folder: Path) -> int:
    """Return how many rows the parts of a folder have.

    Raises:
        ConfigError: a part is damaged.
    """
    from pyarrow import ArrowException, parquet  # noqa: PLC0415 - optional

    count = 0
    for part in sorted(folder.glob("*.parquet")):
        try:
            count += parquet.read_metadata(part).num_rows
        except (ArrowException, OSError) as error:
            expected = f"a whole file of Parquet ({error}); --keep writes it anew"
            raise ConfigError("logs", str(part), expected) from None
    return count
