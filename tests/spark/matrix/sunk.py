"""What is in a sink, as the sink's own log says, and what stands in a checkpoint.

Decides: that a row counts when its file stands in `_spark_metadata`: what a task left behind that
was killed does not. Spark reads the folder by the same log.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlparse

Place = tuple[int, int]
"""Partition and offset."""

_BATCH: Final = re.compile(r"(\d+)(\.compact)?")


class Seen:
    """How often each offset of each partition was seen."""

    def __init__(self) -> None:
        self._counts: dict[int, bytearray] = {}

    def add(self, partition: int, offset: int) -> None:
        counts = self._counts.setdefault(partition, bytearray())
        if offset >= len(counts):
            counts.extend(bytes(offset + 1 - len(counts)))
        counts[offset] = min(255, counts[offset] + 1)

    def has(self, partition: int, offset: int) -> bool:
        counts = self._counts.get(partition, b"")
        return offset < len(counts) and counts[offset] > 0

    def columns(self) -> tuple[list[int], list[int]]:
        """Return partition and offset of all places that were seen."""
        partitions: list[int] = []
        offsets: list[int] = []
        for partition, counts in sorted(self._counts.items()):
            places = [offset for offset, count in enumerate(bytes(counts)) if count]
            partitions += [partition] * len(places)
            offsets += places
        return partitions, offsets

    def doubled(self) -> list[Place]:
        """Return the places that were seen more than once."""
        return sorted(
            (partition, offset)
            for partition, counts in list(self._counts.items())
            for offset, count in enumerate(bytes(counts))
            if count > 1
        )

    def rows(self) -> int:
        """Return how many there were in all."""
        return sum(sum(bytes(counts)) for counts in list(self._counts.values()))


class Sink:
    """The rows of a Parquet sink; each file is read once.

    Args:
        folder: of the sink.
    """

    def __init__(self, folder: Path) -> None:
        self._log = folder / "_spark_metadata"
        self._lines: set[str] = set()
        self._files: set[Path] = set()
        self._seen = Seen()

    def last(self) -> int:
        """Return the number of the last batch that is in the sink, -1 without any."""
        return max((number for number, _ in _numbered(self._log)), default=-1)

    def seen(self) -> Seen:
        """Return the rows that are in the sink now."""
        from pyarrow import parquet  # noqa: PLC0415 - an extra

        for path in self._new():
            rows = parquet.read_table(path, columns=["partition", "offset"])
            places = (rows.column(name).to_pylist() for name in ("partition", "offset"))
            for partition, offset in zip(*places, strict=True):
                self._seen.add(partition, offset)
        return self._seen

    def _new(self) -> list[Path]:
        new: list[Path] = []
        for _, entry in _numbered(self._log):
            if entry.name in self._lines:
                continue
            for line in entry.read_text(encoding="utf-8").splitlines()[1:]:
                path = Path(unquote(urlparse(json.loads(line)["path"]).path))
                new += [] if path in self._files else [path]
                self._files.add(path)
            self._lines.add(entry.name)
        return new


class Checkpoint:
    """What stands in the folders of a checkpoint.

    Args:
        folder: of the checkpoint.
        topic: that the query reads.
    """

    def __init__(self, folder: Path, topic: str) -> None:
        self._folder = folder
        self._topic = topic

    def planned(self) -> int:
        """Return the number of the last batch that was planned, -1 without any."""
        return max((number for number, _ in _numbered(self._folder / "offsets")), default=-1)

    def finished(self) -> int:
        """Return the number of the last batch that Spark knows to be over, -1 without any."""
        return max((number for number, _ in _numbered(self._folder / "commits")), default=-1)

    def spans(self, batch: int) -> Mapping[int, tuple[int, int]]:
        """Return partition -> from where to where a batch reads it."""
        text = (self._folder / "offsets" / str(batch)).read_text(encoding="utf-8")
        offset = json.loads(text.splitlines()[2])
        parts = offset["t"].get(self._topic, {"p": {}})["p"]
        return {int(number): (begin, end) for number, (begin, end) in parts.items()}


def _numbered(folder: Path) -> list[tuple[int, Path]]:
    if not folder.is_dir():
        return []
    matches = ((_BATCH.fullmatch(entry.name), entry) for entry in folder.iterdir())
    return sorted((int(match[1]), entry) for match, entry in matches if match)
