"""Asking leaders where their logs start and end (ListOffsets).

Decides: the question for one broker, and what each part of its answer means.
Never: decides whether a position may be reset; answers for a partition that was not asked for.
KIPs: 79, 98 (the end is the last stable offset under read_committed), 320.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kgroup.net.cluster import Cluster, Lane
from kgroup.offsets.reset import LogEnd
from kgroup.types import IsolationLevel, TopicPartition
from kgroup.wire.messages import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

__all__ = ["FoundOffset", "ask_offsets"]

_TIMESTAMP: Final[Mapping[LogEnd, int]] = {LogEnd.START: -2, LogEnd.END: -1}


@dataclass(frozen=True, slots=True)
class FoundOffset:
    """What a leader said about one partition.

    Args:
        code: error code, 0 without one.
        offset: the offset, None when it gave none.
        leader_epoch: epoch of the record before it, None when not said.
    """

    code: int
    offset: int | None = None
    leader_epoch: int | None = None


async def ask_offsets(
    cluster: Cluster,
    node_id: int,
    wanted: Mapping[TopicPartition, LogEnd],
    isolation_level: IsolationLevel,
    *,
    timeout: float,
) -> dict[TopicPartition, FoundOffset]:
    """Ask one leader; partitions its answer leaves out are absent.

    Raises:
        TimeoutError, TransportError, ProtocolError, UnsupportedError: as `Cluster.send`.
    """
    rows: dict[str, list[ListOffsetsPartition]] = {}
    for tp, end in wanted.items():
        known = cluster.view.partition(tp)
        epoch = None if known is None else known.leader_epoch
        rows.setdefault(tp.topic, []).append(
            ListOffsetsPartition(
                partition_index=tp.partition,
                current_leader_epoch=-1 if epoch is None else epoch,
                timestamp=_TIMESTAMP[end],
            )
        )
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level.value,
        topics=tuple(
            ListOffsetsTopic(name=topic, partitions=tuple(partitions))
            for topic, partitions in rows.items()
        ),
        timeout_ms=round(timeout * 1000),
    )
    answer = await cluster.send(node_id, request, lane=Lane.CONTROL, timeout=timeout)
    return {tp: found for tp, found in _read(answer).items() if tp in wanted}


def _read(answer: ListOffsetsResponse) -> dict[TopicPartition, FoundOffset]:
    return {
        TopicPartition(topic.name, row.partition_index): FoundOffset(
            code=row.error_code,
            offset=None if row.offset < 0 else row.offset,
            leader_epoch=None if row.leader_epoch < 0 else row.leader_epoch,
        )
        for topic in answer.topics
        for row in topic.partitions
    }
