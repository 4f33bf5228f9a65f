"""What one fetch asks of each partition.

Decides: which partition a row of a request means, under a name or an id.
Never: knows whether it exists, or whether this broker has it.

KIP-516: from version 13 on a topic is its id, and the name is what the broker knows it by at that
time; a partition of a session keeps the first name its id was known by.

Terms: What a fetch says once, for all of its partitions. Decides: which fields of a request count
in which version, and how far the fetcher may read. Never: knows leaders.
"""

from collections.abc import Callable
from typing import NamedTuple

from kgroup.testing.broker.logs.log import Log
from kgroup.values import dataclass
from kgroup.wire.messages import FetchPartition, FetchRequest
from kgroup.wire.vocabulary import ZERO_UUID

BY_ID_SINCE = 13
"""First version in which topics are named by their ids."""

NameOf = Callable[[bytes], str | None]
"""Says how a topic is called now, None for an id that no topic has."""


class Place(NamedTuple):
    """What makes a partition the same in two requests.

    Args:
        topic: its id from version 13 on, its name before.
        partition: its number.
    """

    topic: bytes | str
    partition: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """One partition of a fetch.

    Args:
        name: of its topic, None when no topic has the id.
        topic_id: 16 bytes, zero before version 13.
        row: offset, limits and epochs.
    """

    name: str | None
    topic_id: bytes
    row: FetchPartition


def wanted_in(request: FetchRequest, version: int, name_of: NameOf) -> dict[Place, Wanted]:
    """Return what a request asks for, in its order; of a partition named twice the last row."""
    wanted: dict[Place, Wanted] = {}
    for topic in request.topics:
        key, name, topic_id = _topic(topic.topic, topic.topic_id, version, name_of)
        for row in topic.partitions:
            wanted[Place(key, row.partition)] = Wanted(name, topic_id, row)
    return wanted


def forgotten_in(request: FetchRequest, version: int) -> list[Place]:
    """Return what leaves the session with a request."""
    by_id = version >= BY_ID_SINCE
    return [
        Place(topic.topic_id if by_id else topic.topic, partition)
        for topic in request.forgotten_topics_data
        for partition in topic.partitions
    ]


def _topic(
    name: str, topic_id: bytes, version: int, name_of: NameOf
) -> tuple[bytes | str, str | None, bytes]:
    if version >= BY_ID_SINCE:
        return topic_id, name_of(topic_id), topic_id
    return name, name, ZERO_UUID


# -- terms -----------------------------------------------------------------------------------------


_REPLICAS_SINCE = 11
_STATE_SINCE = 15
_LARGEST_ANSWER = 55 * 1024 * 1024
_FUTURE_REPLICA = -3
_READ_COMMITTED = 1


@dataclass(frozen=True, slots=True)
class Terms:
    """What a fetch says once for all of its partitions.

    Args:
        node_id: the broker that was asked.
        version: of the request.
        replica_id: of a broker that fetches; below 0 for a consumer.
        min_bytes: what is waited for.
        max_bytes: what all partitions may give together, except for the first batch.
        read_committed: whether records of open transactions stay hidden.
        rack: of the consumer, None when it cannot say (before version 11) or does not.
    """

    node_id: int
    version: int
    replica_id: int
    min_bytes: int
    max_bytes: int
    read_committed: bool
    rack: str | None

    @classmethod
    def of(cls, node_id: int, version: int, request: FetchRequest) -> "Terms":
        """Read them from a request."""
        replica = request.replica_state.replica_id
        max_bytes = min(request.max_bytes, _LARGEST_ANSWER)
        return cls(
            node_id,
            version,
            replica if version >= _STATE_SINCE else request.replica_id,
            min(request.min_bytes, max_bytes),
            max_bytes,
            request.isolation_level == _READ_COMMITTED,
            request.rack_id or None if version >= _REPLICAS_SINCE else None,
        )

    @property
    def is_follower(self) -> bool:
        """Whether a broker fetches."""
        return self.replica_id >= 0

    @property
    def only_leader(self) -> bool:
        """Whether only the leader may answer."""
        return self.is_follower or (
            self.version < _REPLICAS_SINCE and self.replica_id != _FUTURE_REPLICA
        )

    def limit_in(self, log: Log) -> int:
        """Return the offset up to which may be read."""
        if self.is_follower or self.replica_id == _FUTURE_REPLICA:
            return log.end
        return log.last_stable_offset if self.read_committed else log.high_watermark
