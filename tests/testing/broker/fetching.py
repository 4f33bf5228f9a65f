"""A consumer that sends raw Fetch requests to the pure core of a broker.

Decides: nothing; rows left out are Kafka's defaults, and topics are named as the version wants.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from kgroup.testing.broker.cluster.cluster import Partition
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from kgroup.wire.records import NewRecord, encode_batch, iter_batches
from kgroup.wire.vocabulary import ZERO_UUID
from tests.testing.broker.driver import Call, Raw, asking

BY_NAME = 12
BY_ID = 18

Rows: TypeAlias = Mapping[tuple[str, int], int | Mapping[str, int]]
"""Partitions in order; each with its offset, or with fields of its row."""


class Asker:
    """A client that fetches from one broker of a cluster with topics `t` and `u`.

    Args:
        nodes: brokers; each partition has a replica on every one, the first leads.
        partitions: of `t`; `u` has one.
        settings: None = the defaults.
    """

    def __init__(
        self, nodes: int = 1, partitions: int = 2, settings: BrokerSettings | None = None
    ) -> None:
        self.raw: Raw = asking(nodes, settings=settings)
        self.cluster = self.raw.core.cluster
        everywhere = tuple(range(1, nodes + 1))
        self.cluster.create_topic("t", placement=[everywhere] * partitions)
        self.cluster.create_topic("u", placement=[everywhere])
        self._ids = {name: topic.topic_id for name, topic in self.cluster.topics.items()}

    def partition(self, topic: str = "t", number: int = 0) -> Partition:
        """Return a partition of the cluster."""
        found = self.cluster.partition(TopicPartition(topic, number))
        assert found is not None
        return found

    def append(self, *values: bytes, topic: str = "t", number: int = 0, **batch: Any) -> int:
        """Append one batch; return how many bytes it takes."""
        partition = self.partition(topic, number)
        data = encode_batch([NewRecord(None, value) for value in values], **batch)
        now = self.raw.core.context.milliseconds()
        assert partition.log.append(data, epoch=partition.epoch, now_ms=now).code == 0
        return len(data)

    def fetch(
        self,
        rows: Rows,
        *,
        version: int = BY_ID,
        node: int = 1,
        session: tuple[int, int] = (0, -1),
        forgotten: Sequence[tuple[str, int]] = (),
        connection: int = 0,
        replica: int = -1,
        ids: Mapping[str, bytes] | None = None,
        **fields: Any,
    ) -> Call[FetchResponse]:
        """Ask once; without `max_wait_ms` the answer is there at once."""
        named = _Named(version > BY_NAME, ids or self._ids)
        request = FetchRequest(
            replica_id=replica if version < 15 else -1,
            replica_state=ReplicaState(replica_id=replica if version >= 15 else -1),
            max_wait_ms=fields.pop("max_wait_ms", 0),
            min_bytes=fields.pop("min_bytes", 1),
            session_id=session[0],
            session_epoch=session[1],
            topics=tuple(
                FetchTopic(**named.of(topic), partitions=(_row(number, fields_of),))
                for (topic, number), fields_of in rows.items()
            ),
            forgotten_topics_data=tuple(
                ForgottenTopic(**named.of(topic), partitions=(number,))
                for topic, number in forgotten
            ),
            **fields,
        )
        return self.raw.ask(node, request, version=version, connection=connection)


@dataclass(frozen=True, slots=True)
class _Named:
    """Names topics as a version wants it."""

    by_id: bool
    ids: Mapping[str, bytes]

    def of(self, topic: str) -> dict[str, Any]:
        if self.by_id:
            return {"topic": "", "topic_id": self.ids[topic]}
        return {"topic": topic, "topic_id": ZERO_UUID}


def _row(number: int, fields: int | Mapping[str, int]) -> FetchPartition:
    given: Mapping[str, Any] = {"fetch_offset": fields} if isinstance(fields, int) else fields
    return FetchPartition(
        **{"partition": number, "fetch_offset": 0, "partition_max_bytes": 1 << 20, **given}
    )


def rows_of(answer: FetchResponse) -> list[PartitionData]:
    """Return the partitions of an answer, in order."""
    return [row for topic in answer.responses for row in topic.partitions]


def one(call: Call[FetchResponse]) -> PartitionData:
    """Return the only partition of an answer that is there."""
    (row,) = rows_of(call.now)
    return row


def offsets_in(row: PartitionData) -> list[int]:
    """Return the offsets of the whole batches of a row."""
    batches = iter_batches(row.records or b"")
    return [offset for batch in batches for offset in batch.columns().offsets]
