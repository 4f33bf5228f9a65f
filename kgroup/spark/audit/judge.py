"""The judge of one group, on a worker: its files are read there, line by line.

Decides: nothing of its own; `kgroup.audit` judges. A bad line in a file of the group counts against
it, for nobody knows whose it was.
Never: keeps a log in memory, so a group may be as large as it likes.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from kgroup.audit import Truth, Verdict, audit_entries, verdict_json
from kgroup.audit.oracles import at_least_once
from kgroup.journal import BadLine, Entry, FaultStep
from kgroup.spark.audit.logs import Log, Logs
from kgroup.types import TopicPartition
from kgroup.values import dataclass

Reading: TypeAlias = Callable[[], Iterator[Entry | BadLine]]


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


def judged(group: str | None, logs: Reading, law: Law) -> Verdict:
    """Return the verdict on one group.

    Args:
        group: its name, None for members without one.
        logs: reads its logs, each time anew.
        law: what it is judged by; of the bounds, those of the group's topics.

    Raises:
        OSError: a log cannot be read.
    """
    alone = _audited(group, logs, law, Truth())
    if law.bounds is None:
        return alone
    topics = {row.tp.topic for row in alone.partitions}
    bounds = {tp: span for tp, span in law.bounds.items() if tp.topic in topics}
    return _audited(group, logs, law, Truth(bounds=bounds)) if bounds else alone


def _audited(group: str | None, logs: Reading, law: Law, truth: Truth) -> Verdict:
    clean = law.clean_handover
    ends = {tp: end for tp, (_, end) in truth.bounds.items()} or None
    oracles = at_least_once(ends=ends, clean_handover=clean) if law.at_least_once else ()
    entries = _of(group, logs())
    return audit_entries(entries, truth, oracles=oracles, clean_handover=clean)


def _of(group: str | None, items: Iterable[Entry | BadLine]) -> Iterator[Entry | BadLine]:
    return (item for item in items if isinstance(item, BadLine) or _concerns(group, item))


def _concerns(group: str | None, entry: Entry) -> bool:
    return entry.source.group == group or isinstance(entry.event, FaultStep)


# -- as Spark calls them ---------------------------------------------------------------------------


def judge(law: Law, logs: Logs, batches: Iterable[tuple[Any, Any]]) -> Iterator[Any]:
    """Return verdicts as JSON, for batches of groups and of their logs; Arrow in and out."""
    import pyarrow as pa  # noqa: PLC0415 - optional

    for groups, files in batches:
        both = zip(groups.to_pylist(), files.to_pylist(), strict=True)
        found = [
            judged(group, partial(logs.merged, [Log(**each) for each in those]), law)
            for group, those in both
        ]
        yield pa.array([json.dumps(verdict_json(each)) for each in found], pa.string())
