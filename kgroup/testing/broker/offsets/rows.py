"""The partitions that one request names, and what becomes of each.

Decides: which of them exist, and in which order an answer lists them: refused ones first, topics in
the order in which they were first listed; as real brokers merge their two lists.
Never: judges anything but existence.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kgroup.codes import ErrorCode
from kgroup.testing.broker.cluster.cluster import Cluster
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    OffsetCommitRequestPartition,
    TxnOffsetCommitRequestPartition,
)

__all__ = ["Offset", "Outcome", "Row", "by_topic", "sort_out"]

Offset: TypeAlias = OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition


@dataclass(frozen=True, slots=True)
class Row:
    """One partition of a request.

    Args:
        topic: its name, empty while only the id is known.
        topic_id: as in the request; all zero where topics are named by name.
        partition: its number.
        offset: what to commit for it; None in requests that commit nothing.
    """

    topic: str
    topic_id: bytes
    partition: int
    offset: Offset | None = None

    @property
    def tp(self) -> TopicPartition:
        """The partition it means."""
        return TopicPartition(self.topic, self.partition)


Outcome: TypeAlias = tuple[Row, ErrorCode]


def sort_out(
    rows: Sequence[Row], cluster: Cluster, *, by_id: bool = False
) -> tuple[list[Outcome], list[Row]]:
    """Part rows into those that are refused and those whose partition exists.

    Args:
        rows: of one request.
        cluster: which has the topics.
        by_id: topics are named by id; the rows returned have the names too.
    """
    refused: list[Outcome] = []
    known: list[Row] = []
    for row in rows:
        topic = cluster.topic_by_id(row.topic_id) if by_id else cluster.topic(row.topic)
        if topic is None:
            unknown = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            refused.append((row, unknown))
            continue
        named = Row(topic.name, row.topic_id, row.partition, row.offset)
        if cluster.partition(named.tp) is None:
            refused.append((named, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        else:
            known.append(named)
    return refused, known


def by_topic(
    outcomes: Iterable[Outcome],
) -> Iterable[tuple[tuple[str, bytes], list[tuple[int, ErrorCode]]]]:
    """List outcomes as answers do: (name, id) of a topic, then (number, code) of its partitions."""
    topics: dict[tuple[str, bytes], list[tuple[int, ErrorCode]]] = {}
    for row, code in outcomes:
        topics.setdefault((row.topic, row.topic_id), []).append((row.partition, code))
    return topics.items()
