"""Where a fleet's events are read from: event logs, or the Parquet that was made of them.

Decides: what a folder of events holds: a row for each line, with what the sieve looks at as
columns, and the line itself for the judge. It is whole when its list of logs is written, last.
Never: judges, or changes a line.
"""

import gzip
import json
import os
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import unquote

from kgroup.audit import find_logs, merge_logs
from kgroup.audit.findings import COMPRESSED, merge_lines
from kgroup.errors import ArgumentError, ConfigError
from kgroup.journal import BadLine, Entry
from kgroup.journal.codec import Skips
from kgroup.spark.audit.form import COLUMNS
from kgroup.spark.audit.sieve import Frame, read
from kgroup.spark.table import functions
from kgroup.values import dataclass

VERSION: Final = 1
"""Of a folder of events; one of a newer version is not read."""

_EVENTS: Final = "events"
_LIST: Final = Path("_kgroup", "events.json")
_ROW_GROUP: Final = 16 << 20
"""Bytes: who reads one log reads little of its neighbours."""
_BATCH: Final = 8_192
_TOLD: Final = "path string, block int, mid bigint, `value` binary"


@dataclass(frozen=True, slots=True)
class Log:
    """One event log.

    Args:
        path: as Spark calls it.
        name: as it was named.
        part: file of the folder of events that holds it, "" for a log that is read itself.
        cut: whether its last line has no end.
    """

    path: str
    name: str
    part: str = ""
    cut: bool = False


LOG: Final = "path: string, name: string, part: string, cut: boolean"
"""A log as Spark has it."""
Read: TypeAlias = Iterator[Entry | BadLine]


