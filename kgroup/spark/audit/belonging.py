"""Which files are whose, and what they alone say against a group.

Decides: a group's files: those with a line of one of its members, and those with a fault of its run
that names no group. A file that nobody's line is in is judged as nobody's.
Never: opens a file, or says that a group is well; it only says why one must be judged.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TypeAlias

from kgroup.values import dataclass

GroupKey: TypeAlias = tuple[str, str | None]
"""A run, "" when all logs are one, and a group in it; None for members without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """The lines of one source in one file, or of one group that the sieve cannot read there.

    Args:
        path: the file.
        source: host, process and member; None for lines that the sieve cannot read.
        group: their group, None without one.
        entries: how many.
        own: of these, by members; not by who makes faults or watches the coordinator.
        faults: of these, faults.
        stored: of these, what the coordinator stored.
        first: number of the first line in its file, its wall clock and its machine's clock.
        first_at: its machine's clock.
        last_at: the last one's.
        why: what is not plain about them, None for nothing.
    """

    path: str
    source: tuple[str, str, str] | None = None
    group: str | None = None
    entries: int = 0
    own: int = 0
    faults: int = 0
    stored: int = 0
    first: tuple[int, float, float] = (0, 0.0, 0.0)
    first_at: float = 0.0
    last_at: float = 0.0
    why: str | None = None


@dataclass(slots=True)
class Gathered:
    """What is known of one group before its lines are looked at one by one.

    Args:
        key: its run and name.
        paths: its files, in order.
        entries: lines in them that are its own.
        members: lives of members.
        span: first and last clock, tied to that of the first file's machine.
        why: why it must be judged, None when nothing speaks against it yet.
        shifts: file -> what ties its machine's clock to the first machine's, seconds.
    """

    key: GroupKey
    paths: Sequence[str] = ()
    entries: int = 0
    members: int = 0
    span: tuple[float, float] = (0.0, 0.0)
    why: str | None = None
    shifts: Mapping[str, float] = field(default_factory=dict)


def gather(
    lines: Iterable[Lines], names: Mapping[str, Path], runs: Mapping[str, str]
) -> list[Gathered]:
    """Return the groups of some logs, in order.

    Args:
        lines: what the files hold.
        names: file -> its path, by which files are in order.
        runs: file -> its run.
    """
    by_path: dict[str, list[Lines]] = {}
    for each in lines:
        by_path.setdefault(each.path, []).append(each)
    files: dict[GroupKey, set[str]] = {}
    for path, those in by_path.items():
        for each in those:
            if each.own:
                files.setdefault((runs[path], each.group), set()).add(path)
    for path, those in by_path.items():
        for key in _concerned(those, runs[path], files):
            files.setdefault(key, set()).add(path)
    return [
        _gathered(key, sorted(files[key], key=names.__getitem__), by_path)
        for key in sorted(files, key=lambda key: (key[0], key[1] or ""))
    ]


def _concerned(
    those: Collection[Lines], run: str, files: Mapping[GroupKey, set[str]]
) -> list[GroupKey]:
    """Return the groups that a file's faults concern; nobody, if no group is in the file."""
    if any(each.faults and each.group is None for each in those):
        return [key for key in files if key[0] == run] or [(run, None)]
    told = {(run, each.group) for each in those if each.faults or each.stored} & files.keys()
    return sorted(told, key=str) or ([] if any(each.own for each in those) else [(run, None)])


def _gathered(key: GroupKey, paths: Sequence[str], by_path: Mapping[str, list[Lines]]) -> Gathered:
    found = Gathered(key, paths)
    inside = [each for path in paths for each in by_path[path]]
    mine = [each for each in inside if each.group == key[1] and each.source is not None]
    sources = [each.source for each in mine]
    found.entries, found.members = sum(each.entries for each in mine), len(set(sources))
    found.why = next((each.why for each in mine if each.why is not None), None)
    if any(each.source is None for each in inside):
        found.why = "a line is not in the writer's form"
    elif any(each.faults for each in inside):
        found.why = "faults were made"
    elif len(sources) != len(set(sources)):
        found.why = "a member's log is in several files"
    elif any(len(_hosts(by_path[path])) != 1 for path in paths):
        found.why = "several machines wrote to one file"
    else:
        found.shifts = _shifts(paths, by_path)
        times = [(each.first_at, each.last_at, found.shifts[each.path]) for each in mine]
        found.span = (
            min((tied(first, shift) for first, _, shift in times), default=0.0),
            max((tied(last, shift) for _, last, shift in times), default=0.0),
        )
    return found


def _hosts(those: Iterable[Lines]) -> set[str]:
    return {each.source[0] for each in those if each.source is not None}


def tied(at: float, shift: float) -> float:
    """Return a machine's time on the clock of the first machine, as `merge_logs` reckons it."""
    return at if shift == 0.0 else at + shift


def _shifts(paths: Sequence[str], by_path: Mapping[str, list[Lines]]) -> dict[str, float]:
    """Return for each file how far its machine's clock is behind the first machine's."""
    clocks: dict[str, float] = {}
    shifts = {}
    for path in paths:
        (host,) = _hosts(by_path[path])
        _, wall, at = min(each.first for each in by_path[path])
        ahead = clocks.setdefault(host, wall - at)
        shifts[path] = ahead - next(iter(clocks.values()))
    return shifts
