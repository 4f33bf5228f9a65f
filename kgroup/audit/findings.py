"""Single findings, gathered into problems.

Decides: that the same wrong at the same partition is one problem, with a count and a few lines.
Never: drops a finding; a run that is broken a million times has few problems with large counts.
"""

import glob
import gzip
import heapq
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final, TextIO

from kgroup.audit.verdict import Problem, ProblemKind
from kgroup.journal import BadLine, Entry, read_entries
from kgroup.journal.codec import Skips
from kgroup.types import TopicPartition
from kgroup.values import dataclass

COMPRESSED: Final = ".gz"
"""Ends the name of a log that is to be decompressed."""
_LINES: Final = 6


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Args:
        kind: what.
        text: what happened, with its numbers.
        entries: the entries that prove it.
        tp: the partition, None when it is about a log or a member.
        rule: id of the broken property, "" when the audit itself found it.
        count: records, or 1.
    """

    kind: ProblemKind
    text: str
    entries: tuple[Entry, ...] = ()
    tp: TopicPartition | None = None
    rule: str = ""
    count: int = 1


class Findings:
    """Gathers findings in order of first appearance."""

    __slots__ = ("_problems",)

    def __init__(self) -> None:
        self._problems: dict[tuple[ProblemKind, TopicPartition | None, str], Problem] = {}

    def add(self, finding: Finding, *, lines: tuple[str, ...] = ()) -> None:
        """Take one finding; `lines` are places that have no entry."""
        key = (finding.kind, finding.tp, finding.rule)
        lines = (*(entry.where or str(entry) for entry in finding.entries), *lines)
        known = self._problems.get(key)
        if known is None:
            self._problems[key] = Problem(
                kind=finding.kind,
                text=finding.text,
                tp=finding.tp,
                rule=finding.rule,
                count=finding.count,
                lines=tuple(dict.fromkeys(lines))[:_LINES],
            )
            return
        self._problems[key] = replace(
            known,
            count=known.count + finding.count,
            lines=tuple(dict.fromkeys((*known.lines, *lines)))[:_LINES],
        )

    def problems(self) -> tuple[Problem, ...]:
        """Return what was found, partitions in order within each kind."""
        return ordered(self._problems.values())

    def nothing_delivered(self, entries: int, members: int) -> None:
        """Take that a run holds no delivery."""
        text = f"{entries} entries of {members} members hold no delivery"
        self.add(Finding(ProblemKind.EMPTY, text))


def ordered(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return problems by kind, partition and rule."""
    order = {kind: number for number, kind in enumerate(ProblemKind)}
    nowhere = TopicPartition("", -1)
    return tuple(sorted(problems, key=lambda p: (order[p.kind], p.tp or nowhere, p.rule)))


# -- reading --------------------------------------------------------------------------------------
#
# Many members' logs as one stream of entries, in order of time.
#
# Decides: which files are read, and how entries of different processes and machines are ordered.
# Never: keeps a log in memory; one line per file at a time.
#
# Order: entries of one machine carry one monotonic clock and are ordered by it, however the wall
# clock jumps. Machines are tied together by their wall clocks once, at the first entry seen of
# each;
# then `at` of every entry is rewritten to the clock of the first machine. A file is taken to be in
# order already: one process writes it.


def find_logs(patterns: Iterable[str | Path]) -> tuple[Path, ...]:
    """Return the files that paths and glob patterns name, each once, in order of name.

    Raises:
        FileNotFoundError: a path or a pattern names no file.
    """
    found: set[Path] = set()
    for pattern in patterns:
        paths = [Path(path) for path in glob.glob(str(pattern), recursive=True)]  # noqa: PTH207 - absolute patterns
        files = [path for path in paths if path.is_file()]
        if not files:
            raise FileNotFoundError(f"no event log matches {str(pattern)!r}")
        found.update(files)
    return tuple(sorted(found))


def merge_logs(
    paths: Iterable[Path], skips: Skips | None = None, base: Path = Path()
) -> Iterator[Entry | BadLine]:
    """Read logs side by side, in order of time; a bad line comes where its file stands.

    A file whose name ends in `.gz` is decompressed.

    Args:
        paths: of the logs.
        skips: see `kgroup.journal.codec.read_entries`.
        base: the folder that paths are relative to, the current one by default.

    Raises:
        OSError: a file cannot be read, or not to its end.
    """
    with ExitStack() as stack:
        files = ((path, stack.enter_context(_opened(base / path))) for path in paths)
        yield from merge_lines(((str(path), _lines(file, path)) for path, file in files), skips)


def merge_lines(
    logs: Iterable[tuple[str, Iterable[str]]], skips: Skips | None = None
) -> Iterator[Entry | BadLine]:
    """Read logs as `merge_logs` does.

    Args:
        logs: the name of each, and its lines with their ends.
        skips: see `kgroup.journal.codec.read_entries`.
    """
    clocks: dict[str, float] = {}
    streams = [_timed(read_entries(lines, name, skips), clocks) for name, lines in logs]
    for _, item in heapq.merge(*streams, key=lambda timed: timed[0]):
        yield item


def _opened(path: Path) -> TextIO:
    if path.suffix == COMPRESSED:
        return gzip.open(path, "rt", encoding="utf-8", errors="replace", newline="\n")
    return path.open(encoding="utf-8", errors="replace", newline="\n")


def _lines(file: TextIO, path: Path) -> Iterator[str]:
    try:
        yield from file
    except (EOFError, zlib.error) as error:
        raise OSError(f"{path}: what is compressed ends too early, or is damaged") from error


def _timed(
    items: Iterable[Entry | BadLine], clocks: dict[str, float]
) -> Iterator[tuple[float, Entry | BadLine]]:
    """Pair each item with its time on the first machine's clock; `clocks` holds wall minus at."""
    now = float("-inf")
    for item in items:
        if isinstance(item, BadLine):
            yield now, item
            continue
        ahead = clocks.setdefault(item.source.host, item.wall - item.at)
        shift = ahead - next(iter(clocks.values()))
        entry = item if shift == 0.0 else replace(item, at=item.at + shift)
        now = entry.at
        yield now, entry
