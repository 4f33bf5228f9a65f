"""What a batch of coordination logs reads.

Decides: what is there and was not read, up to a bound that is shared out by backlog; that a log
whose head is gone goes on where it begins, and a row of `history` says so; that nothing is read of
a log that ends before what was read, for a new leader may not know better yet.
Never: asks a broker.
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from kgroup.spark.coordination.schema import Row
from kgroup.spark.coordination.store import Places, Plan, Progress
from kgroup.spark.counting import Span
from kgroup.spark.planning import shared
from kgroup.types import TopicPartition

Logs: TypeAlias = Mapping[TopicPartition, Span]


def planned(progress: Progress, logs: Logs, *, limit: int, now: int) -> Plan:
    """Return the next batch; without ranges when nothing was written.

    Args:
        progress: how far the tables are.
        logs: where the logs begin and end.
        limit: records it has at most.
        now: milliseconds since the epoch.
    """
    backlog: dict[TopicPartition, tuple[int, int]] = {}
    for tp, log in sorted(logs.items()):
        begin = max(_read_to(progress, tp) or 0, log.first)
        if begin < log.end:
            backlog[tp] = (begin, log.end)
    spans = {tp: span for tp, span in shared(backlog, limit).items() if span[0] < span[1]}
    return Plan(
        batch=progress.batch + 1,
        ranges=_nested({tp: list(span) for tp, span in spans.items()}),
        history=tuple(_history(progress, {tp: logs[tp] for tp in spans}, now)),
        more=spans != backlog,
    )


def _read_to(progress: Progress, tp: TopicPartition) -> int | None:
    found: int | None = progress.ends.get(tp.topic, {}).get(str(tp.partition))
    return found


def _history(progress: Progress, logs: Logs, now: int) -> Iterator[Row]:
    for tp, log in sorted(logs.items()):
        read_to = _read_to(progress, tp)
        if read_to is None or read_to < log.first:
            yield {
                "src": tp.topic,
                "log_partition": tp.partition,
                "whole_from": log.first,
                "lost_from": read_to,
                "ts": now,
            }


def after(progress: Progress, plan: Plan) -> Places:
    """Return the next offset of each log partition once a batch is done."""
    ends = {topic: dict(each) for topic, each in progress.ends.items()}
    for topic, each in plan.ranges.items():
        ends.setdefault(topic, {}).update({number: end for number, (_, end) in each.items()})
    return ends


def _nested(found: Mapping[TopicPartition, list[int]]) -> dict[str, dict[str, list[int]]]:
    nested: dict[str, dict[str, list[int]]] = {}
    for tp, each in sorted(found.items()):
        nested.setdefault(tp.topic, {})[str(tp.partition)] = each
    return nested
