"""A group too large for one worker, judged in shares of its partitions.

Decides: which groups are: those that the other workers would wait for. One task sees what is not
about one partition, and one for each further core a share of the partitions; each reads the logs
for itself, and skips the lines of other partitions unread.
Never: judges a group in shares whose entries do not come in order of time.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from functools import partial
from typing import Any, Final

from kgroup.audit import Truth, Verdict
from kgroup.audit.judging import audit_across, audit_share
from kgroup.audit.shares import Across, Share, joined
from kgroup.spark.audit.judge import Bounds, Law, concerning, of_topics
from kgroup.spark.audit.logs import LOG, Log, Logs
from kgroup.spark.table import arrow_function
from kgroup.values import dataclass

LARGE: Final = 1_000_000
"""Lines; a group with fewer is not worth reading twice."""
_LEAST: Final = 3
"""Cores: one task sees nearly all lines, so with one share beside it nothing is won."""
_ACROSS: Final = -1
"""Stands for a share in the task that sees what is not about one partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeGroup:
    """A group to be judged in shares.

    Args:
        name: None for members without a group.
        logs: that hold it, in order.
        shares: how many.
    """

    name: str | None
    logs: tuple[Log, ...]
    shares: int


def too_large(lines: Mapping[int, int], cores: int, large: int) -> list[int]:
    """Return the groups that are too large for one worker.

    Args:
        lines: number of a group -> its lines; all groups that are judged.
        cores: how many workers there are.
        large: a group with fewer lines is not.
    """
    if cores < _LEAST:
        return []
    fair = sum(lines.values()) / cores
    return [number for number, count in lines.items() if count >= large and count > fair]


def judge_in_shares(spark: Any, logs: Logs, group: LargeGroup, law: Law) -> Verdict | None:  # noqa: ANN401
    """Return the verdict on a group; None when it must be judged as a whole.

    Raises:
        OSError: a log cannot be read.
    """
    ask = partial(_asked, spark, logs, group)
    shares = range(group.shares)
    across, *parts = ask(law, {}, (_ACROSS, *shares))
    if not across.in_order:
        return None
    bounds = of_topics(
        law.bounds or {}, (row.tp.topic for part in parts for row in part.partitions)
    )
    if bounds:
        parts = ask(law, bounds, shares)
    return joined(across, parts)


def _asked(
    spark: Any,  # noqa: ANN401 - pyspark's session
    logs: Logs,
    group: LargeGroup,
    law: Law,
    bounds: Bounds,
    shares: Iterable[int],
) -> list[Any]:
    rows = [(number, [astuple(log) for log in group.logs]) for number in shares]
    frame = spark.createDataFrame(rows, f"share int, logs array<struct<{LOG}>>")
    work = partial(judge_shares, partial(_judged, logs, group, law, bounds))
    judges = arrow_function(work, "binary").asNondeterministic()
    found = frame.repartitionByRange(len(rows), "share").select("share", judges("share", "logs"))
    return [pickle.loads(bytes(said)) for _, said in sorted(found.collect())]  # noqa: S301 - our own


# -- as Spark calls them ---------------------------------------------------------------------------


def judge_shares(
    judged: Callable[[int, Sequence[Log]], Verdict | Across], batches: Iterable[tuple[Any, Any]]
) -> Iterator[Any]:
    """Return what judges say of shares, for batches of shares and of logs; Arrow in and out."""
    import pyarrow as pa  # noqa: PLC0415 - optional

    for shares, logs in batches:
        both = zip(shares.to_pylist(), logs.to_pylist(), strict=True)
        found = [judged(share, [Log(**each) for each in those]) for share, those in both]
        yield pa.array(map(pickle.dumps, found), pa.binary())


def _judged(
    logs: Logs, group: LargeGroup, law: Law, bounds: Bounds, share: int, those: Sequence[Log]
) -> Verdict | Across:
    oracles = law.oracles(bounds)
    if share == _ACROSS:
        return audit_across(concerning(group.name, logs.merged(those)), oracles)
    mine = Share(share, group.shares)
    return audit_share(
        concerning(group.name, logs.merged(those, mine.skips)),
        mine,
        Truth(bounds=bounds),
        oracles=oracles,
        clean_handover=law.clean_handover,
    )
