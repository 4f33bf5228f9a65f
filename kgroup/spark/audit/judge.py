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
from kgroup.audit.oracles import Oracle, at_least_once
from kgroup.journal import BadLine, Entry, FaultStep
from kgroup.spark.audit.logs import Log, Logs
from kgroup.types import TopicPartition
from kgroup.values import dataclass

Bounds: TypeAlias = Mapping[TopicPartition, tuple[int, int]]
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

    bounds: Bounds | None = None
    at_least_once: bool = False
    clean_handover: bool = True

    def oracles(self, bounds: Bounds) -> tuple[Oracle, ...]:
        """Return fresh oracles, for a group whose logs have these bounds."""
        if not self.at_least_once:
            return ()
        ends = {tp: end for tp, (_, end) in bounds.items()} or None
        return at_least_once(ends=ends, clean_handover=self.clean_handover)


def judged(group: str | None, logs: Reading, law: Law) -> Verdict:
    """Return the verdict on one group.

    Args:
        group: its name, None for members without one.
        logs: reads its logs, each time anew.
        law: what it is judged by; of the bounds, those of the group's topics.

    Raises:
        OSError: a log cannot be read.
    """
    alone = _audited(group, logs, law, {})
    if law.bounds is None:
        return alone
    bounds = of_topics(law.bounds, (row.tp.topic for row in alone.partitions))
    return _audited(group, logs, law, bounds) if bounds else alone


def _audited(group: str | None, logs: Reading, law: Law, bounds: Bounds) -> Verdict:
    return audit_entries(
        concerning(group, logs()),
        Truth(bounds=bounds),
        oracles=law.oracles(bounds),
        clean_handover=law.clean_handover,
    )


def of_topics(bounds: Bounds, topics: Iterable[str]) -> Bounds:
    """Return the bounds of some topics."""
    known = set(topics)
    return {tp: span for tp, span in bounds.items() if tp.topic in known}


def concerning(group: str | None, items: Iterable[Entry | BadLine]) -> Iterator[Entry | BadLine]:
    """Return what concerns a group: its entries, bad lines, and faults."""
    return (
        item
        for item in items
        if isinstance(item, BadLine)
        or item.source.group == group
        or isinstance(item.event, FaultStep)
    )


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
