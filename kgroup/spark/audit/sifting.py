"""Logs through the sieve, on a worker: one after the other, each read once.

Decides: what is told of a log, as a row; and of logs that are kept, which lines lie in which file
of Parquet.
Never: keeps a log in memory.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from io import BufferedReader
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

from kgroup.audit.findings import COMPRESSED
from kgroup.spark.audit.belonging import Lines
from kgroup.spark.audit.passing import Claimed, Passed
from kgroup.spark.audit.sieve import Pass, Sieved

ROW: Final = (
    "part string, cut boolean, lines bigint, sources string, "
    "groups array<struct<whose string, claims string>>"
)
"""Of one log: the file of Parquet that holds it, whether its last line has no end, its lines, and
what the sieve found, as JSON."""
_PIECE: Final = 1 << 20
_ROW_GROUP: Final = 1 << 20
"""Bytes, at least: who reads one log reads little of its neighbours."""
_LEVEL: Final = 1


class Part:
    """A file of Parquet with the lines of some logs, each a row.

    Args:
        folder: for it.
    """

    def __init__(self, folder: Path) -> None:
        from pyarrow import parquet, schema  # noqa: PLC0415 - optional

        # A task may run twice.
        self.name = f"part-{uuid4().hex}.parquet"
        form = schema([("name", "string"), ("text", "binary")])
        self._file = parquet.ParquetWriter(
            folder / self.name,
            form,
            compression="zstd",
            compression_level=_LEVEL,
            use_dictionary=["name"],
        )
        self._form = form
        self._names: list[str] = []
        self._lines: list[bytes] = []
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._flush()
        self._file.close()

    def write(self, name: str, lines: Sequence[bytes], size: int) -> None:
        """Write lines of a log."""
        self._names += [name] * len(lines)
        self._lines += lines
        self._size += size
        if self._size >= _ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        from pyarrow import table  # noqa: PLC0415 - optional

        if self._lines:
            rows = table([self._names, self._lines], schema=self._form)
            self._file.write_table(rows)
        self._names, self._lines, self._size = [], [], 0


def sift(base: Path, folder: Path | None, batches: Iterable[Any]) -> Iterator[Any]:
    """Return what the sieve finds in logs, for batches of their names; Arrow in and out.

    Args:
        base: the folder that names are relative to: a worker has another than who named them.
        folder: where their lines are written, None for nowhere.
        batches: names.

    Raises:
        OSError: a log cannot be read, or not to its end.
    """
    import pyarrow as pa  # noqa: PLC0415 - optional

    group = pa.struct([("whose", pa.string()), ("claims", pa.string())])
    form = pa.struct(
        [
            ("part", pa.string()),
            ("cut", pa.bool_()),
            ("lines", pa.int64()),
            ("sources", pa.string()),
            ("groups", pa.list_(group)),
        ]
    )
    for names in batches:
        if folder is None:
            rows = [sifted(name, pieces(base / name)) for name in names.to_pylist()]
        else:
            with Part(folder) as part:
                rows = [sifted(name, pieces(base / name), part) for name in names.to_pylist()]
        yield pa.array(rows, form)


def sifted(name: str, found: Iterable[bytes], part: Part | None = None) -> dict[str, Any]:
    """Return what the sieve finds in a log, as a `ROW`.

    Args:
        name: of the log.
        found: its pieces, each of whole lines.
        part: takes its lines.
    """
    sieve, lines, cut = Pass(name), 0, False
    for piece in found:
        cut = not piece.endswith(b"\n")
        whole = piece.removesuffix(b"\n")
        texts = whole.decode("latin-1").split("\n")
        sieve.take(texts)
        lines += len(texts)
        if part is not None:
            part.write(name, whole.split(b"\n"), len(whole))
    return {
        "part": None if part is None else part.name,
        "cut": cut,
        "lines": lines,
        **_told(sieve.end()),
    }


def pieces(path: Path) -> Iterator[bytes]:
    """Read a log in pieces of whole lines; one whose name ends in `.gz` is decompressed.

    Raises:
        OSError: it cannot be read, or not to its end.
    """
    try:
        with _opened(path) as file:
            yield from _whole(iter(partial(file.read, _PIECE), b""))
    except (EOFError, zlib.error) as error:
        raise OSError(f"{path}: what is compressed ends too early, or is damaged") from error


def _opened(path: Path) -> gzip.GzipFile | BufferedReader:
    return gzip.open(path) if path.suffix == COMPRESSED else path.open("rb")


def _whole(reads: Iterable[bytes]) -> Iterator[bytes]:
    rest = bytearray()
    for read in reads:
        head, end, tail = read.rpartition(b"\n")
        if end:
            yield bytes(rest) + head + end
            rest.clear()
        rest += tail
    if rest:
        yield bytes(rest)


# -- rows ------------------------------------------------------------------------------------------


def _told(found: Sieved) -> dict[str, Any]:
    sources = [{**asdict(each), "path": ""} for each in found.lines]
    groups = [
        {"whose": group or "", "claims": None if claims is None else json.dumps(claims)}
        for group, claims in found.passed.items()
    ]
    return {"sources": json.dumps(sources), "groups": groups}


def lines_of(name: str, sources: str) -> Iterator[Lines]:
    """Yield what a row says of the sources of a log."""
    for row in json.loads(sources):
        source = row["source"] and tuple(row["source"])
        yield Lines(**{**row, "path": name, "source": source, "first": tuple(row["first"])})


def claims_of(claims: str | None) -> Passed:
    """Return what a row says of the claims of a group."""
    return None if claims is None else [Claimed(*row) for row in json.loads(claims)]
