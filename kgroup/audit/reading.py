"""Many members' logs as one stream of entries, in order of time.

Decides: which files are read, and how entries of different processes and machines are ordered.
Never: keeps a log in memory; one line per file at a time.

Order: entries of one machine carry one monotonic clock and are ordered by it, however the wall
clock jumps. Machines are tied together by their wall clocks once, at the first entry seen of each;
then `at` of every entry is rewritten to the clock of the first machine. A file is taken to be in
order already: one process writes it.
"""

import glob
import heapq
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from kgroup.journal import BadLine, Entry, read_entries

__all__ = ["find_logs", "merge_logs"]


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


def merge_logs(paths: Iterable[Path]) -> Iterator[Entry | BadLine]:
    """Read logs side by side, in order of time; a bad line comes where its file stands.

    Raises:
        OSError: a file cannot be read.
    """
    clocks: dict[str, float] = {}
    with ExitStack() as stack:
        streams = []
        for path in paths:
            lines = stack.enter_context(path.open(encoding="utf-8", errors="replace", newline="\n"))
            streams.append(_timed(read_entries(lines, str(path)), clocks))
        for _, item in heapq.merge(*streams, key=lambda timed: timed[0]):
            yield item


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
