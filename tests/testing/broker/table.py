"""A group of KIP-848 at one broker core, and what each of its members said and heard last.

Decides: which epoch a member names, and what it says that it owns, when a test does not.
Never: judges an answer.
"""

from typing import Any, Final

from kgroup.testing.broker.settings import BrokerSettings
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatTopicPartitions,
)
from tests.testing.broker.driver import Raw, asking

SESSION: Final = 45.0
INTERVAL: Final = 1.0
REBALANCE: Final = 10.0


class Table:
    """A group, and what each member said and heard last."""

    def __init__(self, counts: dict[str, int] | None = None, nodes: int = 1, **settings: Any):
        self.raw: Raw = asking(nodes, settings=BrokerSettings(**settings))
        self.counts = {"t": 4} if counts is None else counts
        for name, count in self.counts.items():
            self.raw.core.cluster.create_topic(name, count)
        self.epochs: dict[str, int] = {}
        self.has: dict[str, frozenset[TopicPartition]] = {}

    def beat(self, member: str, **fields: Any) -> ConsumerGroupHeartbeatResponse:
        """Send one heartbeat; its epoch is the last one heard."""
        known = self.epochs.get(member, 0)
        request = ConsumerGroupHeartbeatRequest(
            **{"group_id": "g", "member_id": member, "member_epoch": known, **fields}
        )
        answer = self.raw.ask(self.node, request, client=member).now
        if not answer.error_code:
            self.epochs[member] = answer.member_epoch
            if answer.assignment is not None:
                self.has[member] = self._read(answer.assignment.topic_partitions)
        return answer

    @property
    def node(self) -> int:
        coordinators = self.raw.core.coordinators
        return coordinators.homes[coordinators.shard_of("g").partition] or 1

    def join(self, member: str, *topics: str, **fields: Any) -> ConsumerGroupHeartbeatResponse:
        chosen = {
            "member_epoch": 0,
            "rebalance_timeout_ms": round(REBALANCE * 1000),
            "subscribed_topic_names": topics or ("t",),
            "topic_partitions": (),
            **fields,
        }
        return self.beat(member, **chosen)

    def own(self, member: str) -> ConsumerGroupHeartbeatResponse:
        """Say that a member owns what it was told."""
        numbers: dict[bytes, list[int]] = {}
        for tp in sorted(self.has.get(member, ())):
            topic = self.raw.core.cluster.topics[tp.topic]
            numbers.setdefault(topic.topic_id, []).append(tp.partition)
        rows = tuple(
            ConsumerGroupHeartbeatTopicPartitions(topic_id=topic_id, partitions=tuple(found))
            for topic_id, found in numbers.items()
        )
        return self.beat(member, topic_partitions=rows)

    def settle(self, *members: str) -> None:
        """Let time pass until everybody has what it is to have."""
        for _ in range(6):
            self.raw.run(INTERVAL / 2)
            for member in members:
                self.own(member)

    def numbers(self, member: str) -> list[int]:
        return sorted(tp.partition for tp in self.has[member])

    def _read(self, rows: Any) -> frozenset[TopicPartition]:
        find = self.raw.core.cluster.topic_by_id
        return frozenset(
            TopicPartition(topic.name, number)
            for row in rows
            if (topic := find(row.topic_id)) is not None
            for number in row.partitions
        )
