"""The answer to a Produce (KIP-467, 516, 951).

Decides: what each partition is answered.
Never: appends.
"""

from typing import Final

from kgroup.codes import ErrorCode
from kgroup.testing.broker.asked import Asked
from kgroup.testing.broker.cluster.cluster import Cluster
from kgroup.testing.broker.cluster.topics import Partition
from kgroup.testing.broker.logs.log import AppendResult
from kgroup.values import dataclass
from kgroup.wire.messages import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceLeaderIdAndEpoch,
    ProduceNodeEndpoint,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

_LEADER_SINCE: Final = 10


@dataclass(slots=True)
class Outcome:
    """What became of the batch for one partition.

    Args:
        code: 0 while nothing is wrong.
        partition: None when there is none.
        result: of the log, None when it was not asked.
        log_start: of the log, None when it was not asked.
    """

    code: ErrorCode
    partition: Partition | None = None
    result: AppendResult | None = None
    log_start: int | None = None

    @property
    def is_ahead(self) -> bool:
        """Whether the high watermark has not passed the batch yet."""
        if self.partition is None or self.result is None or self.result.last_offset is None:
            return False
        return self.partition.log.high_watermark <= self.result.last_offset


def respond(
    cluster: Cluster, asked: Asked, request: ProduceRequest, outcomes: list[Outcome]
) -> ProduceResponse:
    """Write the answer.

    Args:
        cluster: names leaders.
        asked: where the request came from.
        request: the message.
        outcomes: one per partition of the request, in its order.
    """
    left = iter(outcomes)
    moved: set[int] = set()
    topics = []
    for topic in request.topic_data:
        rows = []
        for data in topic.partition_data:
            outcome = next(left)
            leader = _new_leader(asked, outcome)
            moved.add(leader.leader_id)
            rows.append(_row(data.index, outcome, leader))
        topics.append(
            TopicProduceResponse(
                name=topic.name, topic_id=topic.topic_id, partition_responses=tuple(rows)
            )
        )
    endpoints = tuple(
        ProduceNodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
        for node in cluster.nodes.values()
        if node.node_id in moved and not node.fenced
    )
    return ProduceResponse(responses=tuple(topics), node_endpoints=endpoints)


def _new_leader(asked: Asked, outcome: Outcome) -> ProduceLeaderIdAndEpoch:
    lost = outcome.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    partition = outcome.partition
    if not lost or partition is None or asked.version < _LEADER_SINCE:
        return ProduceLeaderIdAndEpoch()
    leader = -1 if partition.leader is None else partition.leader
    return ProduceLeaderIdAndEpoch(leader_id=leader, leader_epoch=partition.epoch)


def _row(index: int, outcome: Outcome, leader: ProduceLeaderIdAndEpoch) -> PartitionProduceResponse:
    result = outcome.result or AppendResult()
    return PartitionProduceResponse(
        index=index,
        error_code=outcome.code,
        base_offset=_or_absent(result.base_offset),
        log_append_time_ms=_or_absent(result.append_time),
        log_start_offset=_or_absent(outcome.log_start),
        record_errors=tuple(
            BatchIndexAndErrorMessage(batch_index=number, batch_index_error_message=message)
            for number, message in result.record_errors
        ),
        error_message=result.message,
        current_leader=leader,
    )


def _or_absent(figure: int | None) -> int:
    return -1 if figure is None else figure
