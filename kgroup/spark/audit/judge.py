"""The judge of one group, on a worker: its files are read there, line by line.

Decides: nothing of its own; `kgroup.audit` judges. A bad line in a file of the group counts against
it, for nobody knows whose it was.
Never: keeps a log in memory, so a group may be as large as it likes.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kgroup.audit import Truth, Verdict, audit_entries, merge_logs, verdict_json
from kgroup.audit.oracles import at_least_once
from kgroup.errors import DecodeError
from kgroup.journal import (
    BadLine,
    CommitStored,
    Entry,
    FaultStep,
    RoundStored,
    decode_entry,
)
from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.words import Word

STORED: Final = ("commit_stored", "fault", "round_stored")
"""Events that no member writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """What groups are judged by.

    Args:
        bounds: partition -> first offset and the one behind the last, of all topics; None when
            nobody said.
        at_least_once: whether the oracles of `at_least_once` judge too.
        clean_handover: see `kgroup.audit.audit`.
    """

    bounds: Mapping[TopicPartition, tuple[int, int]] | None = None
    at_least_once: bool = False
    clean_handover: bool = True


def judged(group: str | None, paths: Sequence[str], law: Law) -> Verdict:
    """Return the verdict on one group.

    Args:
        group: its name, None for members without one.
        paths: its files, in order of name.
        law: what it is judged by; of the bounds, those of the group's topics.

    Raises:
        OSError: a file cannot be read.
    """
    alone = _audited(group, paths, law, Truth())
    if law.bounds is None:
        return alone
    topics = {row.tp.topic for row in alone.partitions}
    bounds = {tp: span for tp, span in law.bounds.items() if tp.topic in topics}
    return _audited(group, paths, law, Truth(bounds=bounds)) if bounds else alone


def _audited(group: str | None, paths: Sequence[str], law: Law, truth: Truth) -> Verdict:
    clean = law.clean_handover
    ends = {tp: end for tp, (_, end) in truth.bounds.items()} or None
    oracles = at_least_once(ends=ends, clean_handover=clean) if law.at_least_once else ()
    entries = _of(group, merge_logs(map(Path, paths)))
    return audit_entries(entries, truth, oracles=oracles, clean_handover=clean)


def _of(group: str | None, items: Iterable[Entry | BadLine]) -> Iterator[Entry | BadLine]:
    return (item for item in items if isinstance(item, BadLine) or _concerns(group, item))


def _concerns(group: str | None, entry: Entry) -> bool:
    return entry.source.group == group or isinstance(entry.event, FaultStep)


# -- as Spark calls them ---------------------------------------------------------------------------


def judge(law: Law, batches: Iterable[tuple[Any, Any]]) -> Iterator[Any]:
    """Return verdicts as JSON, for batches of groups and of their files; Arrow in and out."""
    import pyarrow as pa  # noqa: PLC0415 - optional

    for groups, files in batches:
        both = zip(groups.to_pylist(), files.to_pylist(), strict=True)
        found = [json.dumps(verdict_json(judged(group, paths, law))) for group, paths in both]
        yield pa.array(found, pa.string())


class TellKind(Word):
    """Who wrote a line: a member, who made faults, or who watched the coordinator."""

    OWN = "own"
    FAULT = "fault"
    STORED = "stored"


TOLD: Final = "kind: string, group: string"


def tell(batches: Iterable[Any]) -> Iterator[Any]:
    """Return whose lines are that the sieve cannot read; Arrow in and out.

    A line that is none has neither kind nor group.
    """
    import pyarrow as pa  # noqa: PLC0415 - optional

    form = pa.struct([("kind", pa.string()), ("group", pa.string())])
    for lines in batches:
        yield pa.array([told(line) for line in lines.to_pylist()], form)


def told(line: bytes) -> dict[str, str | None]:
    """Return who wrote a line, and its group; see `tell`."""
    try:
        entry = decode_entry(line.decode("utf-8", "replace"))
    except DecodeError:
        return {"kind": None, "group": None}
    kind = TellKind.OWN
    if isinstance(entry.event, FaultStep):
        kind = TellKind.FAULT
    elif isinstance(entry.event, CommitStored | RoundStored):
        kind = TellKind.STORED
    return {"kind": kind.value, "group": entry.source.group}
