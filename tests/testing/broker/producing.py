"""A producer that sends raw requests to the pure core of a broker.

Decides: nothing; the cluster has one topic, `t`, and every broker a replica of it.
"""

from kgroup.testing.broker.cluster.cluster import TRANSACTIONS_TOPIC, Partition
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    InitProducerIdRequest,
    InitProducerIdResponse,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kgroup.wire.records import NewRecord, encode_batch
from tests.testing.broker.driver import Call, asking

BY_NAME = 12
TO_OLD = 3
"""AddPartitionsToTxn and EndTxn without KIP-890."""


def row(call: Call[ProduceResponse], number: int = 0) -> PartitionProduceResponse:
    """Return the answer for one partition of `t`."""
    return call.now.responses[0].partition_responses[number]


class Producer:
    """A client that writes to `t`, in transactions of the id `x` if asked to.

    Args:
        nodes: brokers.
        partitions: of `t`; broker 1 leads all of them.
        settings: None = the defaults.
    """

    def __init__(
        self, nodes: int = 1, partitions: int = 1, settings: BrokerSettings | None = None
    ) -> None:
        self.raw = asking(nodes, settings=settings)
        self.cluster = self.raw.core.cluster
        self.cluster.create_topic("t", placement=[tuple(range(1, nodes + 1))] * partitions)

    def partition(self, number: int = 0) -> Partition:
        """Return a partition of `t`."""
        found = self.cluster.partition(TopicPartition("t", number))
        assert found is not None
        return found

    @property
    def home(self) -> int:
        """The broker that coordinates transactions of `x`."""
        known = self.cluster.coordinator_partition(TRANSACTIONS_TOPIC, "x")
        assert known is not None
        assert known.leader is not None
        return known.leader

    def send(
        self,
        *numbers: int,
        node: int = 1,
        acks: int = -1,
        timeout_ms: int = 1000,
        version: int = BY_NAME,
        had: tuple[int, int] | None = None,
        sequence: int = 0,
    ) -> Call[ProduceResponse]:
        """Write one record to each partition of `t` named, the first if none is.

        Args:
            numbers: of the partitions.
            node: asked.
            acks: 0, 1 or -1.
            timeout_ms: longest wait for replicas.
            version: of the request, at most 12.
            had: id and epoch of the transactional producer, None for a plain one.
            sequence: of its record.
        """
        records = [NewRecord(b"k", b"v", (), 1000)]
        batch = (
            encode_batch(records)
            if had is None
            else encode_batch(
                records,
                producer_id=had[0],
                producer_epoch=had[1],
                base_sequence=sequence,
                transactional=True,
            )
        )
        rows = tuple(
            PartitionProduceData(index=number, records=batch) for number in numbers or (0,)
        )
        request = ProduceRequest(
            transactional_id=None if had is None else "x",
            acks=acks,
            timeout_ms=timeout_ms,
            topic_data=(TopicProduceData(name="t", partition_data=rows),),
        )
        return self.raw.ask(node, request, version=version)

    def init(
        self, *, timeout: float = 60.0, had: tuple[int, int] = (-1, -1)
    ) -> InitProducerIdResponse:
        """Ask for an id and epoch for `x`."""
        request = InitProducerIdRequest(
            transactional_id="x",
            transaction_timeout_ms=int(timeout * 1000),
            producer_id=had[0],
            producer_epoch=had[1],
        )
        return self.raw.ask(self.home, request, version=4).now

    def begin(self, *, timeout: float = 60.0) -> tuple[int, int]:
        """Get an id and epoch for `x`."""
        answer = self.init(timeout=timeout)
        assert answer.error_code == 0
        return answer.producer_id, answer.producer_epoch

    def add(self, had: tuple[int, int], *numbers: int) -> int:
        """Take partitions of `t` into the transaction; returns the first one's code."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="x",
            v3_and_below_producer_id=had[0],
            v3_and_below_producer_epoch=had[1],
            v3_and_below_topics=(AddPartitionsToTxnTopic(name="t", partitions=numbers or (0,)),),
        )
        answer = self.raw.ask(self.home, request, version=TO_OLD).now
        return answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code

    def end(self, had: tuple[int, int], *, committed: bool, version: int = TO_OLD) -> int:
        """End the transaction; returns the code."""
        request = EndTxnRequest(
            transactional_id="x",
            producer_id=had[0],
            producer_epoch=had[1],
            committed=committed,
        )
        return self.raw.ask(self.home, request, version=version).now.error_code
