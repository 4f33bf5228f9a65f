"""Fetch as messages: what is asked of one broker, and which part of its answer belongs to what.

Decides: the order of partitions (a broker fills its answer in that order) and each one's share.
Never: sends; believes a part of an answer that nobody asked for.
KIPs: 227 (no sessions: id 0, epoch -1), 320 (leader epochs), 392 (racks), 516 (topic ids).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kgroup.config import FetchSettings
from kgroup.consumer.stock.owned import Owned
from kgroup.net.cluster import ClusterView
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kgroup.wire.vocabulary import ZERO_UUID

__all__ = ["Asked", "answered", "fetch_request"]

_AT_LEAST: Final = 1
"""A broker sends the first batch of the first partition that has one, however large it is."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One partition of one Fetch, as it stood when it was asked.

    Args:
        owned: whose.
        seek: number of the position.
        offset: first offset asked for.
        leader_epoch: of the leader as it is known, None when it is not.
        node_id: broker asked.
        follower: whether that is a replica the leader named instead of itself.
    """

    owned: Owned
    seek: int
    offset: int
    leader_epoch: int | None
    node_id: int
    follower: bool = False


def fetch_request(
    asked: Sequence[Asked],
    view: ClusterView,
    settings: FetchSettings,
    *,
    max_wait: float,
    share: int,
) -> FetchRequest:
    """Return the Fetch for some partitions of one broker, in the order given.

    Args:
        asked: at least one.
        view: topic ids.
        settings: bounds of the whole answer, and the rack of this client.
        max_wait: longest wait of the broker, seconds.
        share: most bytes held ready of one partition; one batch more when it does not fit.
    """
    rows: dict[str, list[FetchPartition]] = {}
    for each in asked:
        read = each.owned.position.leader_epoch
        rows.setdefault(each.owned.tp.topic, []).append(
            FetchPartition(
                partition=each.owned.tp.partition,
                current_leader_epoch=-1 if each.leader_epoch is None else each.leader_epoch,
                fetch_offset=each.offset,
                last_fetched_epoch=-1 if read is None else read,
                partition_max_bytes=min(
                    max(share - each.owned.buffered, _AT_LEAST), settings.partition_max_bytes
                ),
            )
        )
    return FetchRequest(
        max_wait_ms=round(max_wait * 1000),
        min_bytes=settings.min_bytes,
        max_bytes=settings.max_bytes,
        isolation_level=settings.isolation_level.value,
        topics=tuple(
            FetchTopic(topic=topic, topic_id=_topic_id(view, topic), partitions=tuple(partitions))
            for topic, partitions in rows.items()
        ),
        rack_id=settings.client_rack or "",
    )


def answered(
    asked: Iterable[Asked], request: FetchRequest, answer: FetchResponse
) -> Iterator[tuple[Asked, PartitionData]]:
    """Yield each part of an answer with the question it belongs to; the first of doubles counts."""
    names = {topic.topic_id: topic.topic for topic in request.topics}
    open_questions = {each.owned.tp: each for each in asked}
    for topic in answer.responses:
        name = topic.topic or names.get(topic.topic_id, "")
        for data in topic.partitions:
            question = open_questions.pop(TopicPartition(name, data.partition_index), None)
            if question is not None:
                yield question, data


def _topic_id(view: ClusterView, topic: str) -> bytes:
    known = view.topics.get(topic)
    return ZERO_UUID if known is None or known.topic_id is None else known.topic_id
