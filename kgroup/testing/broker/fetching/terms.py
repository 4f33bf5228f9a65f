"""What a fetch says once, for all of its partitions.

Decides: which fields of a request count in which version, and how far who fetches may read.
Never: knows leaders.
"""

from dataclasses import dataclass

from kgroup.testing.broker.logs.log import Log
from kgroup.wire.messages import FetchRequest

__all__ = ["Terms"]

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
        """Whether nobody but the leader may answer."""
        return self.is_follower or (
            self.version < _REPLICAS_SINCE and self.replica_id != _FUTURE_REPLICA
        )

    def limit_in(self, log: Log) -> int:
        """Return the offset up to which may be read."""
        if self.is_follower or self.replica_id == _FUTURE_REPLICA:
            return log.end
        return log.last_stable_offset if self.read_committed else log.high_watermark
