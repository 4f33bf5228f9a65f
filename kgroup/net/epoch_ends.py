"""Asks the leader of partitions where an epoch ends in its log, to notice truncation.

Decides: the question for one broker, and what each part of its answer says.
Never: decides what a truncated log means for a position; answers for what was not asked.
KIPs: 101, 320.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kgroup.net.cluster import Cluster, ClusterView, Lane
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    OffsetForLeaderEpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

__all__ = ["EpochEnd", "ask_epoch_ends"]


@dataclass(frozen=True, slots=True)
class EpochEnd:
    """Where the largest epoch not above the one asked about ends in a leader's log.

    Args:
        leader_epoch: that epoch, None when the leader knows none.
        end_offset: first offset after it, None when the leader knows none.
        code: error code, 0 without one.
    """

    leader_epoch: int | None
    end_offset: int | None
    code: int = 0

    @property
    def known(self) -> bool:
        """Whether the leader could tell."""
        return self.leader_epoch is not None and self.end_offset is not None


async def ask_epoch_ends(
    cluster: Cluster,
    node_id: int,
    view: ClusterView,
    wanted: Mapping[TopicPartition, int],
    *,
    timeout: float,
) -> dict[TopicPartition, EpochEnd]:
    """Ask one leader; partitions its answer leaves out, or has twice, are absent.

    Args:
        cluster: running.
        node_id: whom to ask.
        view: what says that it leads them, and under which epoch.
        wanted: partition -> the epoch whose end is asked for.
        timeout: seconds.

    Raises:
        UnsupportedVersionError: the broker is too old; nothing was sent.
        TimeoutError, TransportError, ProtocolError: as `Cluster.send`.
    """
    rows: dict[str, list[OffsetForLeaderPartition]] = {}
    for tp, epoch in wanted.items():
        leader_epoch = view.leader_epoch(tp)
        rows.setdefault(tp.topic, []).append(
            OffsetForLeaderPartition(
                partition=tp.partition,
                current_leader_epoch=-1 if leader_epoch is None else leader_epoch,
                leader_epoch=epoch,
            )
        )
    topics = (
        OffsetForLeaderTopic(topic=name, partitions=tuple(partitions))
        for name, partitions in rows.items()
    )
    request = OffsetForLeaderEpochRequest(replica_id=-1, topics=tuple(topics))
    answer = await cluster.send(node_id, request, lane=Lane.CONTROL, timeout=timeout)
    found: dict[TopicPartition, list[OffsetForLeaderEpochEndOffset]] = {}
    for topic in answer.topics:
        for row in topic.partitions:
            found.setdefault(TopicPartition(topic.topic, row.partition), []).append(row)
    return {tp: _read(found[tp][0]) for tp in wanted if len(found.get(tp, ())) == 1}


def _read(row: OffsetForLeaderEpochEndOffset) -> EpochEnd:
    return EpochEnd(
        leader_epoch=row.leader_epoch if row.leader_epoch >= 0 else None,
        end_offset=row.end_offset if row.end_offset >= 0 else None,
        code=row.error_code,
    )