class Logs(Protocol):
    """Where events are read from; a worker gets it too."""

    @property
    def empty(self) -> tuple[str, ...]:
        """Files without a line."""
        ...

    @property
    def some(self) -> bool:
        """Whether there is a line."""
        ...

    @property
    def kept(self) -> bool:
        """Whether lines are columns already, so that reading them again is cheap."""
        ...

    def lines(self, spark: Any) -> Frame:  # noqa: ANN401 - pyspark's session
        """Return lines as `kgroup.spark.audit.sieve.read` has them."""
        ...

    def named(self, paths: Iterable[str]) -> Mapping[str, Log]:
        """Return the log of each path that Spark read.

        Raises:
            ArgumentError: Spark has not read all.
        """
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
        ConfigError: a folder holds no events, only some of them, or those of a newer version.
        FileNotFoundError: a path or a pattern names no file.
    """
    named = [Path(each) for each in logs]
    folders = [each for each in named if each.is_dir()]
    if not folders:
        found = find_logs(named)
        return Files(found, tuple(str(path) for path in found if _is_empty(path)))
    if len(named) > 1:
        raise ConfigError("logs", str(folders[0]), "one folder of events, or logs, not both")
    return open_kept(folders[0])


@dataclass(frozen=True, slots=True)
class Files:
    """Event logs themselves.

    Args:
        paths: in order of name.
        empty: those without a line.
    """

    paths: tuple[Path, ...]
    empty: tuple[str, ...] = ()
    kept: bool = False

    @property
    def some(self) -> bool:
        """Whether there is a line."""
        return len(self.paths) > len(self.empty)

    def lines(self, spark: Any, *, text: bool = False) -> Frame:  # noqa: ANN401 - pyspark's session
        """Return lines; with `text` each as it stands in its file, too."""
        return read(spark, self._told(), text=text)

    def named(self, paths: Iterable[str]) -> Mapping[str, Log]:
        """Return the log of each path that Spark read."""
        known = {str(path.resolve()): str(path) for path in self._told()}
        found = {path: Log(path, known.pop(_plain(path))) for path in paths}
        if known:
            raise ArgumentError("logs", next(iter(known.values())), "a file that Spark reads")
        return found

    def merged(self, logs: Sequence[Log], skips: Skips | None = None) -> Read:
        """Return the entries of some logs, in order of time."""
        return merge_logs((Path(log.name) for log in logs), skips)

    def _told(self) -> list[Path]:
        return [path for path in self.paths if str(path) not in self.empty]


@dataclass(frozen=True, slots=True)
class Kept:
    """A folder of events.

    Args:
        folder: of this machine; workers see it too.
        logs: what it holds.
        empty: logs without a line.
    """

    folder: Path
    logs: tuple[Log, ...]
    empty: tuple[str, ...] = ()
    kept: bool = True

    @property
    def some(self) -> bool:
        """Whether there is a line."""
        return bool(self.logs)

    def lines(self, spark: Any) -> Frame:  # noqa: ANN401 - pyspark's session
        """Return lines."""
        return spark.read.schema(f"{_TOLD}, {COLUMNS}").parquet(str(self.folder / _EVENTS))

    def named(self, paths: Iterable[str]) -> Mapping[str, Log]:
        """Return the log of each path that Spark read."""
        known = {log.path: log for log in self.logs}
        return {path: known[path] for path in paths}

    def merged(self, logs: Sequence[Log], skips: Skips | None = None) -> Read:
        """Return the entries of some logs, in order of time."""
        return merge_lines(((log.name, self._text(log)) for log in logs), skips)

    def _text(self, log: Log) -> Iterator[str]:
        from pyarrow import dataset  # noqa: PLC0415 - optional

        part = dataset.dataset(self.folder / _EVENTS / log.part, format="parquet")
        before = None
        for batch in part.to_batches(
            columns=["text", "value"],
            filter=dataset.field("path") == log.path,
            batch_size=_BATCH,
            batch_readahead=1,
            fragment_readahead=1,
            use_threads=False,
        ):
            for plain, strange in zip(*(each.to_pylist() for each in batch.columns), strict=True):
                if before is not None:
                    yield before + "\n"
                before = (strange if plain is None else plain).decode("utf-8", "replace")
        if before is not None:
            yield before if log.cut else before + "\n"


# -- writing ---------------------------------------------------------------------------------------


def keep(spark: Any, files: Files, folder: Path) -> Kept:  # noqa: ANN401 - pyspark's session
    """Write the events of some logs as a folder of events, over what is there; return it."""
    (folder / _LIST).unlink(missing_ok=True)
    shutil.rmtree(folder / _EVENTS, ignore_errors=True)
    logs = _written(spark, files, folder) if files.some else ()
    return list_logs(Kept(folder, logs, files.empty))


def _written(spark: Any, files: Files, folder: Path) -> tuple[Log, ...]:  # noqa: ANN401
    f = functions()
    from pyspark.sql import Window  # noqa: PLC0415 - see `functions`

    order = Window.partitionBy("path").orderBy("block", "mid")
    (
        files.lines(spark, text=True)
        .withColumn("number", f.row_number().over(order))
        .withColumn("block", f.lit(0))
        .withColumn("mid", f.col("number").cast("bigint"))
        .drop("number")
        .write.mode("overwrite")
        .option("parquet.block.size", _ROW_GROUP)
        .parquet(str(folder / _EVENTS))
    )
    rows = spark.read.parquet(str(folder / _EVENTS))
    places = rows.select("path", f.col("_metadata.file_name").alias("part")).distinct().collect()
    parts = {row["path"]: row["part"] for row in places}
    return tuple(
        Log(path, log.name, parts[path], _is_cut(Path(log.name)))
        for path, log in files.named(parts).items()
    )


def list_logs(kept: Kept) -> Kept:
    """Write what a folder of events holds; it is whole then. Return it."""
    told = {
        "version": VERSION,
        "lines": _counted(kept.folder / _EVENTS),
        "logs": [asdict(log) for log in kept.logs],
        "empty": kept.empty,
    }
    path = kept.folder / _LIST
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    with new.open("w", encoding="utf-8") as file:
        json.dump(told, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    return kept


def open_kept(folder: Path) -> Kept:
    """Return a folder of events.

    Raises:
        ConfigError: it holds none, only some of them, or those of a newer version.
    """
    path = folder / _LIST
    if not path.exists():
        expected = "event logs, or a folder that --keep wrote"
        if (folder / _EVENTS).exists():
            expected = "a folder of events written to its end; --keep writes it anew"
        raise ConfigError("logs", str(folder), expected)
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        version = int(told["version"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        expected = f"a folder whose {path.name} can be read ({error!r}); --keep writes it anew"
        raise ConfigError("logs", str(folder), expected) from None
    if version > VERSION:
        expected = f"events of version {VERSION}, not of {version}: a newer kgroup wrote them"
        raise ConfigError("logs", str(folder), expected)
    if (found := _counted(folder / _EVENTS)) != told["lines"]:
        expected = f"{told['lines']:,} events, not {found:,}; --keep writes it anew"
        raise ConfigError("logs", str(folder), expected)
    return Kept(folder, tuple(Log(**log) for log in told["logs"]), tuple(told["empty"]))


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


# -- files -----------------------------------------------------------------------------------------


def _plain(uri: str) -> str:
    return re.sub("^/+", "/", unquote(uri.removeprefix("file:")))


def _is_empty(path: Path) -> bool:
    if path.suffix != COMPRESSED:
        return not path.stat().st_size
    try:
        with gzip.open(path) as file:
            return not file.read(1)
    except (EOFError, zlib.error):
        return False  # who reads it says what is wrong with it


def _is_cut(path: Path) -> bool:
    """Tell whether a file's last line has no end; the file has a line."""
    if path.suffix != COMPRESSED:
        with path.open("rb") as plain:
            plain.seek(-1, os.SEEK_END)
            return plain.read() != b"\n"
    last = b""
    with gzip.open(path) as file:
        while piece := file.read(1 << 20):
            last = piece[-1:]
    return last != b"\n"
